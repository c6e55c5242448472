/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file, as ms_main.c writes it:
 *
 *	desc: --time-unit=B
 *	cmd: ./app file
 *	time_unit: B
 *	#-----------
 *	snapshot=0
 *	#-----------
 *	time=0
 *	mem_heap_B=0
 *	mem_heap_extra_B=0
 *	mem_stacks_B=0
 *	heap_tree=empty                 or detailed, or peak, and a tree follows
 *
 * Each snapshot is a moment of the series. The largest one is the peak, the last one says what was
 * live; trees say by whom, and where a snapshot has none, or less than it has bytes, the rest is a
 * place of its own that says so.
 */
#include "sources/foreign/massif.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/foreign_scan.h"
#include "sources/foreign/massif_tree.h"
#include "sources/foreign/valgrind_text.h"

#define BEGINNING "desc: "
#define LONGEST_LINE (1u << 16)
#define NS_OF_MS 1000000u

enum member { MEMBER_TIME, MEMBER_HEAP, MEMBER_EXTRA, MEMBER_STACKS, MEMBERS };

static const char *const member_names[MEMBERS] = {
	[MEMBER_TIME] = "time=",
	[MEMBER_HEAP] = "mem_heap_B=",
	[MEMBER_EXTRA] = "mem_heap_extra_B=",
	[MEMBER_STACKS] = "mem_stacks_B=",
};

struct reading {
	struct stream stream;
	struct foreign foreign;
	struct massif_tree tree, last; /* of this snapshot; of the last one that had one */
	uint64_t number, last_number, last_time, snapshots;
	uint64_t end_number, end_live; /* of the last snapshot that is whole */
	uint64_t most, most_ns;        /* of all snapshots, and when */
	uint64_t peak_tree;            /* bytes of the peak's tree */
	uint64_t values[MEMBERS];
	bool pages; /* --pages-as-heap=yes */
	char *line;
	size_t len;
};

static void massif_reading_deinit(struct reading *reading)
{
	stream_close(&reading->stream);
	foreign_deinit(&reading->foreign);
	massif_tree_deinit(&reading->tree);
	massif_tree_deinit(&reading->last);
}

bool massif_recognise(const uint8_t *head, size_t len)
{
	static const char second[] = "\ncmd: ";
	return len >= strlen(BEGINNING) && memcmp(head, BEGINNING, strlen(BEGINNING)) == 0 &&
	       memmem(head, len, second, strlen(second));
}

static struct error *massif_next(struct reading *reading)
{
	return stream_line(&reading->stream, LONGEST_LINE, &reading->line, &reading->len);
}

/* The line that begins so, without that; it is due here. */
static struct error *massif_expect(
	struct reading *reading, const char *name, struct foreign_scan *ret)
{
	struct error *error = massif_next(reading);
	if (error)
		return error;
	if (!reading->line)
		return stream_error(&reading->stream,
			"is the last one: the file is cut off where '%s' is expected", name);
	*ret = foreign_scan_of(reading->line, reading->len);
	return foreign_scan_text(ret, name)
		       ? NULL
		       : stream_error(&reading->stream, "does not begin with '%s'", name);
}

static struct error *read_command(struct reading *reading)
{
	struct foreign_scan scan;
	struct error *error = massif_expect(reading, "cmd: ", &scan);
	return error ? error
		     : valgrind_command(
			       reading->foreign.model, scan.at, (size_t)(scan.end - scan.at));
}

static struct error *massif_read_header(struct reading *reading)
{
	static const char *const units[] = {"ms", "B", "i"};
	struct recording *recording = build_recording(reading->foreign.model);
	struct foreign_scan scan;
	static const char pages[] = "--pages-as-heap=yes";
	struct error *error = massif_expect(reading, BEGINNING, &scan);
	reading->pages =
		!error && memmem(scan.at, (size_t)(scan.end - scan.at), pages, strlen(pages));
	if (!error)
		error = read_command(reading);
	if (!error)
		error = massif_expect(reading, "time_unit: ", &scan);
	if (error)
		return error;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (foreign_scan_text(&scan, units[i]) && foreign_scan_at_end(&scan))
			recording->time_unit = units[i];
	if (!recording->time_unit)
		return stream_error(&reading->stream, "has an unknown unit; expected ms, B or i");
	recording->mode = "exact";
	recording->whole_stacks = recording->snapshot = true;
	return NULL;
}

