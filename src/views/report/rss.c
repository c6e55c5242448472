/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view rss: what the resident memory of the process was made of, at the moment at which the
 * recorder looked that is nearest to the one that is asked for. The rows add up to it exactly; what
 * the allocator has beside blocks is the difference, and may be negative: memory of blocks that was
 * never touched is not resident.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "model/resident.h"
#include "views/report/figure_text.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"
#include "views/stacks/frames.h"

enum rss_row {
	ROW_REQUESTED,
	ROW_ROUNDING,
	ROW_REST,
	ROW_HEAP,
	ROW_MAPPED,
	ROW_STACKS,
	ROW_FILE,
	ROW_RECORDER,
	ROW_OTHER
};

static const struct {
	const char *name, *words;
} row_words[] = {
	[ROW_REQUESTED] = {"blocks", "requested by live blocks"},
	[ROW_ROUNDING] = {"rounding", "rounding of their sizes to 16 bytes"},
	[ROW_REST] = {"allocator", "the allocator's: free memory, fragments, headers"},
	[ROW_HEAP] = {"heap", "heap (how much of it is in blocks is not known)"},
	[ROW_MAPPED] = {"mapped", "mapped by the program"},
	[ROW_STACKS] = {"stacks", "stacks of threads"},
	[ROW_FILE] = {"file", "code and data of "},
	[ROW_RECORDER] = {"recorder", "the recorder's own"},
	[ROW_OTHER] = {"other", "other memory without a file"},
};

struct rss_line {
	enum rss_row row;
	int64_t bytes;
	const struct resident_part *part; /* NULL: it has no name */
};
DEFINE_VEC(rss_line_vec, struct rss_line)

struct rss_rows {
	const struct page *page;
	struct rss_line_vec lines;
	struct frame_vec *frames;
};

static bool add_line(
	struct rss_rows *rows, enum rss_row row, int64_t bytes, const struct resident_part *part)
{
	return rss_line_vec_push(
		&rows->lines, (struct rss_line){.row = row, .bytes = bytes, .part = part});
}

/* The heap's memory, by what is in it. */
static bool add_heap(struct rss_rows *rows, const struct resident_sample *sample, uint64_t bytes)
{
	int64_t requested = (int64_t)sample->requested_bytes,
		rounding = (int64_t)sample->rounding_bytes;
	if (!sample->heap_is_known)
		return add_line(rows, ROW_HEAP, (int64_t)bytes, NULL);
	return add_line(rows, ROW_REQUESTED, requested, NULL) &&
	       add_line(rows, ROW_ROUNDING, rounding, NULL) &&
	       add_line(rows, ROW_REST, (int64_t)bytes - requested - rounding, NULL);
}

static bool fill_rows(struct rss_rows *rows)
{
	static const enum rss_row of_kind[RESIDENT_KINDS] = {[RESIDENT_MAPPING] = ROW_MAPPED,
		[RESIDENT_STACKS] = ROW_STACKS,
		[RESIDENT_FILE] = ROW_FILE,
		[RESIDENT_RECORDER] = ROW_RECORDER,
		[RESIDENT_OTHER] = ROW_OTHER};
	const struct resident_sample *sample = model_resident(rows->page->model);
	size_t count;
	const struct resident_part *parts = model_resident_parts(rows->page->model, &count);
	bool ok = true;
	for (size_t i = 0; sample && ok && i < count; i++)
		ok = parts[i].kind == RESIDENT_HEAP ? add_heap(rows, sample, parts[i].bytes)
						    : add_line(rows, of_kind[parts[i].kind],
							      (int64_t)parts[i].bytes, &parts[i]);
	return ok;
}

static const char *file_of(const struct rss_line *line)
{
	return line->part && line->part->file[0] ? line->part->file : NULL;
}

/* Frames of the call that mapped it, innermost first; none: it is not known. */
static size_t frames_of(const struct rss_rows *rows, const struct rss_line *line)
{
	frame_vec_clear(rows->frames);
	if (line->row != ROW_MAPPED || !line->part->stack.value)
		return 0;
	struct error *error =
		resolver_stack(rows->page->resolver, line->part->stack, KIND_UNKNOWN, rows->frames);
	error_destroy(error);
	return error ? 0 : rows->frames->len;
}

enum { WHAT, BYTES, ESTIMATE, CALL, FILE_NAME, STACK };
static const struct column columns[] = {
	[WHAT] = {"what", COLUMN_TEXT,
		.says = "`blocks`: requested by live blocks; `rounding`: what these lack to "
			"multiples of 16 bytes; `allocator`: what else of the heap's memory is "
			"resident, less what blocks have never touched; `heap`: in place of these "
			"three where it is not known; `mapped` by a call of the program; "
			"`stacks` of threads; `file`: code and data of one; `recorder`: "
			"heapwise's own; `other`"},
	[BYTES] = {"bytes", COLUMN_SIGNED, UNIT_BYTES,
		.says = "of `resident_bytes`, which is the sum of all rows"},
	[ESTIMATE] = {"estimate", COLUMN_BOOLEAN,
		.says = "it rests on how allocators round sizes, not on what was measured"},
	[CALL] = {"call", COLUMN_TEXT, .optional = true,
		.says = "of `mapped`: the function that mapped it; null: several"},
	[FILE_NAME] = {"file", COLUMN_TEXT, .optional = true,
		.says = "of `mapped` and `file`: which; null: none, or several"},
	[STACK] = {"stack", COLUMN_TABLE, .optional = true, .says = "of `mapped`: of the call",
		.nested = &plain_frame_type},
	COLUMNS_END};

