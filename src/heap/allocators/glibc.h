/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of glibc's malloc (malloc/malloc.c, malloc/arena.c), 2.17 to 2.42, without symbols: all
 * layouts are recognised by evidence, never by version.
 *
 * Memory is cut into chunks that follow each other: a word that belongs to the chunk before, a word
 * with the chunk's size and three flags, what the program may use. A chunk is free if the next one
 * says so (PREV_INUSE), or if it is in a list of those that are cached: fast bins, and each
 * thread's tcache.
 */
#ifndef HEAP_GLIBC_H
#define HEAP_GLIBC_H

#include "heap/blocks/areas.h"
#include "process/address_space.h"

/* malloc_chunk, 64-bit. */
#define CHUNK_HEADER 16u
#define CHUNK_MIN 32u
#define CHUNK_ALIGN 16u
#define CHUNK_PREV_INUSE 1ull
#define CHUNK_MMAPPED 2ull
#define CHUNK_NOT_MAIN 4ull
#define CHUNK_FLAGS 7ull
/* This many chunks in a row, or this many that lead to one address, are taken for real ones. */
#define GLIBC_CHAIN 24u

/* heap_area.kind */
enum glibc_area {
	GLIBC_RUN,   /* chunks that follow each other; data: its top chunk, 0: none */
	GLIBC_MAPPED /* one block of its own; data: its chunk */
};

struct glibc_arena {
	uint64_t address; /* of struct malloc_state */
	uint64_t bins;    /* of its first bin */
	uint64_t top, top_size;
	uint64_t system_bytes; /* that it has got from the system (system_mem) */
	uint64_t heaps_bytes; /* of its heaps that were found; of the main one, which has none, 0 */
	uint32_t libc;        /* whose it is: 0 is that of the program's own libc */
	bool is_main;
	bool is_locked;    /* a thread was inside: lists may be half changed */
	bool apart;        /* its memory need not be in one piece (NONCONTIGUOUS_BIT) */
	bool has_fastbins; /* from 2.43 on there are none */
};
DEFINE_VEC(glibc_arenas, struct glibc_arena)
DEFINE_VEC(glibc_addresses, uint64_t)

/* A thread's cache of free blocks. */
struct glibc_cache {
	uint64_t address; /* of tcache_perthread_struct: a block */
	pid_t tid;
};
DEFINE_VEC(glibc_caches, struct glibc_cache)

enum glibc_links {
	GLIBC_LINKS_PLAIN,
	GLIBC_LINKS_SAFE, /* "safe-linking", from 2.32 on: stored = (place >> 12) ^ address */
};

struct glibc {
	const struct address_space *space;
	/* The main one first; none: this is no glibc's heap. Those of further libcs in the process
	 * (dlmopen, audit libraries) follow, the main one of each before its others. */
	struct glibc_arenas arenas;
	uint32_t libcs;
	uint64_t heap_bytes; /* to which heaps of other arenas are aligned: 64 MiB */
	struct glibc_caches caches;
	size_t caches_sorted; /* this many, the first ones, ascend: all once they are found */
	/* User addresses of free blocks that chunks do not tell: ascending once found. */
	struct glibc_addresses cached;
	uint64_t cached_most; /* this many there is room for */
	enum glibc_links links;
	bool has_gaps;            /* others have memory amid a run: known once blocks were walked */
	struct page_cache *pages; /* while lists are followed; else NULL */
	uint64_t list_reads;      /* of memory, for all lists */
	struct heap_damage_vec *damage; /* borrowed: to note it there */
};

/* Adds where its blocks lie. */
struct error *glibc_areas(struct glibc *glibc, struct heap_area_vec *ret) must_check_;

/* Adds the memory outside of areas that is full of pointers to free chunks: main_arena. */
struct error *glibc_metadata(const struct glibc *glibc, struct heap_ranges *ret) must_check_;

/* Tells the blocks of one area, ascending. */
struct window;
struct error *glibc_walk(struct glibc *glibc, const struct heap_area *area, struct window *window,
	const struct heap_sink *sink) must_check_;

/* Returns the first chunk from an address in an area on that others seem to follow; the area's end:
 * there is none near by. */
uint64_t glibc_chunk_from(
	struct glibc *glibc, const struct heap_area *area, uint64_t address, struct window *window);

/* The parts. */

