/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds what was never freed: paths from a root to a block, as people read them. The groups of
 * a search that read the same are one path: the blocks of one place that are held by the same
 * variable (stack, register, mapping) along blocks of the same places. A table with a thousand
 * words that hold chains is one path, not a thousand.
 *
 *   global g_cache (cache.c:12) → +0x18 → block of 4096 B allocated at load (app.c:41) → …
 *   └──────── holder ─────────┘  └offset┘ └──────────── path ──────────────────────────┘
 */
#ifndef ANALYSIS_LEAK_PATHS_H
#define ANALYSIS_LEAK_PATHS_H

#include "analysis/resolve.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"

/* What holds the first block of paths. */
struct leak_holder {
	enum leak_place place;
	struct shown_data data;  /* of LEAK_PLACE_DATA; data.offset is that of the first word */
	struct module_id module; /* likewise */
	bool is_placed;          /* leak_holder_find_place() was called */
	const char *name;        /* of LEAK_PLACE_MAPPING; "" */
	uint64_t start;          /* of it in memory, unless of registers */
	uint32_t tid;            /* of stacks and registers */
	const char *thread_name; /* ""; of these two */
	bool is_main;            /* the process's first thread */
	unsigned reg;            /* number of the register */
};

struct leak_path {
	uint32_t parent; /* LEAK_NO_PATH: held by the holder itself */
	uint32_t first;  /* the path's beginning, held by the holder */
	uint32_t depth;  /* blocks on the path, with this one; from 1 */
	uint32_t holder;
	uint32_t stack;        /* of leaks: where the blocks were allocated */
	uint64_t words;        /* groups of the search: different words of the holder, often */
	uint64_t offset, into; /* of one: of the pointer in what holds, and into the block */
	uint64_t blocks, bytes;
	uint64_t size; /* of each block; UINT64_MAX: they differ */
	bool repeats;  /* these blocks hold one another */
	bool together; /* there are more words than that */
};
#define LEAK_NO_PATH UINT32_MAX

DEFINE_VEC(leak_path_vec, struct leak_path)
DEFINE_VEC(leak_holder_vec, struct leak_holder)

struct leak_paths {
	struct leak_path_vec paths; /* parents first */
	struct leak_holder_vec holders;
	uint32_t *of_group; /* path of each group of the model */
};

void leak_paths_init(struct leak_paths *paths);
void leak_paths_deinit(struct leak_paths *paths);

/* Fills empty ones. `stack_of_group` gives the place of each group's blocks. */
struct error *leak_paths_build(const struct model *model, struct resolver *resolver,
	const uint32_t *stack_of_group, struct leak_paths *ret) must_check_;

/* How many blocks of a long path are shown. */
#define LEAK_STEPS_MAX 8u

/*
 * The paths whose blocks are on the path to `path`, from the holder on, with this one at last. Of
 * a long one the first and the last ones; *ret_skipped are left out after the first. Returns their
 * number.
 */
size_t leak_path_steps(const struct leak_paths *paths, uint32_t path, uint32_t ret[LEAK_STEPS_MAX],
	uint32_t *ret_skipped);

/* Finds where a global variable is defined: for holders that are shown (resolver_data_place()). */
struct error *leak_holder_find_place(
	struct resolver *resolver, struct leak_holder *holder) must_check_;
/* Adds "global g_cache (cache.c:12)", "register rbx of thread 4712 (worker)"… */
void leak_holder_describe(struct text *text, const struct leak_holder *holder);
/* Returns the register's name; NULL for other places. */
const char *leak_holder_register(const struct leak_holder *holder);

#endif
