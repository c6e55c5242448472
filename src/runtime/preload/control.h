/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: raw system calls.
 *
 * Changes of the program's own flow of control that an event in progress has to survive.
 */
#ifndef RUNTIME_CONTROL_H
#define RUNTIME_CONTROL_H

#include <stdbool.h>

/* Returns whether the caller runs on an alternate signal stack, or may do so. */
bool rt_on_signal_stack(void);

#endif
