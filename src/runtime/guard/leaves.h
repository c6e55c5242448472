/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program hands memory to the kernel, any thread, any moment. May touch: that
 * memory, as far as it can be read; the file of the sums.
 *
 * Which of these bytes have the value that new blocks are filled with (format/check_leaves.h), in
 * the process that was started, until it executes another program. In runs that are compared they
 * are noted in the file of the sums. In the last run those that are listed are reported, with
 * stacks.
 */
#ifndef RUNTIME_GUARD_LEAVES_H
#define RUNTIME_GUARD_LEAVES_H

#include "format/check_leaves.h"
#include "runtime/guard/guard.h"

#define LEAVES_LISTED 64u /* ranges in the settings; further ones are left out */

/* What is reported, read once (settings.c). */
struct leaves_plan {
	struct hw_leaving_range reports[LEAVES_LISTED];
	uint32_t report_count;
};
extern struct leaves_plan leaves_plan;

extern bool leaves_wanted; /* set before there is a second thread; no more in forked children */

static inline bool leaves_are_wanted(void)
{
	return rt_unlikely(leaves_wanted);
}

/* Begins. to: where ranges are noted; NULL: nowhere. */
void leaves_init(struct hw_check_leaves *to);

/* Looks at a buffer that a call hands over; `name` as memcheck has it: "write(buf)". Called if
 * leaves_are_wanted(). */
void leaves_look(const char *name, const void *from, uint64_t bytes, struct guard_caller caller);

/* A forked child's calls are not looked at. */
void leaves_fork_child(void);

#endif
