/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a recording begins or ends; the program asks the collector for something; a signal
 * comes. May touch: raw system calls, the shared memory.
 *
 * The signal that dumps the process (hw_shm.dump_signal). It gets a handler only if the program has
 * none; the program may set its own at any time, which is then the only one. An exec resets it.
 */
#ifndef RUNTIME_DUMP_SIGNAL_H
#define RUNTIME_DUMP_SIGNAL_H

#include "format/shm.h"

/* Installs the handler that the collector wants, if it wants one. Keeps errno. */
void rt_dump_signal_prepare(struct hw_shm *shm);
/* At the end: notes whether the program has set a handler of its own since. */
void rt_dump_signal_review(struct hw_shm *shm);

#endif
