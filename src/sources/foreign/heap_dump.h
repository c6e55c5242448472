/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the heap dumps of jemalloc and gperftools have in common: stacks of return addresses with
 * four figures each, then MAPPED_LIBRARIES. Addresses are kept as numbers until that part tells
 * where they lie.
 */
#ifndef SOURCES_HEAP_DUMP_H
#define SOURCES_HEAP_DUMP_H

#include "sources/foreign/foreign.h"
#include "sources/foreign/foreign_maps.h"
#include "sources/foreign/foreign_scan.h"
#include "sources/heaps/heap_symbols.h"
#include "sources/recording/stream.h"

struct heap_dump_figures {
	uint64_t live_blocks, live_bytes, allocations, allocated_bytes;
};

struct heap_dump_row {
	size_t first, count;             /* of its addresses, innermost first */
	size_t first_named, named_count; /* frames that the dump names; if any, they are all */
	struct heap_dump_figures figures;
};

DEFINE_VEC(heap_dump_rows, struct heap_dump_row)
DEFINE_VEC(heap_dump_addresses, uint64_t)
DEFINE_VEC(heap_dump_frames, struct foreign_frame)

struct heap_dump {
	const struct input *input;
	struct stream stream;
	struct foreign foreign;
	struct foreign_maps maps;
	struct heap_dump_rows rows;
	struct heap_dump_addresses addresses;
	struct heap_dump_frames named;
	struct heap_symbols symbols; /* that precedes it */
	bool no_maps;     /* it was written without mappings: that it has none is no damage */
	bool every_block; /* it says that none was left out */
	uint64_t period;  /* mean distance of samples in bytes; 0: every block counts */
};

struct error *heap_dump_open(
	struct heap_dump *dump, const struct input *input, const char *source) must_check_;
void heap_dump_close(struct heap_dump *dump);

/* Reads the first line after the names at the beginning; *line NULL: there is none. */
struct error *heap_dump_first_line(struct heap_dump *dump, char **line, size_t *len) must_check_;

/* "12: 345 [67: 890]" */
bool heap_dump_scan_figures(struct foreign_scan *scan, struct heap_dump_figures *ret);

/* Adds to a sum; false: it would be more than 2^64. */
bool heap_dump_figures_add(
	struct heap_dump_figures *sum, const struct heap_dump_figures *more) must_check_;

/* Adds a row without figures, of addresses "0x12 0x34" up to the end of the line. */
struct error *heap_dump_scan_row(struct heap_dump *dump, struct foreign_scan *scan) must_check_;

/* Adds the next outer frame of the last row, whose name is in the dump, with the call's address. */
struct error *heap_dump_add_named(
	struct heap_dump *dump, uint64_t address, const struct foreign_line *line) must_check_;

/*
 * Makes estimates of what was sampled: each block of n bytes was taken with the probability
 * 1 - exp(-n / period), as jeprof and pprof count it, from the mean size.
 */
struct error *heap_dump_unsample(
	const struct heap_dump *dump, struct heap_dump_figures *figures) must_check_;

/* Reads a line after the stacks: a mapping, or nothing; the beginning of another dump is an error.
 */
struct error *heap_dump_map_line(struct heap_dump *dump, const char *line, size_t len) must_check_;

/* Returns whether the last line is a part of one: the file was cut off in it. It is passed over;
 * heap_dump_finish() says that the end is missing. */
static inline bool heap_dump_is_cut(const struct heap_dump *dump)
{
	return dump->stream.cut;
}

/* Returns the error for a file that ends before its first line is complete. */
struct error *heap_dump_has_no_head(const struct heap_dump *dump) must_check_;

/* Makes the model of all rows, whose figures are unsampled. */
struct error *heap_dump_finish(struct heap_dump *dump, struct model **ret) must_check_;

#endif
