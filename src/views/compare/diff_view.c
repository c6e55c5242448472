/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison as tables: which two, the verdict, then the allocation sites, by status:
 *
 *   Grown (2 allocation sites, +4.5 KiB)
 *     +4 KiB  from 1.5 KiB to 5.5 KiB  +15 blocks, from 5 to 20  281 B each  from malloc at
 *         read_line  input.c:41  [app]
 *         main  app.c:12  [app]
 */
#include "views/diff_view.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_parts.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

#define TEXT_ROWS 10u

struct diff_page {
	struct recorded sides[2]; /* older, newer */
	const struct diff_view_options *options;
	const struct diff *diff;
	struct text notes; /* sentences, each with a newline */
	size_t limit;      /* rows to show of each list */
	/* The row that is laid out, and what is nested in it. */
	struct inner {
		const struct row *row;
		struct diff_figure figure;
		struct frame_rows frames;
		struct site_rows site;
	} * inner;
};

enum { OLDER, NEWER, METRIC, SAME_RECORDING, NORMALIZED, FILTER, VERDICT, NOTES };
static const struct column head_columns[] = {
	[OLDER] = {"older", COLUMN_RECORD, .says = "what it is compared with",
		.nested = &recorded_type},
	[NEWER] = {"newer", COLUMN_RECORD, .says = "what is compared", .nested = &recorded_type},
	[METRIC] = {"metric", COLUMN_TEXT,
		.says = "what rows are sorted by and statuses are about: `live_bytes`…"},
	[SAME_RECORDING] =
		FLAG_OF(diff_options, same_recording, "two moments of one recording: lines count"),
	[NORMALIZED] = FLAG_AS("normalized", diff_options, normalize,
		"older figures are scaled to the newer totals, each by its own"),
	[FILTER] = FILTER_COLUMN,
	[VERDICT] = VERDICT_COLUMN,
	[NOTES] = NOTES_COLUMN,
	COLUMNS_END};

static void head_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct diff_page *page = context;
	(void)row;
	switch (column) {
	case OLDER:
	case NEWER:
		cell_take_record(ret, &recorded_type, &page->sides[column - OLDER]);
		break;
	case METRIC:
		ret->text = metric_name(page->diff->options.metric);
		break;
	case FILTER:
		cell_take_filter(ret, page->options->view.filter);
		break;
	case VERDICT:
		cell_take_lines(ret, &page->diff->verdict);
		break;
	case NOTES:
		cell_take_lines(ret, &page->notes);
		break;
	default:
		table_member(&head_columns[column], &page->diff->options, ret);
	}
}

static void diff_view_head_text(const void *context, size_t row, struct text *out)
{
	const struct diff_page *page = context;
	(void)row;
	text_change_sides(page->sides, out);
	text_verdict(&page->diff->verdict, out);
	text_notes(&page->notes, out);
}

static const struct table_type head_type = {
	.columns = head_columns, .cell = head_cell, .row_text = diff_view_head_text};

static const struct table_type kept_type = {
	.columns = (const struct column[]){COUNT_AS("blocks", site, live_blocks, "that they keep"),
		BYTES_AS("bytes", site, live_bytes, "of these"), COLUMNS_END},
	.row_bytes = sizeof(struct site)};

static const struct column library_columns[] = {
	{"older", COLUMN_RECORD, .says = "in the older one", .nested = &kept_type},
	{"newer", COLUMN_RECORD, .says = "in the newer one", .nested = &kept_type}, COLUMNS_END};

static void library_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct diff *diff = ((const struct diff_page *)context)->diff;
	(void)row;
	cell_take_record(ret, &kept_type, column ? &diff->kept_newer : &diff->kept_older);
}

static const struct table_type library_type = {.name = "libraries",
	.says = "what libraries keep for themselves of what is live. A stack is a library's in "
		"both or in neither. 0 with `--count-libraries` or `--normalize`",
	.columns = library_columns,
	.cell = library_cell};

static const struct column without_columns[] = {
	FIGURE_COLUMN("live_bytes", UNIT_BYTES, "live at the end"),
	FIGURE_COLUMN("live_blocks", UNIT_COUNT, "live at the end"), COLUMNS_END};

static void without_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct diff_page *page = context;
	enum metric metric = column ? METRIC_LIVE_BLOCKS : METRIC_LIVE_BYTES;
	(void)row;
	diff_of_program(page->diff, metric, &page->inner->figure);
	cell_take_record(ret, &figure_type, &page->inner->figure);
	if (!diff_knows(page->diff, metric))
		ret->state = CELL_UNKNOWN;
}

