/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see calls.h. May touch: the same.
 *
 * Functions that hand memory to the kernel, as tables: each has its parameters and, of those that
 * are addresses, how many bytes there are to be, or that they are names. The kernel answers EFAULT
 * to what it can't access, so they are examined before. All calls are: next to a system call that
 * costs nothing.
 */
#ifndef RUNTIME_GUARD_PARTS_H
#define RUNTIME_GUARD_PARTS_H

#include "runtime/guard/calls/calls.h"
#include "runtime/guard/leaves.h"

enum part_use {
	PART_WHOLE = 0, /* all of it is used */
	PART_MEMBERS =
		1,      /* it is read, but not all of it: bytes that were never written are fine */
	PART_CODED = 2, /* its size is what the request says, which may be wrong: it is not checked,
			   only looked at for such bytes */
};

/* Memory that a call gives to the kernel. */
struct part {
	const char *text; /* as memcheck has it: its suppressions fit */
	const void *at;   /* NULL: nothing is given */
	uint64_t bytes;   /* PART_NAME: a string with its end */
	bool leaves;      /* it is read, not written */
	enum part_use use;
};
#define PART_NAME UINT64_MAX

#define READS(text, at, bytes)                                                                     \
	(struct part)                                                                              \
	{                                                                                          \
		text, at, bytes, true, PART_WHOLE                                                  \
	}
#define FILLS(text, at, bytes)                                                                     \
	(struct part)                                                                              \
	{                                                                                          \
		text, at, bytes, false, PART_WHOLE                                                 \
	}
/* A structure with padding or members that don't matter. */
#define READS_MEMBERS(text, at, bytes)                                                             \
	(struct part)                                                                              \
	{                                                                                          \
		text, at, bytes, true, PART_MEMBERS                                                \
	}
#define NAMES(text, at) READS(text, at, PART_NAME)

/* Whether all that is given is there. */
bool parts_fit(const struct part *parts, unsigned count);

/* Reports what is not. */
void parts_report(const struct part *parts, unsigned count, struct guard_caller caller);

/* Looks at those that are read as a whole for bytes that were never written. */
void parts_look(const struct part *parts, unsigned count, struct guard_caller caller);

/* The result of a function that this libc lacks. */
long parts_missing(void);

/* The length that is at an address which may not be readable; 0: it isn't, or it is negative,
 * which the kernel refuses. */
uint32_t parts_length(const void *at);

/* Defines such a function: all parameters, as they are declared and as they are passed on, and the
 * parts. By another name, as libc's headers may declare it with other types. */
#define PARTS(type, name, params, args, ...)                                                       \
	REAL(type, name, params)                                                                   \
	type own_##name params __asm__(#name);                                                     \
	GUARD_API type own_##name params                                                           \
	{                                                                                          \
		const struct part parts[] = {__VA_ARGS__};                                         \
		const unsigned count = sizeof(parts) / sizeof(*parts);                             \
		if (rt_unlikely(!real_##name)) {                                                   \
			calls_resolve();                                                           \
			if (!real_##name)                                                          \
				return (type)parts_missing();                                      \
		}                                                                                  \
		if (rt_unlikely(!parts_fit(parts, count)))                                         \
			parts_report(parts, count, GUARD_CALLER());                                \
		if (leaves_are_wanted())                                                           \
			parts_look(parts, count, GUARD_CALLER());                                  \
		return real_##name args;                                                           \
	}

#endif
