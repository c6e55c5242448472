/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the reader share: hpw_reader.c opens a recording and goes through its events,
 * hpw_reader_part.c finds out which part of it and which blocks are meant, hpw_reader_put.c fills
 * the model. No other file includes this.
 */
#ifndef SOURCES_HPW_READER_IMPL_H
#define SOURCES_HPW_READER_IMPL_H

#include "sources/errors/hpw_errors.h"
#include "sources/events/hpw_block_filter.h"
#include "sources/events/hpw_journal.h"
#include "sources/events/hpw_moments.h"
#include "sources/events/hpw_range.h"
#include "sources/events/hpw_replay.h"
#include "sources/events/hpw_series.h"
#include "sources/recording/hpw_bad_frees.h"
#include "sources/recording/hpw_file.h"
#include "sources/recording/hpw_footer.h"
#include "sources/recording/hpw_leaks.h"
#include "sources/recording/hpw_marks.h"
#include "sources/recording/hpw_tables.h"
#include "sources/source.h"

struct reader {
	const struct input *input;
	unsigned flags;
	const struct source_query *query; /* NULL: all of it */
	enum source_class class;
	struct hpw_span span;
	struct hpw_ranges parts;
	bool has_parts;
	struct hpw_block_filter choice;            /* wanted NULL: all blocks */
	const struct source_series *wanted_series; /* NULL: none */
	struct hpw_series series;
	struct hpw_marks marks;
	uint64_t *stacks; /* by thread, in bytes; NULL: not known */
	size_t stacks_len;
	struct model *model;
	struct hpw_damage damage;
	struct hpw_file file;
	struct hpw_tables tables;
	struct hpw_footer footer;
	struct hpw_estimates estimates; /* of a sample without events */
	struct hpw_replay replay;
	struct hpw_estimate peak; /* as of struct hpw_moments */
	struct hpw_leaks leaks;
	struct hpw_bad_frees bad_frees;
	struct hpw_errors errors;
	struct hpw_ring ring; /* if it was not closed, or all of it is replayed */
	bool replayed;
	size_t good; /* chunks that could be read */
};

typedef struct error *(*hpw_decode_fn)(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload);

/* Decodes all chunks of some types from a place in the list on, in order; what is damaged is noted.
 */
struct error *hpw_reader_decode_from(
	struct reader *reader, size_t first, bool (*wanted)(uint16_t type), hpw_decode_fn decode);
/* From the first one on. */
struct error *hpw_reader_decode(
	struct reader *reader, bool (*wanted)(uint16_t type), hpw_decode_fn decode);

/* Returns whether the figures can be had from the events at all. */
bool hpw_reader_has_all_events(const struct reader *reader);

/* Makes times of stamps possible, by what has been read so far. */
void hpw_reader_set_clock(struct reader *reader);

/* Which part is meant, and whether its sums are there. */
struct error *hpw_reader_find_span(struct reader *reader);
/* Which blocks are meant. After the part. */
struct error *hpw_reader_choose_blocks(struct reader *reader);
/* The series that was asked for; into the model once that has its sites. */
struct error *hpw_reader_make_series(struct reader *reader);
struct error *hpw_reader_put_series(struct reader *reader);

/* How large the stacks of threads were at the end of the part; after a replay that there may be,
 * before hpw_reader_put(). */
struct error *hpw_reader_measure_stacks(struct reader *reader);

/* As above, for the marks. */
struct error *hpw_reader_find_marks(struct reader *reader);
struct error *hpw_reader_put_marks(struct reader *reader);

/* Finds out whether the footer has the figures of all sites; after tables and footer. */
struct error *hpw_reader_check_sites(struct reader *reader);

/* What only the writer knows, into the model: its end, losses, waits. */
void hpw_reader_put_summary(struct reader *reader);

/* What the program has mapped, in place of its heap: all figures. */
struct error *hpw_reader_put_mappings(struct reader *reader);
/* What of it and of all else was resident. */
struct error *hpw_reader_put_resident(struct reader *reader);
/* And what that comes to, beside the heap, or added to it if that is wanted; after all else. */
struct error *hpw_reader_sum_mappings(struct reader *reader);

/* All else into the model. */
struct error *hpw_reader_put(struct reader *reader);

#endif
