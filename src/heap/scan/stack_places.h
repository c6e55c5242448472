/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What addresses of threads' stacks belong to: the frame of a function, one of its variables. */
#ifndef HEAP_STACK_PLACES_H
#define HEAP_STACK_PLACES_H

#include "heap/scan/names.h"
#include "symbols/unwind.h"

struct heap_stack_place {
	const char *function; /* NULL: unknown */
	const char *variable; /* NULL: none that is known */
	uint64_t offset;      /* in the variable */
};

/* Each thread's stack is unwound once, when it is first asked for. */
struct stack_places;

struct error *stack_places_create(const struct address_space *space, struct heap_names *names,
	struct stack_places **ret) must_check_;
void stack_places_destroy(struct stack_places *places);

/* `thread`: its number in the space. The only errors are of memory. */
struct error *stack_places_find(struct stack_places *places, size_t thread, uint64_t address,
	struct heap_stack_place *ret) must_check_;

/* A frame of a thread, the innermost is 0; *ret_module is its function's, NULL: not known, and then
 * nor is the frame. False in *ret_any: there are not this many. The only errors are of memory. */
struct error *stack_places_frame(struct stack_places *places, size_t thread, size_t number,
	struct local_frame *ret, const struct address_module **ret_module,
	bool *ret_any) must_check_;
/* Returns whether a thread that was asked for has more frames than are unwound
 * (LIMIT_STACK_FRAMES). */
bool stack_places_is_cut(const struct stack_places *places, size_t thread);

#endif
