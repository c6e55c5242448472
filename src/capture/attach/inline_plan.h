/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of an executable that are changed themselves, since no word leads to them: which these
 * are, by its symbols, and whether each of them can be. Found while the process runs.
 */
#ifndef CAPTURE_INLINE_PLAN_H
#define CAPTURE_INLINE_PLAN_H

#include "base/error.h"
#include "base/vec.h"
#include "capture/attach/inline_patch.h"
#include "process/linked_objects.h"

/* Bytes of a function's beginning that are kept. */
#define INLINE_HEAD_BYTES 64u

struct inline_function {
	unsigned function;               /* enum hw_attach_inline */
	char name[48];                   /* as the symbol has it, cut off */
	uint8_t head[INLINE_HEAD_BYTES]; /* from patch.address on */
	struct inline_patch patch;       /* examined */
};
DEFINE_VEC(inline_function_vec, struct inline_function)

struct inline_plan {
	struct inline_function_vec functions;
	char *program;      /* path of the executable */
	bool has_malloc;    /* it defines malloc itself */
	const char *prefix; /* of another allocator's names; NULL: there is none */
	char *refused;      /* why that one stays as it is, a sentence; NULL: it does not */
	bool plain_kinds;   /* see struct hw_attach */
	bool has_sanitizer; /* its allocator is a sanitizer's */
	bool has_operators; /* operators new and delete are the allocator's */
	uint64_t signal_returns[HW_ATTACH_RETURNS];
	uint64_t code_start, code_end; /* of all functions, the first to the last */
};

/*
 * Examines the executable of a process. An allocator that is malloc must be changeable in full, or
 * it is ERROR_INPUT, with the function and the reason; another one beside it is left out. Without a
 * symbol of an allocator there are no functions, and no error. Call inline_plan_deinit() in any
 * case.
 */
struct error *inline_plan_make(
	const struct linked_objects *objects, struct inline_plan *ret) must_check_;
/* Leaves all functions as they are: `error`, which is taken over, becomes `refused`. */
void inline_plan_give_up(struct inline_plan *plan, struct error *error);
void inline_plan_deinit(struct inline_plan *plan);

#endif
