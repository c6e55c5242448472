/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cores, and processes that run, where commands take recordings. */
#ifndef QUERY_HEAP_OPERAND_H
#define QUERY_HEAP_OPERAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "model/model.h"
#include "query/context.h"

/* What stands in the place of call stacks. */
enum heap_by {
	HEAP_BY_TYPE,
	HEAP_BY_OWNER, /* what holds it: a global, a stack */
	HEAP_BY_STACK, /* where it was allocated, by the recording of the process */
	HEAP_BY_BEST,  /* that, where a recording is found; else by type */
};

/* False: there is none of that name. */
bool heap_by_parse(const char *text, enum heap_by *ret);

/* Whether an operand is one: "PID" (unless a file is called so), "process:PID", or a core. */
bool heap_operand_is(struct query_context *context, const char *text);

/* The process that an operand names; 0: it names none. */
pid_t heap_operand_process(const char *text);

/* Its model, which the caller destroys. */
struct error *heap_operand_open(struct query_context *context, const char *text, enum heap_by by,
	struct model **ret) must_check_;

#endif
