/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks with names: joins a model's stacks with the symbols of its modules, lazily and each
 * frame once, so that a report pays for the frames it shows.
 */
#ifndef ANALYSIS_RESOLVE_H
#define ANALYSIS_RESOLVE_H

#include "analysis/stacks/shown_frame.h"
#include "base/error.h"
#include "base/text.h"
#include "model/model.h"

struct resolver;

/*
 * `model`, and its model_names_from(), must outlive the resolver. all_frames shows allocator frames
 * as well: those of a program's own malloc or operator new, and the called function itself as the
 * innermost frame; and frames of Python's interpreter in stacks with frames of Python.
 */
struct error *resolver_create(const struct model *model, bool all_frames, struct resolver **ret);

/* Creates one that shows all frames. What another one of the same model has read of files, which
 * must outlive it, is not read again; of another model, or NULL, it is as resolver_create(). */
struct error *resolver_create_beside(
	const struct model *model, struct resolver *beside, struct resolver **ret);
void resolver_destroy(struct resolver *resolver);

static inline void resolver_cleanup(struct resolver **resolver)
{
	resolver_destroy(*resolver);
}

/*
 * Makes frames contain all names that symbol tables have for them, which costs reading those
 * tables. Called before the first stack.
 */
void resolver_add_aliases(struct resolver *resolver);

/*
 * Replaces what is in `ret` by the frames of a stack, innermost first, for a block of that kind.
 * Frames belong to the resolver. A module without usable symbols is no error: its frames have no
 * names.
 */
struct error *resolver_stack(struct resolver *resolver, struct stack_id stack, enum alloc_kind kind,
	struct frame_vec *ret);

/* A stack and what is found out about it on the way. */
struct resolved_stack {
	struct frame_vec frames; /* to be initialised, and deinitialised */
	uint64_t hash;           /* of the kind, then of the frames: shown_frame_hash_add() */
	bool unmarked;           /* no frame is a mark */
};

/* As resolver_stack(). */
struct error *resolver_stack_hashed(struct resolver *resolver, struct stack_id stack,
	enum alloc_kind kind, struct resolved_stack *ret) must_check_;

#define RESOLVER_BATCH 64u
/* Brings the nodes of some stacks (at most RESOLVER_BATCH) into the cache, of all at the same
 * time: to be called before resolver_stack() of each where there are many stacks. */
void resolver_fetch(const struct resolver *resolver, const struct stack_id *stacks, size_t count);

/* Returns the name of a frame's function in libc that only debug files give it, found without them
 * (symbols_inner_name()); NULL: unknown. */
const char *resolver_inner_name(struct resolver *resolver, const struct shown_frame *frame);

/* Memory of a module: which variable is there. Strings belong to the resolver. */
struct shown_data {
	const char *name;   /* NULL: unknown; then the offset is the module's */
	const char *file;   /* NULL: unknown, and line 0; only after resolver_data_place() */
	const char *module; /* last part of its path; NULL: unknown */
	uint32_t line;
	uint64_t offset; /* of the address in the variable */
};

struct error *resolver_data(struct resolver *resolver, struct module_id module, uint64_t address,
	struct shown_data *ret) must_check_;

/* Adds where the variable at the address is defined. It reads the module's debug information, which
 * takes a tenth of a second of libc: for what is shown. */
struct error *resolver_data_place(struct resolver *resolver, struct module_id module,
	uint64_t address, struct shown_data *data) must_check_;

/* Where the code of a stack's innermost frame is; *stack becomes the stack of its caller. Of what
 * is no code of a file the module is NO_MODULE. */
struct code_address;
struct error *resolver_code(
	struct resolver *resolver, struct stack_id *stack, struct code_address *ret) must_check_;

/* The symbols that it asks; its own. */
struct symbols;
struct symbols *resolver_symbols(struct resolver *resolver);

/*
 * Adds to `ret` sentences, each with a newline: for each module that was met so far and whose file
 * is gone or has changed since, and where frames of an interpreter were left out.
 */
void resolver_notes(const struct resolver *resolver, struct text *ret);

#endif
