/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a JFR file that are about memory, chunk by chunk: those of the JDK and those of
 * async-profiler. A chunk is complete in itself: it has its own types, constants and keys. What
 * its events come to is summed up by stack and class as they are read, so that memory follows the
 * number of different stacks.
 */
#ifndef SOURCES_JFR_EVENTS_H
#define SOURCES_JFR_EVENTS_H

#include "sources/java/jfr_constants.h"
#include "sources/recording/input.h"

/* What rows are of. */
enum jfr_kind {
	JFR_SAMPLED,  /* jdk.ObjectAllocationSample: a weight in bytes, without an object's size */
	JFR_IN_TLAB,  /* jdk.ObjectAllocationInNewTLAB: the buffer that a thread took */
	JFR_OUTSIDE,  /* jdk.ObjectAllocationOutsideTLAB: each such object */
	JFR_INTERVAL, /* async-profiler's samples, one in so many bytes */
	JFR_LIVE,     /* profiler.LiveObject */
	JFR_OLD,      /* jdk.OldObjectSample */
	JFR_MALLOC,   /* profiler.Malloc */
	JFR_KINDS,
};

struct jfr_row_key {
	uint64_t stack, class; /* keys of constants; 0: none */
	enum jfr_kind kind;
};

static inline uint64_t jfr_row_hash(struct jfr_row_key key)
{
	return hash_u64(key.stack ^ hash_u64(key.class ^ hash_u64(key.kind)));
}

static inline bool jfr_row_equal(struct jfr_row_key a, struct jfr_row_key b)
{
	return a.stack == b.stack && a.class == b.class && a.kind == b.kind;
}

struct jfr_sums {
	uint64_t events;
	double objects, bytes;               /* that they stand for */
	double objects_spread, bytes_spread; /* variances */
};

/* What a block of malloc stands for, of which async-profiler takes one whenever `interval` bytes
 * were allocated. */
struct jfr_sums jfr_block_of(uint64_t bytes, uint64_t interval);

DEFINE_MAP(jfr_rows, struct jfr_row_key, struct jfr_sums, jfr_row_hash, jfr_row_equal)

/* profiler.Malloc, or (size 0) profiler.Free. */
struct jfr_call {
	uint64_t time, address, size, stack;
};
DEFINE_VEC(jfr_calls, struct jfr_call)

struct jfr_chunk {
	uint64_t offset, bytes;
	uint64_t start_ns, duration_ns; /* since 1970 */
	bool open;                      /* it was being written: it ends with what was flushed */
	struct jfr_types types;
	struct jfr_constants constants;
	struct jfr_rows rows;
	struct jfr_calls calls; /* not in the order of time */
	uint64_t events;        /* of all types */
	struct jfr_sums sums[JFR_KINDS];
	/* async-profiler's: mean bytes between samples of objects, and of malloc; 0: not said. */
	uint64_t interval, malloc_interval;
	bool sizeless;    /* an old object has no size */
	bool no_frees;    /* frees were not recorded, or there are none */
	uint32_t pid;     /* of the JVM; 0: not said */
	struct text main; /* the Java program with its arguments */
};

/* A part of the file in memory. */
struct jfr_window {
	const struct input *input;
	uint8_t *data;
	size_t len, room;
	uint64_t start;
};

void jfr_window_init(struct jfr_window *window, const struct input *input);
void jfr_window_deinit(struct jfr_window *window);

#define JFR_HEADER_BYTES 68u

void jfr_chunk_deinit(struct jfr_chunk *chunk);
/*
 * Reads the header of the chunk at an offset of the file, and whether it is all there: *ret_whole.
 * The caller reads its events (jfr_chunk_read()), or only frees it.
 */
struct error *jfr_chunk_open(struct jfr_chunk *chunk, struct jfr_window *window, uint64_t offset,
	bool *ret_whole) must_check_;
/* ERROR_INPUT: a sentence without the file's name. */
struct error *jfr_chunk_read(struct jfr_chunk *chunk, struct jfr_window *window) must_check_;

#endif