static struct error *massif_read_number(struct reading *reading, const char *name, uint64_t *ret)
{
	struct foreign_scan scan;
	struct error *error = massif_expect(reading, name, &scan);
	if (!error && (!foreign_scan_u64(&scan, ret) || !foreign_scan_at_end(&scan)))
		return stream_error(&reading->stream, "has no number after '%s'", name);
	return error;
}

static struct error *read_tree(struct reading *reading)
{
	struct error *error = NULL;
	massif_tree_clear(&reading->tree);
	while (!error && !massif_tree_is_whole(&reading->tree)) {
		error = massif_next(reading);
		if (!error && !reading->line)
			return stream_error(&reading->stream,
				"is the last one: the file is cut off inside a tree");
		if (!error)
			error = massif_tree_line(&reading->tree, &reading->foreign,
				&reading->stream, reading->line, reading->len);
	}
	/* The name in it may go on. */
	if (!error && reading->stream.cut)
		error = stream_error(&reading->stream, "may go on");
	massif_tree_end(&reading->tree);
	return error;
}

static void set_peak(struct reading *reading)
{
	struct model *model = reading->foreign.model;
	for (uint32_t i = 0; i < reading->foreign.site_count; i++)
		build_site_at(model, (struct site_id){i})->peak_bytes = 0;
	for (size_t i = 0; i < reading->tree.sites.len; i++) {
		const struct series_site *share = &reading->tree.sites.data[i];
		build_site_at(model, share->site)->peak_bytes = share->live_bytes;
	}
	reading->peak_tree = reading->tree.bytes;
}

static struct error *massif_add_row(struct reading *reading, bool peak)
{
	const uint64_t *values = reading->values;
	const char *unit = build_recording(reading->foreign.model)->time_unit;
	uint64_t sum;
	struct series_row row = {.step = reading->number,
		.live_bytes = values[MEMBER_HEAP],
		.padding = values[MEMBER_EXTRA],
		.stack_bytes = values[MEMBER_STACKS],
		.peak = peak};
	if (__builtin_add_overflow(row.live_bytes, row.padding, &sum) ||
		__builtin_add_overflow(sum, row.stack_bytes, &sum))
		return stream_error(
			&reading->stream, "ends a snapshot whose figures add up to more than 2^64");
	if (strcmp(unit, "i") == 0)
		row.instructions = values[MEMBER_TIME];
	else if (strcmp(unit, "B") == 0)
		row.allocated_bytes = values[MEMBER_TIME];
	else if (__builtin_mul_overflow(values[MEMBER_TIME], NS_OF_MS, &row.time_ns))
		return stream_error(&reading->stream, "ends a snapshot with an invalid time");
	if (peak)
		set_peak(reading);
	if (!reading->snapshots || row.live_bytes > reading->most) {
		reading->most = row.live_bytes;
		reading->most_ns = row.time_ns;
	}
	reading->end_number = reading->number;
	reading->end_live = row.live_bytes;
	build_recording(reading->foreign.model)->duration_ns = row.time_ns;
	return build_series_row(
		reading->foreign.model, &row, reading->tree.sites.data, reading->tree.sites.len);
}

static void keep_tree(struct reading *reading)
{
	struct massif_tree kept = reading->last;
	reading->last = reading->tree;
	reading->tree = kept;
	reading->last_number = reading->number;
}