static const struct table_type without_type = {.name = "without_libraries",
	.says = "the totals without that: sentences and `--fail-on-growth` go by these",
	.columns = without_columns,
	.cell = without_cell};

enum { NAME, TID, THREAD_OLDER, THREAD_NEWER, THREAD_CHANGE };
static const struct column thread_columns[] = {
	[NAME] = {"name", COLUMN_TEXT, .says = "of the thread"},
	[TID] = {"tid", COLUMN_INTEGER, .says = "its number"},
	[THREAD_OLDER] = {"older", COLUMN_INTEGER, UNIT_BYTES,
		.says = "its stack, or null: not known, or the thread was not there"},
	[THREAD_NEWER] = {"newer", COLUMN_INTEGER, UNIT_BYTES, .says = "likewise"},
	[THREAD_CHANGE] = {"change", COLUMN_SIGNED, UNIT_BYTES, .says = "by how much it grew"},
	COLUMNS_END};

static void thread_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct thread_pair *pair = (const struct thread_pair *)context + row;
	const struct thread *shown = pair->newer ? pair->newer : pair->older;
	const struct thread *side = column == THREAD_OLDER ? pair->older : pair->newer;
	ret->text = shown->name;
	ret->number = column == TID ? shown->tid : side ? side->stack_bytes : 0;
	ret->signed_number = stack_size_change(pair);
	if ((column == THREAD_OLDER || column == THREAD_NEWER) && !side)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type thread_type = {.columns = thread_columns, .cell = thread_cell};

enum { STACKS_OLDER, STACKS_NEWER, STACKS_CHANGE, THREADS };
static const struct column stack_columns[] = {
	[STACKS_OLDER] = BYTES_OF(stack_sizes, older, "in the older one, or null: not known"),
	[STACKS_NEWER] = BYTES_OF(stack_sizes, newer, "likewise"),
	[STACKS_CHANGE] = {"change", COLUMN_SIGNED, UNIT_BYTES,
		.says = "the difference, if both are known"},
	[THREADS] = {"threads", COLUMN_TABLE, .says = "if both are known, the largest change first",
		.nested = &thread_type},
	COLUMNS_END};

static void diff_view_stack_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct stack_sizes *stacks = &((const struct diff_page *)context)->diff->stacks;
	bool known = stack_sizes_known(stacks);
	(void)row;
	if (column == STACKS_CHANGE) {
		ret->signed_number = (int64_t)(stacks->newer - stacks->older);
		ret->state = known ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == THREADS) {
		ret->nested = (struct table){&thread_type, stacks->rows.data,
			known ? stacks->rows.len : 0, .limit = TABLE_NO_LIMIT};
	} else {
		table_member(&stack_columns[column], stacks, ret);
		ret->state = ret->number ? CELL_KNOWN : CELL_UNKNOWN;
	}
}

/* "from 8 KiB to 4 MiB, +4 MiB"; of a side that is not known it says so. */
static void add_sizes(uint64_t older, uint64_t newer, struct text *out)
{
	text_printf(out, "from %s to %s, ", FMT_BYTES(older), FMT_BYTES(newer));
	diff_add_change(out, METRIC_LIVE_BYTES, (int64_t)(newer - older));
}

static void diff_view_add_stack(const struct thread_pair *row, struct text *out)
{
	text_add(out, "  ");
	stack_size_add_name(row, out);
	text_add(out, row->older ? row->newer ? ": " : ": gone, " : ": new, ");
	if (row->older && row->newer)
		add_sizes(row->older->stack_bytes, row->newer->stack_bytes, out);
	else
		text_add_bytes(out, (row->older ? row->older : row->newer)->stack_bytes);
	text_add_char(out, '\n');
}

/*
 *   Stacks of threads: from 24 KiB to 4.02 MiB, +4 MiB (2 threads)
 *     worker: new, 4 MiB
 *     app: from 24 KiB to 24 KiB, ±0
 */