static void rss_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct rss_rows *rows = context;
	const struct rss_line *line = &rows->lines.data[row];
	bool mapped = line->row == ROW_MAPPED;
	switch (column) {
	case WHAT:
		ret->text = row_words[line->row].name;
		break;
	case BYTES:
		ret->signed_number = line->bytes;
		break;
	case ESTIMATE:
		ret->truth = line->row == ROW_ROUNDING || line->row == ROW_REST;
		break;
	case CALL:
		ret->state = !mapped                            ? CELL_ABSENT
			     : line->part->call == KIND_UNKNOWN ? CELL_UNKNOWN
								: CELL_KNOWN;
		ret->text = mapped ? alloc_kind_name(line->part->call) : NULL;
		break;
	case FILE_NAME:
		ret->text = file_of(line);
		ret->state = mapped || line->row == ROW_FILE ? ret->text ? CELL_KNOWN : CELL_UNKNOWN
							     : CELL_ABSENT;
		break;
	default:
		ret->state = mapped ? CELL_KNOWN : CELL_ABSENT;
		if (mapped) {
			size_t depth = frames_of(rows, line);
			ret->nested = (struct table){&plain_frame_type, rows->frames->data, depth,
				.limit = TABLE_NO_LIMIT};
		}
	}
}

/* "mapped by the program: mmap < load_index < main" */
static void add_words(const struct rss_rows *rows, const struct rss_line *line, struct text *out)
{
	const char *file = file_of(line);
	text_add(out, row_words[line->row].words);
	if (line->row == ROW_FILE)
		text_add(out, file ? "" : "further files");
	if (line->row == ROW_MAPPED) {
		size_t depth = frames_of(rows, line);
		text_add(out, line->part->call == KIND_UNKNOWN ? ", by further calls" : ": ");
		if (line->part->call != KIND_UNKNOWN)
			text_add(out, alloc_kind_name(line->part->call));
		for (size_t i = 0; i < depth && i < 4; i++) {
			text_add(out, " < ");
			plain_frame_type.gist(rows->frames->data, i, out);
		}
		text_add(out, file ? ", of " : "");
	}
	if (file)
		text_add_shown(out, file, 200);
}

static void rss_row_text(const void *context, size_t row, struct text *out)
{
	const struct rss_rows *rows = context;
	const struct rss_line *line = &rows->lines.data[row];
	uint64_t size = (uint64_t)(line->bytes < 0 ? -line->bytes : line->bytes);
	_cleanup_(text_deinit) struct text bytes;
	text_init(&bytes);
	text_add(&bytes, line->bytes < 0 ? "-" : "");
	text_add_bytes(&bytes, size);
	text_printf(out, "%14s  ", bytes.data ? bytes.data : "");
	add_words(rows, line, out);
	text_add(out, line->row == ROW_ROUNDING || line->row == ROW_REST ? " (estimate)\n" : "\n");
}

const struct table_type report_rss_type = {.name = "rss",
	.says = "view `rss`: a row for each part of the resident memory",
	.columns = columns,
	.cell = rss_cell_of,
	.row_text = rss_row_text};

static const struct column moment_columns[] = {
	{"resident_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "view `rss`: the sum of its rows, as the kernel's smaps had it; without "
			"page tables",
		COLUMN_OF(resident_sample, bytes)},
	{"resident_time_ns", COLUMN_INTEGER, UNIT_NS,
		.says = "when the recorder looked: the last time up to the moment that was asked "
			"for; without one, or at `peak`, when most was resident",
		COLUMN_OF(resident_sample, time_ns)},
	{"resident_samples", COLUMN_INTEGER, UNIT_COUNT, .says = "how often it looked",
		COLUMN_OF(resident_sample, samples)},
	COLUMNS_END};

const struct table_type report_rss_moment_type = {
	.columns = moment_columns, .row_bytes = sizeof(struct resident_sample)};

static void add_heading(const struct resident_sample *sample, struct text *out)
{
	text_add(out, "\nResident memory: ");
	text_add_bytes(out, sample->bytes);
	text_add(out, " after ");
	text_add_duration_ns(out, sample->time_ns);
	text_printf(out, ", %s of ", sample->is_highest ? "the most" : "one");
	text_add_counted(out, sample->samples, "look", "looks");
	text_add(out, " by the recorder\n");
}

void report_rss(const struct page *page, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	const struct resident_sample *sample = model_resident(page->model);
	struct frame_vec frames;
	struct rss_rows rows = {.page = page, .frames = &frames};
	frame_vec_init(&frames);
	rss_line_vec_init(&rows.lines);
	if (fill_rows(&rows)) {
		const struct table lines = {
			&report_rss_type, &rows, rows.lines.len, .limit = page->limit};
		if (prose && sample)
			add_heading(sample, prose);
		if (sample)
			answer_record_of(answer, &report_rss_moment_type, sample);
		answer_table(answer, &lines);
		if (prose && lines.count > lines.limit)
			text_more(lines.count - lines.limit, "part", "parts", prose);
	}
	rss_line_vec_deinit(&rows.lines);
	frame_vec_deinit(&frames);
}
