/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program starts, changes how it handles signals, or has accessed memory that it
 * may not; any thread, any moment. May touch: the handlers of SIGSEGV and SIGBUS.
 *
 * SIGSEGV and SIGBUS (after the first error, SIGTRAP too) are ours while the program takes them for
 * its own: what it sets is kept here, shown to it, and followed for all that is no business of
 * ours.
 */
#ifndef RUNTIME_GUARD_SIGNALS_H
#define RUNTIME_GUARD_SIGNALS_H

#include "runtime/guard/guard.h"

#include <signal.h>

/* Installs the handlers. */
void signals_init(void);

/* Has SIGTRAP of single steps come to fault_handle(), too, from the first call on. Returns whether
 * it does. */
bool signals_await_traps(void);

/* A fault, or a step: returns whether it was one of an inaccessible page of ours, and the program
 * goes on. */
bool fault_handle(int number, siginfo_t *info, void *context);

/* Reports a fault of any other memory, which nothing handles: it ends the program. */
void fault_report_end(const siginfo_t *info, const void *context);

#endif
