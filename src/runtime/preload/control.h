/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: raw system calls.
 *
 * What a program does to its own flow of control that an event in progress must not stumble over.
 */
#ifndef RUNTIME_CONTROL_H
#define RUNTIME_CONTROL_H

#include <stdbool.h>

/* Whether the caller runs on an alternate signal stack, or might. */
bool rt_on_signal_stack(void);

#endif
