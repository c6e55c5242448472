/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory of a held process is searched for pointers to its blocks: what src/roots finds, and
 * what the program has said itself; and which is not, because it is an allocator's (free blocks,
 * lists of them, its own books) or ours.
 *
 * An allocator's memory is told by evidence, never by version. glibc's: the heap of the program
 * break, arenas of 64 MiB (malloc/arena.c: heap_info names its arena), mappings of single blocks
 * (malloc/malloc.c: IS_MMAPPED), main_arena in libc's data, by its rings of bins. Another
 * allocator's: each private mapping without a file that a block lies in and that is not joined with
 * others, and the data of its module.
 */
#ifndef CAPTURE_LEAK_ROOTS_H
#define CAPTURE_LEAK_ROOTS_H

#include "base/error.h"
#include "base/vec.h"
#include "capture/leaks/hold.h"
#include "capture/leaks/spared.h"
#include "capture/recorder/live.h"
#include "capture/recorder/tally.h"
#include "format/hpw.h"
#include "process/memory.h"
#include "search/search.h"

#define LEAK_ROOT_REGISTERS 16u

struct leak_root {
	enum hpw_leak_root place;
	uint64_t start, end;
	pid_t tid;        /* as the process sees it; of stacks and registers */
	uint32_t module;  /* of data; 0: unknown */
	const char *name; /* of the mapping; belongs to the hold */
	/* Words that stand for what is at `start`; of registers, in the order of FORMAT.md. */
	size_t value_count;
	uint64_t values[LEAK_ROOT_REGISTERS];
	const struct spared_addresses *many; /* NULL: those are all; else these */
};

DEFINE_VEC(leak_root_vec, struct leak_root)
DEFINE_VEC(leak_map_vec, struct search_map)

struct leak_roots {
	struct leak_root_vec roots;
	struct leak_map_vec maps;
	struct spared_addresses ignored; /* what HPW_LEAK_ROOT_IGNORED holds */
	struct spared_addresses own;     /* what an allocator's library holds for itself */
};

struct leak_place {
	const struct hold *hold;
	const struct process_memory *memory;
	const struct live *live;
	const struct tally *tally;
	const struct spared *spared;
	const struct hw_shm *shm;
	bool is_leaving; /* a thread waits for us where it ends the process, or wants a search */
	bool is_partial; /* not all blocks are known: the rest of the heap is a root */
	bool is_sampled; /* for that reason */
};

struct error *leak_roots_find(const struct leak_place *place, struct leak_roots *ret) must_check_;
void leak_roots_deinit(struct leak_roots *roots);

#endif
