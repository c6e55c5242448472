/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the heap grew and shrank, as Valgrind's Massif sees it: snapshots all along a recording, some
 * of them with a tree of who had allocated what was live. Snapshots are the moments of
 * model_series() and exact, trees as well.
 *
 * Useful is what was asked for; extra is what an allocator needs beside that: some bytes of
 * administration for each block, and what blocks are rounded up by. As in Massif that is a model of
 * an allocator, the same for all of them, not what this one really took.
 */
#ifndef ANALYSIS_TIMELINE_H
#define ANALYSIS_TIMELINE_H

#include "analysis/resolve.h"
#include "base/vec.h"

enum timeline_unit {
	TIMELINE_MS,           /* milliseconds since the recording began */
	TIMELINE_BYTES,        /* bytes allocated and freed since then */
	TIMELINE_INSTRUCTIONS, /* executed since then */
};

/* Returns "ms", "B", "i". */
const char *timeline_unit_name(enum timeline_unit unit);

#define TIMELINE_ALIGNMENT 16u
#define TIMELINE_SIDE_LEAST 4u
#define TIMELINE_SIDE_MOST 1000u
/* Of trees, as in Valgrind. */
#define TIMELINE_DEPTH_MOST 200u

struct timeline_options {
	enum timeline_unit unit;
	size_t max_snapshots;         /* at most this many */
	size_t detailed_freq;         /* every this many snapshots one has a tree; from 1 on */
	size_t depth;                 /* frames of a stack in a tree; up to TIMELINE_DEPTH_MOST */
	double threshold;             /* percent of the total: what has less is summed up */
	bool stacks;                  /* sizes of stacks are in the total too */
	uint64_t heap_admin;          /* bytes for each block */
	unsigned alignment;           /* TIMELINE_ALIGNMENT, or 1: blocks are not rounded up */
	unsigned width, height;       /* of the graph, in characters */
	bool chart;                   /* for people at a terminal, not as ms_print has it */
	bool utf8;                    /* … drawn with such characters */
	const char *const *alloc_fns; /* functions that stand for allocation functions */
	size_t alloc_fn_count;
};
#define TIMELINE_DEFAULT                                                                           \
	{                                                                                          \
		.max_snapshots = 100, .detailed_freq = 10, .depth = 30, .threshold = 1,            \
		.heap_admin = 8, .alignment = TIMELINE_ALIGNMENT, .width = 72, .height = 20        \
	}

struct timeline_node {
	const struct shown_frame *frame; /* NULL: the root; below it, no stack, or the rest */
	uint64_t bytes;
	uint32_t depth;    /* of the root 0 */
	uint32_t children; /* that follow, each with its own */
	uint32_t places;   /* not 0: it sums up so many that are below the threshold */
};
/* Each node comes before its children, the heaviest of these first, the sum of the rest last. */
DEFINE_VEC(timeline_nodes, struct timeline_node)

struct timeline_snapshot {
	const struct series_row *row;
	uint64_t time; /* in ns, or bytes */
	uint64_t useful, extra, stacks, total;
	bool peak;
	struct timeline_nodes tree; /* not empty: it is a detailed one */
};
DEFINE_VEC(timeline_snapshots, struct timeline_snapshot)

struct timeline {
	struct timeline_snapshots snapshots;
	uint64_t end_time, highest; /* of all: the last time, the highest total */
	struct series_row known[2]; /* of timeline_build_known() */
	bool peak_is_highest; /* the true peak is no moment of the recording: the highest is meant
			       */
};

/* Returns how many bytes `extra` has for each block: of mappings, which are pages, none. */
uint64_t timeline_admin(const struct timeline_options *options, const struct model *model);
/* Returns what the root of a tree is called in files of Massif: what the figures are of. */
const char *timeline_root_name(const struct model *model);

void timeline_init(struct timeline *timeline);
void timeline_deinit(struct timeline *timeline);

/* Fills an empty one; the model has a series with sites. Model and resolver must outlive it. */
struct error *timeline_build(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline *ret) must_check_;

/* Fills the snapshots, without trees. */
struct error *timeline_build_curve(const struct model *model,
	const struct timeline_options *options, struct timeline *ret) must_check_;

/* Fills the snapshots of a model without a series: at the peak, if that is known, and at the end,
 * each with a tree. The filled one must not move. */
struct error *timeline_build_known(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline *ret) must_check_;

/* Returns the part of the run, from its first to its last snapshot, that had passed at a time: 0
 * to 1. */
double timeline_part(const struct timeline *timeline, uint64_t time);
/* Returns the latest snapshot up to where that part of the run had passed; NULL: there is none at
 * all. */
const struct timeline_snapshot *timeline_at(const struct timeline *timeline, double part);

/*
 * Sets ret[site id] for sites whose innermost function, allocation functions left out, is one of
 * `names`; the caller frees it. *ret_count: how many they are.
 */
struct error *timeline_find_sites(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, const char *const *names, size_t name_count,
	bool **ret, size_t *ret_count) must_check_;

#endif
