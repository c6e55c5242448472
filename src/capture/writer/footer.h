/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything in a recording but its events, as chunk payloads: the target, modules, stacks, sites,
 * and the books at the end. Each function appends to *ret and returns false when out of memory.
 * Layouts: format/FORMAT.md.
 */
#ifndef CAPTURE_FOOTER_H
#define CAPTURE_FOOTER_H

#include "base/buf.h"
#include "capture/recorder/recorder.h"
#include "capture/writer/columns.h"

#include <stddef.h>

#define FOOTER_LIVE_ROWS (512u << 10)

struct footer_summary {
	struct recorder_end end;
	/* HPW_SUM_OLDER and the keys after it. */
	struct {
		uint64_t why, blocks, bytes, threads, damaged;
	} older;
	uint64_t events, stacks_full, end_tsc, duration_ns;
	uint64_t longest_wait_ns, wait_ns, waits;
	uint64_t unrecorded; /* programs it started, all of them */
	uint64_t lost[HPW_LOST_REASONS];
	uint64_t marks, instructions;
	uint64_t stops, stopped_ns, stopped_frees; /* as in struct recorder */
	uint64_t change_missed;                    /* events that neither recording has */
	uint64_t attached_later, attached_kept;    /* struct hw_shm */
	bool stopped;
	uint64_t resident_bytes;
	uint32_t notes;         /* enum hpw_note */
	struct keep_span kept;  /* of the events */
	uint64_t mappings_lost; /* changes of mappings without a row */
};

bool footer_target(struct buf *ret, const struct recorder_start *start);

/* Finds what is known after the start; goes after that. */
bool footer_target_instructions(struct buf *ret, const char *counted_or_why);

/* Modules from *next on; false: there are none, or no memory. Moves *next. */
bool footer_modules(struct buf *ret, struct event_source *source, uint32_t *next);

/*
 * Some of the nodes with these numbers, sorted; *ret_taken says how many. Chunks cover numbers
 * without a gap, the first one from 1 on (a reader believes no jumps): *end is the number after
 * what they cover so far.
 */
void footer_stacks_sort(uint32_t *numbers, size_t count);
bool footer_stacks(struct buf *ret, struct event_source *source, const uint32_t *numbers,
	size_t count, uint32_t *end, size_t *ret_taken);

bool footer_sites(struct buf *ret, const struct tally *tally, uint32_t first);

/* Sizes, ascending, into the columns `first` and the next one. */
bool footer_sizes(struct columns *c, unsigned first, const struct tally_sizes *from);

/* HPW_THREADS, HPW_SIZES or HPW_SUMMARY. */
bool footer_table(struct buf *ret, enum hpw_chunk_type type, const struct tally *tally,
	const struct footer_summary *summary);

bool footer_live(struct buf *ret, const struct live_entry *blocks, size_t count);

bool footer_code_names(struct buf *ret, const struct code_names *names);

/* Appends the rows of the list up to `end` that were not written yet. */
bool footer_unrecorded(struct buf *ret, struct unrecorded_list *list, size_t end);

/* Appends all rows. */
bool footer_bad_frees(struct buf *ret, const struct bad_free_vec *rows);

/* Appends all rows. */
bool footer_mappings(struct buf *ret, const struct mapping_row_vec *rows);

/* Returns the total of all losses. */
uint64_t footer_lost(const struct footer_summary *summary);

/* Adds the waits and losses that the source reports, and the notices of children that were lost, as
 * far as it can be believed: goes after the duration. */
void footer_report(const struct event_report *report, struct footer_summary *summary);

#endif