/* What is after "heap_tree=". */
static struct error *read_kind(struct reading *reading)
{
	struct foreign_scan scan;
	struct error *error = massif_expect(reading, "heap_tree=", &scan);
	if (error)
		return error;
	bool peak = foreign_scan_text(&scan, "peak");
	bool detailed = peak || foreign_scan_text(&scan, "detailed");
	if ((!detailed && !foreign_scan_text(&scan, "empty")) || !foreign_scan_at_end(&scan))
		return stream_error(&reading->stream,
			"expected heap_tree=empty, heap_tree=detailed or heap_tree=peak");
	massif_tree_clear(&reading->tree);
	if (detailed)
		error = read_tree(reading);
	if (!error)
		error = massif_add_row(reading, peak);
	if (!error && detailed)
		keep_tree(reading);
	return error;
}

/* From the ruler above the number on; *ret_end: there is none. */
static struct error *read_snapshot(struct reading *reading, bool *ret_end)
{
	struct foreign_scan scan;
	struct error *error = massif_next(reading);
	*ret_end = !error && !reading->line;
	if (error || *ret_end)
		return error;
	if (reading->line[0] != '#')
		return stream_error(&reading->stream, "expected a separator (#---)");
	uint64_t before = reading->number;
	error = massif_read_number(reading, "snapshot=", &reading->number);
	if (!error && reading->snapshots && reading->number <= before)
		return stream_error(&reading->stream, "is not above the number before");
	if (!error)
		error = massif_expect(reading, "#", &scan);
	for (int i = 0; i < MEMBERS && !error; i++) {
		error = massif_read_number(reading, member_names[i], &reading->values[i]);
		if (!error && i == MEMBER_TIME) {
			if (reading->values[i] < reading->last_time)
				return stream_error(&reading->stream,
					"is before the time of the last snapshot");
			reading->last_time = reading->values[i];
		}
	}
	if (!error)
		error = read_kind(reading);
	reading->snapshots += !error;
	return error;
}

/* A file whose end is missing shows the snapshots that are whole. Massif takes one at the start. */
static struct error *note_cut(struct reading *reading, struct error *error)
{
	bool cut = reading->stream.cut || !reading->snapshots || error;
	if (error && (error->code != ERROR_INPUT || !reading->snapshots ||
			     (reading->line && !reading->stream.cut)))
		return error;
	if (!cut)
		return NULL;
	const char *what = "the file is cut off there: it has no snapshot";
	if (reading->snapshots && reading->stream.cut)
		what = error ? "it has no line end: its snapshot is left out, and later ones may "
			       "be "
			       "missing"
			     : "it has no line end: if the file is cut off there, later snapshots "
			       "are "
			       "missing";
	else if (reading->snapshots)
		what = "the file is cut off there: later snapshots are missing";
	char sentence[120];
	snprintf(sentence, sizeof(sentence), "line %" PRIu64 " is the last one: %s",
		reading->stream.line, what);
	error_destroy(error);
	return build_damage(reading->foreign.model, sentence);
}

/* A site for bytes whose allocation site the file does not contain. */
static struct error *missing_site(struct reading *reading, const char *words, struct site **ret)
{
	struct valgrind_frame function = valgrind_frame_of(words, strlen(words));
	struct foreign_frame frame;
	struct stack_id stack;
	struct site_id site;
	struct error *error = valgrind_frame_make(&reading->foreign, &function, 1, &frame);
	if (!error)
		error = foreign_push(&reading->foreign, (struct stack_id){0}, frame, &stack);
	if (!error)
		error = foreign_site(&reading->foreign, stack, KIND_UNKNOWN, &site);
	if (!error)
		*ret = build_site_at(reading->foreign.model, site);
	return error;
}

/* Whether the last tree has its place in what was live at the end: else all of that is unsaid. */
static bool has_last_tree(const struct reading *reading)
{
	return reading->last.begun && reading->last.bytes <= reading->end_live;
}

