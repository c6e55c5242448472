/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a checker found besides leaks: reads of freed memory, uninitialised values, races… */
#ifndef MODEL_ERRORS_H
#define MODEL_ERRORS_H

#include <stddef.h>
#include <stdint.h>

struct model;

struct program_error {
	const char *kind;                /* in the checker's words: "InvalidRead"; "" if unknown */
	const char *what;                /* a sentence; "" if there is none */
	const char *thread;              /* name; "" if unknown */
	uint32_t tid;                    /* the checker's own number; 0: unknown */
	uint64_t count;                  /* how often; 1 at least */
	size_t first_stack, stack_count; /* of model_error_stacks() */
};

/* A stack of an error: first where it happened, then related ones, such as where the block was
 * freed. */
struct error_stack {
	const char *what; /* a sentence on it; "" if there is none, as of the first one */
	uint32_t stack;   /* struct stack_id; 0: none, only the sentence */
};

/* A suppression that was used. */
struct error_suppression {
	const char *name;
	uint64_t count;
};

/* Returns the errors; NULL if the source does not report errors. If it is not NULL and *ret_count
 * is 0, there were none. */
const struct program_error *model_errors(const struct model *model, size_t *ret_count);
const struct error_stack *model_error_stacks(const struct model *model, size_t *ret_count);
const struct error_suppression *model_error_suppressions(
	const struct model *model, size_t *ret_count);

#endif
