/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals that end a command while a process has a copy that it was made to make: the copy is to be
 * given back first, or the process would keep a dead child.
 */
#ifndef CLI_HEAP_INTERRUPT_H
#define CLI_HEAP_INTERRUPT_H

#include <signal.h>

/* Not 0: one of them came; its number. */
extern volatile sig_atomic_t heap_interrupted;

/* From now on SIGINT, SIGTERM and SIGHUP only have all reading and writing come to its end. */
void heap_interrupt_begin(void);
/* All is given back: signals are as before, and what came ends this process now. */
void heap_interrupt_end(void);

#endif