static struct error *set_live(struct reading *reading)
{
	uint64_t live = reading->end_live, in_trees = 0;
	for (size_t i = 0; has_last_tree(reading) && i < reading->last.sites.len; i++) {
		const struct series_site *share = &reading->last.sites.data[i];
		build_site_at(reading->foreign.model, share->site)->live_bytes = share->live_bytes;
		in_trees += share->live_bytes;
	}
	struct site *site;
	struct error *error = live > in_trees
				      ? missing_site(reading, "live at the end, of no tree", &site)
				      : NULL;
	if (!error && live > in_trees)
		site->live_bytes = live - in_trees;
	return error;
}

static struct error *set_most(struct reading *reading)
{
	struct model *model = reading->foreign.model;
	build_totals(model)->peak_time_ns = reading->most_ns;
	if (reading->most <= reading->peak_tree)
		return NULL;
	struct site *site;
	struct error *error = missing_site(reading, "live at the peak, of no tree", &site);
	if (!error)
		site->peak_bytes = reading->most - reading->peak_tree;
	return error;
}

static struct error *add_remark(struct reading *reading)
{
	/* What it measures then is memory that the program mapped. */
	const char *pages = reading->pages ? "Massif measured mapped pages (--pages-as-heap=yes), "
					     "including code and stacks, not blocks. "
					   : "";
	char remark[500];
	uint64_t last = reading->end_number;
	int len;
	if (!reading->last.begun)
		len = snprintf(remark, sizeof(remark),
			"%sMassif wrote no tree: allocation sites are unknown.", pages);
	else if (reading->last_number == last)
		len = snprintf(remark, sizeof(remark),
			"%sLive memory is that of snapshot %" PRIu64
			", the last one: Massif takes none at the program's end.",
			pages, last);
	else
		len = snprintf(remark, sizeof(remark),
			"%sLive memory is that of snapshot %" PRIu64
			", the last one: Massif takes none at "
			"the program's end. Massif last wrote allocation sites for snapshot "
			"%" PRIu64 ", which had %" PRIu64 " bytes%s.",
			pages, last, reading->last_number, reading->last.bytes,
			has_last_tree(reading)
				? ": they are as of then"
				: ": more than at the end, so allocation sites are unknown");
	struct model *model = reading->foreign.model;
	return build_string(model, remark, (size_t)len, &build_recording(model)->remark);
}

/* What the figures are of. */
static struct error *set_figures(struct reading *reading)
{
	struct recording *recording = build_recording(reading->foreign.model);
	recording->unknown &= ~(uint32_t)UNKNOWN_SERIES;
	struct error *error = NULL;
	if (reading->snapshots) {
		recording->unknown &= ~(uint32_t)(UNKNOWN_LIVE_BYTES | UNKNOWN_PEAK_BYTES);
		error = set_live(reading);
		if (!error)
			error = set_most(reading);
	}
	if (strcmp(recording->time_unit, "ms") == 0)
		recording->unknown &= ~(uint32_t)UNKNOWN_TIMES;
	return error ? error : add_remark(reading);
}

static struct error *read_all(struct reading *reading)
{
	struct error *error = massif_read_header(reading);
	bool end = false;
	while (!error && !end) {
		error = read_snapshot(reading, &end);
		end |= error != NULL;
	}
	if (end)
		error = note_cut(reading, error);
	if (!error)
		error = set_figures(reading);
	return error ? error : foreign_total(&reading->foreign);
}

struct error *massif_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, FOREIGN_SERIES, "a Massif file");
	if (error)
		return error;
	_cleanup_(massif_reading_deinit) struct reading reading = {.number = 0};
	massif_tree_init(&reading.tree);
	massif_tree_init(&reading.last);
	error = foreign_create(&reading.foreign, "massif", input);
	if (!error)
		error = stream_open(&reading.stream, input, stream_whole_limit(input));
	if (!error)
		error = read_all(&reading);
	if (error)
		return error;
	build_finish(reading.foreign.model);
	*ret = steal_ptr(reading.foreign.model);
	return NULL;
}