static void stacks_text(const void *context, size_t row, struct text *out)
{
	const struct diff_page *page = context;
	const struct stack_sizes *stacks = &page->diff->stacks;
	(void)row;
	text_add(out, "\nStacks of threads: ");
	if (stack_sizes_known(stacks)) {
		add_sizes(stacks->older, stacks->newer, out);
	} else if (stacks->older || stacks->newer) {
		text_add_bytes(out, stacks->older ? stacks->older : stacks->newer);
		text_printf(out, " in the %s recording, not known in the %s",
			stacks->older ? "older" : "newer", stacks->older ? "newer" : "older");
	} else {
		text_add(out, "not known\n");
		return;
	}
	size_t count = stack_sizes_known(stacks) ? stacks->rows.len : 0;
	if (count <= 1) {
		text_add_char(out, '\n');
		return;
	}
	text_add(out, " (");
	if (count > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_printf(out, "%s threads)\n", FMT_COUNT(count));
	for (size_t i = 0; i < count && i < page->limit; i++)
		diff_view_add_stack(&stacks->rows.data[i], out);
}

static const struct table_type stack_type = {.name = "stacks",
	.says = "the stacks of all threads at both moments",
	.columns = stack_columns,
	.cell = diff_view_stack_cell,
	.row_text = stacks_text};

static const struct column sum_columns[] = {
	{"count", COLUMN_INTEGER, UNIT_COUNT, .says = "how many allocation sites"},
	{"change", COLUMN_SIGNED, .says = "by how much they differ together"}, COLUMNS_END};

static void diff_view_sum_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct diff *diff = context;
	(void)column;
	ret->number = diff->lists[row].len;
	ret->signed_number = diff->sums[row];
}

static const struct table_type sum_type = {.columns = sum_columns, .cell = diff_view_sum_cell};

#define PLACE_COLUMN(status, name_, says_)                                                         \
	[status] = {name_, COLUMN_RECORD, .says = says_, .nested = &sum_type}
static const struct column place_columns[] = {
	PLACE_COLUMN(DIFF_NEW, "new", "that had none of the metric"),
	PLACE_COLUMN(DIFF_GROWN, "grown", "that have more of it"),
	PLACE_COLUMN(DIFF_SHRUNK, "shrunk", "that have less of it"),
	PLACE_COLUMN(DIFF_GONE, "gone", "that have none any more"),
	PLACE_COLUMN(DIFF_SAME, "same", "that have as much as before"), COLUMNS_END};

static void place_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	cell_take_record(ret, &sum_type, ((const struct diff_page *)context)->diff);
	ret->row = column;
	(void)row;
}

static const struct table_type place_type = {.name = "places",
	.says = "allocation sites by status; of live memory without those of libraries",
	.columns = place_columns,
	.cell = place_cell};

enum { STATUS, KIND, LIBRARY, FIGURES, STACK = FIGURES + METRICS };
static const struct column row_columns[] = {
	[STATUS] = {"status", COLUMN_TEXT, .says = "`new`, `grown`, `shrunk` or `gone`"},
	[KIND] = KIND_COLUMN,
	[LIBRARY] = {"library", COLUMN_TEXT,
		.says = "a library's own in both recordings: what it is, or null"},
	FIGURE_COLUMNS,
	STACK_COLUMN,
	COLUMNS_END};

static void diff_view_row_cell(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct diff_page *page = context;
	const struct row *row = page->inner->row;
	(void)number;
	if (column == STATUS)
		ret->text = diff_status_name(diff_status(page->diff, row));
	else if (column == KIND)
		ret->text = alloc_kind_name(row->sums->kind);
	else if (column == LIBRARY)
		ret->text = row->library;
	else if (column == STACK)
		site_stack_cell(&page->inner->site, &page->inner->row, ret);
	else
		change_figure_cell(page->diff, row, (enum metric)(column - FIGURES),
			&page->inner->figure, ret);
}

static void diff_view_row_text(const void *context, size_t number, struct text *out)
{
	const struct diff_page *page = context;
	const struct change_look look = {
		page->diff, page->options->view.colour, page->options->view.all_frames};
	(void)number;
	text_change_row(&look, page->inner->row, "", out);
}

static const struct table_type row_type = {.name = "rows",
	.says = "allocation sites that differ: first `new`, then `grown`, `shrunk`, `gone`; in "
		"each the "
		"largest change first, those within the error last; of live memory what "
		"libraries keep comes after all these. Complete unless `--limit` is given, which "
		"counts for each status",
	.columns = row_columns,
	.cell = diff_view_row_cell,
	.row_text = diff_view_row_text};

const struct answer_type diff_answer_type = {.schema = "heapwise.diff/1",
	.from = "heapwise diff",
	.says = "two recordings compared ([comparisons](../diff.md), "
		"[quantities](../quantities.md))",
	.tables = (const struct table_type *const[]){&head_type, &change_totals_type, &library_type,
		&without_type, &stack_type, &place_type, &change_renames_type, &row_type, NULL},
	.main = &row_type,
	.parts = (const struct table_type *const[]){&recorded_type, &figure_type,
		&report_target_type, &report_recording_type, &frame_type, &plain_frame_type, NULL}};

