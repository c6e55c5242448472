/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings made from a table of steps, straight from FORMAT.md and without a line of what
 * heapwise writes or reads them with: a misunderstanding has to happen twice to go unnoticed. Slow
 * and simple on purpose: a new peak copies all sites, a block is looked for from the first.
 *
 * A story names its blocks itself (any number below BUILDER_BLOCKS_MAX, each used once). Step i of
 * a story happens at stamp BUILDER_TSC_START + 1 + i × BUILDER_TSC_STEP; one tick is a nanosecond.
 */
#ifndef TESTS_LIB_HPW_BUILDER_H
#define TESTS_LIB_HPW_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/text.h"
#include "format/hpw.h"
#include "format/kinds.h"

#define BUILDER_BLOCKS_MAX (1u << 14)
#define BUILDER_SITES_MAX 64u
#define BUILDER_THREADS_MAX 16u
#define BUILDER_CHUNKS_MAX 4096u
#define BUILDER_COLUMNS_MAX (HPW_EV_FIRST_SLOT + HPW_SLOT_COLUMNS * BUILDER_THREADS_MAX)

#define BUILDER_TSC_START 1000000ull
#define BUILDER_TSC_STEP 10u

/* A file in the making. */
struct builder {
	struct buf file;
	bool packed; /* payloads as zstd frames */
	uint64_t offsets[BUILDER_CHUNKS_MAX];
	uint16_t types[BUILDER_CHUNKS_MAX];
	size_t chunks;
};

void builder_init(struct builder *builder);
void builder_deinit(struct builder *builder);

void builder_header(struct builder *builder);
/* Adds a chunk and remembers it for the index. */
void builder_chunk(struct builder *builder, enum hpw_chunk_type type, const struct buf *payload);
/* As builder_chunk, with headers that may lie. */
void builder_chunk_raw(struct builder *builder, uint16_t type, uint16_t flags,
	uint32_t stored_bytes, uint32_t raw_bytes, const void *payload, size_t len);
void builder_index(struct builder *builder);
/* The index chunk with a payload of one's own, and the trailer. */
void builder_index_raw(struct builder *builder, const struct buf *payload);
void builder_trailer(struct builder *builder, uint64_t index_offset);

/* Columns being filled; numbered by place. */
struct columns {
	struct buf column[BUILDER_COLUMNS_MAX];
	size_t count;
};

void columns_init(struct columns *columns, size_t count);
/* The column set into *ret; empties the columns. */
void columns_finish(struct columns *columns, struct buf *ret);

enum story_op {
	STORY_ALLOC, /* thread, block, site, size */
	STORY_FREE,  /* thread, block, same_frame, free_kind: enum hw_free_kind, or -1 for matching
		      */
	STORY_UNKNOWN, /* thread, free_kind: free of a block that was never recorded */
	STORY_REALLOC, /* thread, old → block, site, size */
	STORY_FAILED,  /* thread, site, size */
	STORY_START,   /* thread */
	STORY_END,     /* thread */
	STORY_MARK,    /* thread, name */
	STORY_LOST,    /* thread, size: events */
};

struct story_step {
	enum story_op op;
	uint32_t thread, block, site;
	uint64_t size;
	uint32_t old;
	int free_kind;
	bool same_frame;
	const char *name;
};

struct story_module {
	uint16_t id;
	uint64_t start, end, bias;
	const char *build_id; /* bytes, as a string */
	const char *path;
};

struct story_stack {
	uint32_t up; /* id - parent; 0: unused */
	uint16_t module;
	uint64_t address;
};

struct story_site {
	uint32_t stack;
	enum hw_alloc_kind kind;
};

struct story_thread {
	uint32_t tid;
	const char *name;
};

struct story {
	const char *const *arguments; /* ends with NULL */
	const struct story_module *modules;
	size_t modules_len;
	uint32_t first_stack;
	const struct story_stack *stacks;
	size_t stacks_len;
	const struct story_site *sites;
	size_t sites_len;
	const struct story_thread *threads;
	size_t threads_len;
	const struct story_step *steps;
	size_t steps_len;
	size_t chunk_steps; /* an EVENTS chunk ends after so many story steps; 0: only one chunk */
	enum hpw_exit_kind exit_kind;
	uint64_t exit_value;
};

struct story_site_truth {
	uint64_t allocations, allocated_bytes, live_blocks, live_bytes, peak_blocks, peak_bytes,
		temporary, same_frame, failed, min_size, max_size;
};

struct story_thread_truth {
	uint64_t allocations, allocated_bytes, frees, temporary, first_stamp, last_stamp;
	bool seen, ended;
};

/* The figures of a story. Stamps are those a reader can know: of the last entry of TIME. */
struct story_truth {
	uint64_t events, steps, lost, unknown_frees, mismatched, allocations, allocated_bytes,
		frees, failed, live_blocks, live_bytes, temporary, peak_blocks, peak_bytes,
		peak_stamp;
	struct story_site_truth sites[BUILDER_SITES_MAX];
	struct story_thread_truth threads[BUILDER_THREADS_MAX];
};

/* Parts of a story's file; the whole is all of them in this order. */
void builder_tables(struct builder *builder, const struct story *story);
void builder_events(struct builder *builder, const struct story *story, struct story_truth *ret);
void builder_footer(
	struct builder *builder, const struct story *story, const struct story_truth *truth);

/* Header, tables, events, footer, index, trailer. */
void builder_story(struct builder *builder, const struct story *story, struct story_truth *ret);

/* An unpacked file in hex, each part on a line of its own with its meaning. */
void builder_listing(const struct buf *file, struct text *ret);

#endif
