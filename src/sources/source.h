/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Anything a heap can be read from → model. What a file is, its content says, never its name.
 */
#ifndef SOURCES_SOURCE_H
#define SOURCES_SOURCE_H

#include <stddef.h>

#include "base/error.h"
#include "model/events.h"
#include "model/model.h"

enum source_flag {
	/* Fills model_live() too, 32 bytes a block; a report does not need it. */
	SOURCE_WITH_LIVE = 1,
	/* Computes everything from the events, even if the totals are stored in the file as well.
	 */
	SOURCE_REPLAY = 2,
	/* Fills model_inherited() of a forked process from its parents' recordings, if these are
	 * in the same folder. Goes through their events; only for files. */
	SOURCE_WITH_INHERITED = 4,
	/* Fills example_ns of leak records, from the events. */
	SOURCE_WITH_LEAK_TIMES = 8,
	/* The process is being recorded: that the end is missing is no damage. */
	SOURCE_OF_RUNNING = 16,
	/* Fills model_marks(); goes through the events where their sums don't say it. */
	SOURCE_WITH_MARKS = 32,
	/* Fills model_lifetimes() and model_reallocs(), from the events; of a part those of the
	 * blocks that are allocated in it. */
	SOURCE_WITH_LIVES = 64,
	/* Fills stack_bytes of recording and threads; reads the sums of all chunks. */
	SOURCE_WITH_STACKS = 128,
	/* Sites, their stacks, modules and threads are what is wanted: figures that only events
	 * tell are left out. */
	SOURCE_TABLES = 256,
	/* The series and lives only of recordings with at most LIVES_FEW_EVENTS events: they take
	 * going through all of these. Of others they are not there, and the series not of more than
	 * LIVES_FEW_SITES sites. */
	SOURCE_IF_FEW = 512,
};

enum source_moment_kind {
	SOURCE_START, /* before the first event */
	SOURCE_END,   /* after the last one */
	SOURCE_PEAK,  /* the first moment of the highest sum of live bytes */
	SOURCE_TIME,
	SOURCE_MARK, /* a mark that the program, or another process, has set */
	SOURCE_STEP, /* after this many steps: see struct series_row */
};

/* A moment: all that happened up to it, itself included, and nothing later. */
struct source_moment {
	enum source_moment_kind kind;
	uint64_t time_ns; /* SOURCE_TIME: since the recording began */
	const char *mark; /* SOURCE_MARK: its name */
	uint64_t nth;     /* of the marks of that name, from 1; 0: the first */
	uint64_t step;    /* SOURCE_STEP */
};

enum source_axis { SOURCE_BY_TIME, SOURCE_BY_BYTES, SOURCE_BY_STEPS };

/* Moments all along the recording: model_series(). */
struct source_series {
	size_t rows;           /* at most, and the end and the peak */
	enum source_axis axis; /* along which they are about as far from each other; bytes:
				  allocated and freed */
	bool with_sites;
	/* Not 0: with sites are the n-th row, the 2n-th and so on, and the peak; where none is, the
	 * first of the highest rows. Sources may add those of others. */
	size_t sites_every;
};

/* Which blocks count. All 0: all do. */
struct source_blocks {
	uint64_t min_size, max_size; /* requested bytes; max 0: no limit */
	const char *thread;          /* that allocates: its number, or its name; NULL: any */
	bool by_life;                /* the next three count */
	/* How long a block lives; if it is live at the end, so far. max 0: no limit. */
	uint64_t min_life_ns, max_life_ns;
	bool live_only;            /* only blocks that are live at the end */
	const bool *hidden_frames; /* by site id: blocks from there don't count; NULL: they do */
	size_t hidden_frames_len;
	/* Leaves none out: an allocation is temporary if its thread freed it within this many
	 * allocations, itself included. 0: 1, before the next one. */
	uint64_t temporary_within;
};

/* Returns whether all blocks count. */
static inline bool source_blocks_are_all(const struct source_blocks *blocks)
{
	return !blocks || !(blocks->min_size || blocks->max_size || blocks->thread ||
				  blocks->by_life || blocks->hidden_frames);
}

/* What figures are to be of. */
enum source_class {
	SOURCE_CLASS_ANY, /* the heap; of a recording without one what the program maps */
	SOURCE_HEAP,
	SOURCE_MAPPINGS, /* what the program maps: recordings with `run --mmap` */
	/* Both, as one: without mappings in which blocks lie. There is no peak of both, and no
	 * series. */
	SOURCE_HEAP_AND_MAPPINGS,
};

/* What a model is to be about: see struct range. */
struct source_query {
	enum source_class class;
	struct source_moment from, to;
	const char *from_text, *to_text;    /* as the user says them */
	const struct source_blocks *blocks; /* NULL: all */
	const struct source_series *series; /* NULL: none; of a part those that are in it */
};

/*
 * Opens what is at path; the caller destroys the model. What can be read of a damaged recording
 * is read, and model_damage() says what is missing. ERROR_INPUT if nothing can.
 */
struct error *source_open(const char *path, struct model **ret);
/* As source_open(); flags: enum source_flag. */
struct error *source_open_with(const char *path, unsigned flags, struct model **ret);
/*
 * As source_open(), for a part of it; query NULL: of all. ERROR_INPUT if there is no such moment in
 * it, or if it does not say what happened when.
 */
struct error *source_open_query(
	const char *path, unsigned flags, const struct source_query *query, struct model **ret);

/* A file that is not where, and how, the user knows it. */
struct source_place {
	const char *path;
	const char *name;    /* is in messages and for the path of the recording */
	const char *root;    /* as of struct input; NULL: files that it names are where it says */
	const char *program; /* as of struct input; NULL: it is where the file says */
};

/* As above, for such a file. */
struct error *source_open_place(const struct source_place *place, unsigned flags,
	const struct source_query *query, struct model **ret);
/* As above, from memory; `name` is used in messages and for the path. */
struct error *source_open_bytes(
	const char *name, const void *data, size_t len, unsigned flags, struct model **ret);
struct error *source_open_bytes_query(const char *name, const void *data, size_t len,
	unsigned flags, const struct source_query *query, struct model **ret);

/*
 * Tells the events of the range that the query has (NULL: all); its blocks are not looked at. Frees
 * of blocks that were allocated before the range are among them. Sites are those of the model that
 * is opened of the same file. ERROR_INPUT: it has sums, or a sample, and no events.
 */
struct error *source_events(const struct source_place *place, const struct source_query *query,
	const struct event_sink *sink) must_check_;

#endif