/* Finds main_arena and those that it leads to. */
struct error *glibc_arenas_find(struct glibc *glibc) must_check_;
/* Returns whether main_arena may be in the part of a core that was cut off. */
bool glibc_is_adrift(const struct glibc *glibc);
/* Adds the runs that tell themselves; they are noted as damage. */
struct error *glibc_adrift_find(struct glibc *glibc, struct heap_area_vec *ret) must_check_;
/* Where the rings of bins begin in the writable data of modules; 0 in *ret: nowhere. */
struct error *glibc_bins_find(const struct address_space *space, uint64_t *ret) must_check_;
/* Adds where they begin in the data of each other libc (dlmopen) than the one that is known. */
struct error *glibc_bins_find_others(
	const struct address_space *space, uint64_t known, struct glibc_addresses *ret) must_check_;
/* Where none are: how many of the 127 rings close one after another in the best place, *ret. 0: no
 * two do. The only errors are of memory. */
struct error *glibc_bins_seen(
	const struct address_space *space, unsigned *ret_right, uint64_t *ret) must_check_;
/* This many must. */
#define GLIBC_BINS 127u
#define GLIBC_BINS_RIGHT 120u
/* Fills `cached` and `caches`. All areas are known, and sorted. */
struct error *glibc_cached_find(struct glibc *glibc, const struct heap_area_vec *runs) must_check_;
/* Returns whether a block is a thread's cache. */
bool glibc_is_cache(const struct glibc *glibc, uint64_t address);
/* Adds the blocks that have mappings of their own, and runs of an arena that lies apart. */
struct error *glibc_mapped_find(struct glibc *glibc, struct heap_area_vec *areas) must_check_;
/* Says of runs that were found beside the areas, sorted from now on, whose they are. */
struct error *glibc_owners_find(struct glibc *glibc, const struct heap_area_vec *areas,
	struct heap_area_vec *runs) must_check_;
/* Takes away those of these candidates, ascending, that are no such blocks by what malloc counts.
 * If it has fewer, and nothing says which, that is noted as damage. */
struct error *glibc_mapped_check(struct glibc *glibc, struct heap_area_vec *mapped) must_check_;

/* Where a main arena's chunks began first, in the program break if it is the program's own libc's,
 * by what malloc keeps of it; 0: unknown. */
uint64_t glibc_break_start(const struct glibc *glibc, const struct glibc_arena *arena);

/* Adds the runs of a main arena, by its number, that lead to its top chunk or begin the program
 * break. */
struct error *glibc_main_runs(
	struct glibc *glibc, uint32_t number, struct heap_area_vec *ret) must_check_;
/* Returns whether nothing was allocated in an arena yet: its top is its own first bin. */
bool glibc_arena_is_unused(const struct glibc_arena *arena);
/* Returns whether an address is in a libc whose arenas are reported. */
bool glibc_has_code(const struct glibc *glibc, uint64_t address);
/* Returns whether a thread is in the middle of changing an arena. */
bool glibc_is_mid_update(const struct glibc *glibc, bool *ret_memory);
/* Returns whether an area has chunks of a main arena. */
bool glibc_is_main(const struct glibc *glibc, const struct heap_area *area);

/* Finds what of a main arena's memory is in none of these runs, sorted, so far, at most: 0 if it is
 * in one piece. */
struct error *glibc_sums_missing(struct glibc *glibc, uint32_t number,
	const struct heap_area_vec *runs, uint64_t *ret) must_check_;
/* Compares what was found of all arenas with what malloc has got for them from the system. Where
 * that differs, it is noted as damage. `areas`: all, sorted. */
struct error *glibc_sums_check(struct glibc *glibc, const struct heap_area_vec *areas) must_check_;

/* Returns whether this many chunks follow each other from an address on, or they end at `end`. */
bool glibc_chain_is(
	const struct address_space *space, uint64_t chunk, uint64_t end, unsigned count);

/* Chunks of the main arena that follow each other. */
struct glibc_piece {
	uint64_t end; /* after the last one, or the end mark */
	uint64_t chunks;
	bool closes; /* there is an end mark, or they lead just to where they may go */
};
/* Returns the next place from `from` on, up to `end`, where they may begin; `end`: nowhere. */
uint64_t glibc_piece_from(struct window *window, uint64_t from, uint64_t end);
/* Those from a chunk on, at most up to `end`. */
struct glibc_piece glibc_piece_read(struct window *window, uint64_t chunk, uint64_t end);

/* Adds the parts of a run of the main arena between which somebody else has taken from the program
 * break, such as the other allocators' areas, which are sorted. Where they may begin elsewhere is
 * noted in *damage; NULL: nowhere. */
struct error *glibc_run_split(const struct address_space *space, const struct heap_area *run,
	const struct heap_area_vec *others, struct heap_damage_vec *damage,
	struct heap_area_vec *ret) must_check_;

static inline uint64_t chunk_size(uint64_t head)
{
	return head & ~CHUNK_FLAGS;
}

#endif
