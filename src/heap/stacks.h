/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call stacks of the threads of an address space, with names. */
#ifndef HEAP_STACKS_H
#define HEAP_STACKS_H

#include "heap/made_code.h"
#include "heap/scan/names.h"
#include "symbols/unwind.h"

#define HEAP_STACK_FRAMES 256u

struct heap_stack_frame {
	uint64_t pc;
	const char *function; /* NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;
	bool inlined;                        /* into the one that follows */
	const struct address_module *module; /* NULL: none */
};
DEFINE_VEC(heap_stack_frames, struct heap_stack_frame)

/* Modules' files are those that the space has open, or those at their paths for a process. */
struct error *heap_stacks_open(
	const struct address_space *space, struct unwinder **ret) must_check_;

/* Returns the frames of a thread as they are, innermost first; how many: at most `room`. */
size_t heap_stack_unwind(struct unwinder *unwinder, const struct address_space *space,
	size_t thread, struct unwind_frame *ret, size_t room);

/* Finds the names of code in no module that threads' stacks go through. */
struct error *heap_stacks_made_code(struct unwinder *unwinder, const struct address_space *space,
	struct made_code *ret) must_check_;

/* Finds the stack of a thread, innermost frame first, in place of what `ret` had. `code` is of
 * heap_stacks_made_code(). */
struct error *heap_stack_make(struct unwinder *unwinder, const struct address_space *space,
	struct heap_names *names, const struct made_code *code, size_t thread,
	struct heap_stack_frames *ret) must_check_;

#endif
