/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings made from a table of steps. Slow and simple on purpose: a new peak copies all sites, a
 * block is looked for from the first.
 *
 * A story names its blocks itself (any number below BUILDER_BLOCKS_MAX, each used once). Step i of
 * a story happens at stamp BUILDER_TSC_START + 1 + i × BUILDER_TSC_STEP; one tick is a nanosecond.
 */
#ifndef TESTS_LIB_HPW_STORY_H
#define TESTS_LIB_HPW_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/kinds.h"
#include "lib/hpw_builder.h"

#define BUILDER_BLOCKS_MAX (1u << 14)
#define BUILDER_SITES_MAX 64u
/* Different sizes in one chunk. */
#define BUILDER_SIZES_MAX 4096u

#define BUILDER_TSC_START 1000000ull
#define BUILDER_TSC_STEP 10u

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
	uint64_t address; /* of code: the instruction + 1 */
	uint32_t code;    /* row of CODE; 0: a native frame, or a mark */
};

/* A row of CODE; texts are NULL if they are not known. */
struct story_code {
	enum hpw_frame_kind kind;
	uint32_t first_line;
	const char *texts[HPW_CODE_TEXTS]; /* language, name, outer, signature, file, module */
	const uint32_t (*lines)[2];        /* instruction and line */
	size_t lines_len;
};

struct story_site {
	uint32_t stack;
	enum hw_alloc_kind kind;
};

struct story_thread {
	uint32_t tid;
	const char *name;
};

struct story_code_name {
	uint64_t address;
	const char *name;
};

struct story_unrecorded {
	uint64_t stamp;
	uint32_t pid;
	uint32_t reason; /* enum hw_unrecorded */
	const char *path;
};

/* A process that is but a row. */
struct story_small_row {
	uint32_t pid, ppid;
	const char *const *arguments; /* ends with NULL */
	uint64_t allocations, allocated_bytes;
};

/* A search for leaks, as numbers in the order of FORMAT.md's columns. */
struct story_root {
	uint64_t numbers[5];
	const char *name;
};

struct story_leaks {
	const uint64_t (*search)[2]; /* keys and values */
	size_t search_len;
	const char *problem; /* NULL: none */
	const struct story_root *roots;
	size_t roots_len;
	const uint64_t (*groups)[9];
	size_t groups_len;
	const uint64_t (*records)[11];
	size_t records_len;
};

struct story {
	const char *const *arguments; /* ends with NULL */
	uint64_t forked_at;           /* 0: it was not forked */
	const char *parent_file;
	uint64_t sample_bytes; /* 0: exact */
	const struct story_module *modules;
	size_t modules_len;
	uint32_t first_stack;
	const struct story_stack *stacks;
	size_t stacks_len;
	const struct story_code *code; /* from number 1 on; then the file has HPW_FEATURE_CODE */
	size_t code_len;
	const struct story_site *sites;
	size_t sites_len;
	const struct story_thread *threads;
	size_t threads_len;
	const struct story_code_name *code_names; /* ascending */
	size_t code_names_len;
	const struct story_unrecorded *unrecorded;
	size_t unrecorded_len;
	const struct story_leaks *leaks; /* NULL: nobody searched */
	const struct story_step *steps;
	size_t steps_len;
	uint32_t site_stats_rows; /* SITE_STATS are in chunks of so many; 0: in one */
	const struct story_small_row *small;
	size_t small_len;
	bool with_sums;     /* SUMS and DEATHS stand before each EVENTS */
	bool with_counters; /* sites have the counters that later versions added */
	size_t chunk_steps; /* an EVENTS chunk ends after so many story steps; 0: only one chunk */
	enum hpw_exit_kind exit_kind;
	uint64_t exit_value;
};

struct story_site_truth {
	uint64_t allocations, allocated_bytes, live_blocks, live_bytes, peak_blocks, peak_bytes,
		temporary, same_frame, failed, min_size, max_size, max_failed_size;
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
/* Adds a row to a payload of SMALL. */
void builder_small_row(struct buf *rows, const struct story_small_row *row);
/* LIVE, a part of the footer: what the story leaves. */
void builder_live(struct builder *builder, const struct story *story);
/* The chunks of a search. */
void builder_leaks(struct builder *builder, const struct story_leaks *leaks);
void builder_footer(
	struct builder *builder, const struct story *story, const struct story_truth *truth);

/* Header, tables, events, footer, index, trailer. */
void builder_story(struct builder *builder, const struct story *story, struct story_truth *ret);

#endif
