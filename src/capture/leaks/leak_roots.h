/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory of a paused process is searched for pointers to its blocks: the roots that src/roots
 * finds and those that the program has declared. Memory of an allocator (free blocks, their lists,
 * its own data) and of the recorder is not searched.
 *
 * An allocator's memory is found by evidence, never by version. glibc's: the heap at the program
 * break, arenas of 64 MiB (malloc/arena.c: heap_info names its arena), mappings of single blocks
 * (malloc/malloc.c: IS_MMAPPED), and main_arena in libc's data, by its rings of bins. Another
 * allocator's: each private mapping without a file that contains a block and is not joined with
 * others, and the data of its module.
 */
#ifndef CAPTURE_LEAK_ROOTS_H
#define CAPTURE_LEAK_ROOTS_H

#include "base/error.h"
#include "base/vec.h"
#include "capture/leaks/lsan_annotations.h"
#include "capture/leaks/paused_target.h"
#include "capture/recorder/live_table.h"
#include "capture/recorder/tally.h"
#include "format/hpw.h"
#include "process/memory.h"
#include "search/search.h"

#define LEAK_ROOT_REGISTERS 16u

struct searched_root {
	enum hpw_leak_root place;
	uint64_t start, end;
	pid_t tid;        /* in the PID namespace of the process; of stacks and registers */
	uint32_t module;  /* of data; 0: unknown */
	const char *name; /* of the mapping; belongs to the paused target */
	/* Words that replace the memory at `start`; of registers, in the order of FORMAT.md. */
	size_t value_count;
	uint64_t values[LEAK_ROOT_REGISTERS];
	const struct kept_addresses *many; /* NULL: those are all; else these */
};

DEFINE_VEC(searched_root_vec, struct searched_root)
DEFINE_VEC(leak_map_vec, struct search_map)

struct leak_roots {
	struct searched_root_vec roots;
	struct leak_map_vec maps;
	struct kept_addresses ignored; /* what HPW_LEAK_ROOT_IGNORED holds */
	struct kept_addresses own;     /* what an allocator's library holds for itself */
};

struct leak_target {
	const struct paused_target *target;
	const struct process_memory *memory;
	const struct live_table *live;
	const struct tally *tally;
	const struct lsan_annotations *annotations;
	const struct hw_shm *shm;
	bool is_leaving; /* a thread waits for the collector to end the process, or for a search */
	bool is_partial; /* not all blocks are known: the rest of the heap is a root */
	bool is_sampled; /* not all blocks are known since they are sampled */
	bool no_globals; /* as in struct leak_rules */
	bool no_threads;
};

/* Finds what is searched. Free the result by leak_roots_deinit(). */
struct error *leak_roots_find(const struct leak_target *place, struct leak_roots *ret) must_check_;
void leak_roots_deinit(struct leak_roots *roots);

#endif
