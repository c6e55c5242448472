/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frees that were wrong: of a block that had been freed already, of an address that is no block, by
 * a function that does not fit the allocating one. Each is kept with what is known of it: the stack
 * of the free (HW_ANNOTATE_FREED_FROM comes right after it, where the target found it worth
 * telling), the site that allocated the block, the thread that had freed it before.
 *
 * Who freed a block before is remembered in one of two ways. With --free-stacks every free comes
 * with its stack, and a map has the last free of each address. Without, a direct-mapped table of
 * FREED_PLACES addresses has the sites of blocks that were freed lately: one store for each free.
 * What another address has pushed out of it counts as "no block", which is as true.
 *
 * Equal ones are one row with a count, until they are written.
 */
#ifndef CAPTURE_BAD_FREES_H
#define CAPTURE_BAD_FREES_H

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/hpw.h"
#include "format/kinds.h"

#include <stdbool.h>
#include <stdint.h>

#define FREED_PLACES 65536u
#define FREED_BY_NONE UINT32_MAX

/* The last free of a block at an address. */
struct freed_place {
	uint64_t address; /* 0: nothing */
	uint32_t site;    /* that had allocated the block */
	uint32_t thread;  /* that freed it */
};

/* As an entry of the map, with --free-stacks. */
struct freed_from {
	uint32_t site, thread, stack;
};

struct bad_free {
	uint64_t stamp;   /* of the first of them */
	uint64_t address; /* likewise */
	uint64_t count;
	enum hpw_bad_free what; /* 0: none */
	enum hw_free_kind kind; /* the function that was called */
	uint32_t thread;
	uint32_t stack;        /* where from; 0: not known */
	uint32_t site;         /* that allocated the block; UINT32_MAX: not known */
	uint32_t first_thread; /* that freed it before; FREED_BY_NONE: not known */
	uint32_t first_stack;  /* where from; 0: not known */
};

/* The last free of a thread, until its stack or another record comes. */
struct open_free {
	struct bad_free row; /* what is 0: the free was right */
	struct freed_place place;
	bool moving; /* it is a realloc: its new block comes next */
	bool waited; /* since before the last bad_frees_settle() */
};

static inline bool bad_frees_equal_key(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_VEC(bad_free_vec, struct bad_free)
DEFINE_VEC(open_free_vec, struct open_free)
DEFINE_MAP(bad_free_rows, uint64_t, uint32_t, hash_u64, bad_frees_equal_key)
DEFINE_MAP(freed_map, uint64_t, struct freed_from, hash_u64, bad_frees_equal_key)

struct bad_frees {
	bool all;                    /* stacks of all frees come (--free-stacks) */
	bool forked;                 /* blocks of the parent process are not known */
	struct bad_free_vec rows;    /* not yet written */
	struct bad_free_rows places; /* of equal rows among them */
	uint64_t written;            /* rows so far, at most HPW_BAD_FREES_MAX */
	struct open_free_vec open;   /* by thread */
	struct freed_place *lately;  /* FREED_PLACES of them; NULL with `all`, or no memory */
	struct freed_map freed;      /* with `all` */
};

/* all: stacks of all frees come; forked: the process began as a copy of another one. */
void bad_frees_init(struct bad_frees *frees, bool all, bool forked);
void bad_frees_deinit(struct bad_frees *frees);

/* Notes that a block of `site` was freed by `thread`. With `all` see bad_frees_note(). */
static inline void bad_frees_pass(
	struct bad_frees *frees, uint64_t address, uint32_t site, uint32_t thread)
{
	if (__builtin_expect(!frees->lately, 0))
		return;
	struct freed_place *place = &frees->lately[(address >> 4) % FREED_PLACES];
	place->address = address;
	place->site = site;
	place->thread = thread;
}

/* Does the same with `all`: until its stack comes. */
void bad_frees_note(struct bad_frees *frees, uint64_t address, uint32_t site, uint32_t thread,
	enum hw_free_kind kind);

/* Adds a free of an address at which no block is live. */
void bad_frees_unknown(struct bad_frees *frees, uint64_t address, uint32_t thread,
	enum hw_free_kind kind, uint64_t stamp);

/* Adds a free of a live block of `site` by a function of another kind. */
void bad_frees_mismatch(struct bad_frees *frees, uint64_t address, uint32_t site, uint32_t thread,
	enum hw_free_kind kind, uint64_t stamp);

/* The thread's last free, of that address, came from `stack`. */
void bad_frees_stack(struct bad_frees *frees, uint64_t address, uint32_t thread, uint32_t stack);

/* The realloc whose old block the thread has just given back came from `stack`. */
void bad_frees_moved(struct bad_frees *frees, uint32_t thread, uint32_t stack);

/* Before rows are written: those whose stack has not come since the last time are complete without
 * it, or (all) all of them are. */
void bad_frees_settle(struct bad_frees *frees, bool all);
/* After the rows were written. */
void bad_frees_clear(struct bad_frees *frees);

#endif