static void diff_view_add_title(
	const struct diff_page *page, enum diff_status status, struct text *out)
{
	static const char *const titles[] = {
		[DIFF_NEW] = "New",
		[DIFF_GROWN] = "Grown",
		[DIFF_SHRUNK] = "Shrunk",
		[DIFF_GONE] = "Gone",
	};
	const struct row_list *list = &page->diff->lists[status];
	if (!list->len)
		return;
	bool colour = page->options->view.colour;
	text_add_char(out, '\n');
	paint_begin(out, colour, PAINT_TITLE);
	text_printf(out, "%s (", titles[status]);
	if (list->len > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_printf(out, "%s %s, ", FMT_COUNT(list->len), diff_row_word(page->diff, list->len));
	diff_add_change(out, page->diff->options.metric, page->diff->sums[status]);
	text_add(out, ")");
	paint_end(out, colour, PAINT_TITLE);
	text_add(out, "\n");
}

static void put_list(
	const struct diff_page *page, const struct row_list *list, struct answer *answer)
{
	const struct table rows = {&row_type, page, list->len, .limit = page->limit};
	for (size_t i = 0; i < table_shown(&rows) && !answer->stopped; i++) {
		page->inner->row = list->data[i];
		answer_row(answer, &rows, i);
	}
}

static void put_rows(const struct diff_page *page, struct answer *answer)
{
	const struct table rows = {&row_type, page, 0, .limit = TABLE_NO_LIMIT};
	struct text *prose = answer_prose(answer);
	answer_table_begin(answer, &rows);
	for (int status = 0; status < DIFF_SAME; status++) {
		if (prose)
			diff_view_add_title(page, (enum diff_status)status, prose);
		put_list(page, &page->diff->lists[status], answer);
	}
	if (!prose)
		put_list(page, &page->diff->libraries, answer);
	answer_table_end(answer, &rows);
}

static struct error *diff_view_lay_out(const struct diff_page *page, struct answer *answer)
{
	static const struct table_type *const records[] = {
		&library_type, &without_type, &stack_type, &place_type};
	const struct change_totals figures = {page->diff, &page->inner->figure};
	const struct table renames = change_renames(page->diff);
	answer_begin(answer, &diff_answer_type);
	answer_record_of(answer, &head_type, page);
	answer_record_of(answer, &change_totals_type, &figures);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		answer_record_of(answer, records[i], page);
	answer_table(answer, &renames);
	put_rows(page, answer);
	return answer_end(answer);
}

static struct error *diff_view_show(const struct comparison *comparison,
	const struct diff_view_options *options, const struct sink *sink)
{
	struct inner inner = {.row = NULL, .site = {.frames = &inner.frames}};
	struct diff_page page = {
		.sides = {{.model = comparison->sides[0].model, .label = options->labels[0]},
			{.model = comparison->sides[1].model, .label = options->labels[1]}},
		.options = options,
		.diff = &comparison->diff,
		.inner = &inner,
	};
	struct answer *answer = view_answer_create(&options->view, sink);
	text_init(&page.notes);
	change_add_notes(comparison, options->labels, &page.notes);
	struct error *error = NULL;
	if (!answer || page.notes.failed) {
		error = error_no_memory();
	} else {
		page.limit = answer_limit(answer, options->view.limit, TEXT_ROWS);
		error = diff_view_lay_out(&page, answer);
	}
	frame_rows_deinit(&inner.frames);
	text_deinit(&page.notes);
	answer_destroy(answer);
	return error;
}

static void outcome_of(const struct diff *diff, struct diff_outcome *ret)
{
	text_init(&ret->top);
	diff_of_program(diff, diff->options.metric, &ret->total);
	if (diff->top.len)
		text_add_n(&ret->top, diff->top.data, diff->top.len);
}

struct error *diff_view_write(const struct model *older, const struct model *newer,
	const struct diff_view_options *options, const struct sink *sink, struct diff_outcome *ret)
{
	_cleanup_(comparison_deinit) struct comparison comparison;
	comparison_init(&comparison);
	struct error *error = comparison_build(older, newer, &options->diff,
		options->view.all_frames, options->view.filter, &comparison);
	if (error)
		return error;
	outcome_of(&comparison.diff, ret);
	return diff_view_show(&comparison, options, sink);
}
