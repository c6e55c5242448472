/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A budget as a table: a row a limit, and in it the stacks to blame. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "views/gates/budget_page.h"
#include "views/report/recorded_columns.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"
#include "views/stacks/frames.h"

struct budget_rows {
	const struct budget_page *page;
	struct recorded now, before;
	/* What is nested in the row that is laid out: its findings, and of one of these the stack.
	 */
	struct inner {
		const struct budget_check *check;
		struct frame_rows frames;
	} * inner;
};

enum { TARGET, RECORDING, BASELINE, PASSED, VERDICT };
static const struct column head_columns[] = {RECORDED_COLUMNS,
	[BASELINE] = {"baseline", COLUMN_RECORD, .says = "what `max-growth` compares with, or null",
		.nested = &recorded_type},
	[PASSED] = {"passed", COLUMN_BOOLEAN,
		.says = "all limits are met, and all could be decided"},
	VERDICT_COLUMN, NOTES_COLUMN, COLUMNS_END};

static void head_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct budget_rows *rows = context;
	const struct budget *budget = rows->page->budget;
	(void)row;
	switch (column) {
	case TARGET:
		cell_take_record(ret, &report_target_type, model_target(rows->now.model));
		break;
	case RECORDING:
		cell_take_record(ret, &report_recording_type, &rows->now);
		break;
	case BASELINE:
		cell_take_record(ret, &recorded_type, &rows->before);
		ret->state = rows->before.model ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case PASSED:
		ret->truth = !budget->exceeded && !budget->unknown;
		break;
	case VERDICT:
		cell_take_lines(ret, &budget->verdict);
		break;
	default:
		cell_take_lines(ret, &rows->page->notes);
	}
}

static void budget_table_head_text(const void *context, size_t row, struct text *out)
{
	const struct budget_page *page = ((const struct budget_rows *)context)->page;
	(void)row;
	text_heading(page->model, out);
	text_verdict(&page->budget->verdict, out);
	text_notes(&page->notes, out);
}

static const struct table_type head_type = {
	.columns = head_columns, .cell = head_cell, .row_text = budget_table_head_text};

enum { FINGERPRINT, FINDING_VALUE, BLOCKS, KIND, STACK };
static const struct column finding_columns[] = {
	[FINGERPRINT] = {"fingerprint", COLUMN_TEXT,
		.says = "the same in other runs and builds as long as rule, kind, functions and "
			"modules are"},
	[FINDING_VALUE] = {"value", COLUMN_INTEGER,
		.says = "of the rule's metric; of `max-growth` how much more"},
	[BLOCKS] = {"blocks", COLUMN_INTEGER, UNIT_COUNT,
		.says = "that these are (calls, where these are counted); null: the file counts "
			"none"},
	[KIND] = KIND_COLUMN,
	[STACK] = {"stack", COLUMN_TABLE, .says = "innermost frame first", .nested = &frame_type},
	COLUMNS_END};

static void finding_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct budget_rows *rows = context;
	const struct budget_finding *finding =
		budget_finding_at(rows->page, rows->inner->check, row);
	uint64_t fingerprint = 0;
	switch (column) {
	case FINGERPRINT:
		ret->built.failed |= !budget_fingerprint(rows->inner->check, finding, &fingerprint);
		text_printf(&ret->built, "%016" PRIx64, fingerprint);
		cell_take_built(ret);
		break;
	case FINDING_VALUE:
		ret->number = finding->value;
		break;
	case BLOCKS:
		ret->number = finding->blocks;
		if (!budget_counts_blocks(rows->inner->check, finding))
			ret->state = CELL_UNKNOWN;
		break;
	case KIND:
		ret->text = alloc_kind_name(finding->kind);
		break;
	default:
		frame_rows_cell(&rows->inner->frames, finding->frames, finding->depth, false, ret);
	}
}

static const struct table_type finding_type = {.columns = finding_columns, .cell = finding_cell};

static void range_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct budget_check *check = context;
	(void)column;
	ret->number = row ? check->high : check->low;
}

static const struct table_type range_type = {
	.columns = (const struct column[]){{"", COLUMN_INTEGER, .says = "the least, the most"},
		COLUMNS_END},
	.cell = range_cell};

enum { RULE, METRIC, STATE, REASON, LIMIT, VALUE, RANGE, BASE, TOTAL, FINDINGS };
static const struct column check_columns[] = {
	[RULE] = {"rule", COLUMN_TEXT,
		.says = "the option: `max-peak`, `max-never-freed`, `max-per-stack`, "
			"`max-allocations`, `max-temporary`, `max-growth`, `max-leak`, "
			"`max-leak-per-stack` or `max-errors`"},
	[METRIC] = {"metric", COLUMN_TEXT,
		.says = "what limit, value and base count: `peak_bytes`…, or `errors`"},
	[STATE] = {"state", COLUMN_TEXT, .says = "`kept`, `exceeded` or `unknown`"},
	[REASON] = {"reason", COLUMN_TEXT,
		.says = "why it is `unknown`: the figure is not there (value is null), may be "
			"another one, or is an estimate whose range has the limit in it"},
	[LIMIT] = {"limit", COLUMN_INTEGER, .says = "the most that is allowed"},
	[VALUE] = {"value", COLUMN_INTEGER,
		.says = "what was found; of limits for each stack the largest"},
	[RANGE] = {"range", COLUMN_LIST,
		.says = "of an estimate: between which two the true value lies in 19 of 20 "
			"recordings, or null. A limit is kept if the second keeps it, exceeded if "
			"the first exceeds it. It holds for any sizes of blocks, also where a "
			"report has it by mean sizes",
		.nested = &range_type},
	[BASE] = {"base", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of `max-growth`: live in the baseline; limit and value are what may come "
			"and what came on top"},
	[TOTAL] = {"findings_total", COLUMN_INTEGER, UNIT_COUNT,
		.says = "stacks to blame: as few as together make the excess; of limits for each "
			"stack all that exceed it"},
	[FINDINGS] = {"findings", COLUMN_TABLE,
		.says = "these, the largest first, complete unless `--limit` is given",
		.nested = &finding_type},
	COLUMNS_END};

static void check_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct budget_rows *rows = context;
	const struct budget_check *check = &rows->page->budget->checks.data[row];
	const struct budget_rule_info *info = budget_rule_info(check->rule);
	const char *const texts[] = {info->option,
		check->rule == BUDGET_ERRORS ? "errors" : metric_name(info->metric),
		check->unknown    ? "unknown"
		: check->exceeded ? "exceeded"
				  : "kept",
		check->unknown};
	const uint64_t numbers[] = {[LIMIT] = check->limit,
		[VALUE] = check->value,
		[BASE] = check->base,
		[TOTAL] = check->count};
	bool is_known = column == VALUE   ? check->figure_known
			: column == RANGE ? check->figure_known && check->estimated
			: column == BASE  ? check->figure_known && check->rule == BUDGET_GROWTH
					  : true;
	if (column <= REASON)
		ret->text = texts[column];
	else if (column == RANGE)
		ret->nested = (struct table){&range_type, check, 2, .limit = TABLE_NO_LIMIT};
	else if (column != FINDINGS)
		ret->number = numbers[column];
	else
		ret->nested = (struct table){
			&finding_type, rows, check->count, .limit = rows->page->limit};
	if (!is_known)
		ret->state = CELL_UNKNOWN;
	rows->inner->check = check;
}

static void check_text(const void *context, size_t row, struct text *out)
{
	const struct budget_page *page = ((const struct budget_rows *)context)->page;
	const struct budget_check *check = &page->budget->checks.data[row];
	text_printf(out, "  %-8s  ",
		check->unknown    ? "unknown"
		: check->exceeded ? "EXCEEDED"
				  : "kept");
	budget_add_check(out, check);
	text_add(out, "\n");
	for (size_t i = 0; i < budget_shown(page, check); i++) {
		const struct budget_finding *finding = budget_finding_at(page, check, i);
		text_add(out, "    ");
		budget_add_finding(out, check, finding);
		row_add_kind(finding->kind, out);
		text_stack(finding->frames, finding->depth, false, out);
	}
	budget_add_more(page, check, "    ", out);
}

static const struct table_type check_type = {.name = "checks",
	.says = "one for each limit that is given",
	.title = "Limits",
	.columns = check_columns,
	.cell = check_cell,
	.row_text = check_text};

const struct answer_type budget_answer_type = {.schema = "heapwise.budget/1",
	.from = "heapwise budget",
	.says = "whether a recording keeps limits ([heap limits in CI](../howto/ci.md))",
	.tables = (const struct table_type *const[]){&head_type, &check_type, NULL},
	.main = &check_type,
	.parts = (const struct table_type *const[]){
		&report_target_type, &report_recording_type, &frame_type, NULL}};

struct error *budget_answer(const struct budget_page *page, struct answer *answer)
{
	struct inner inner = {.check = NULL};
	struct budget_rows rows = {.page = page,
		.now = {.model = page->model},
		.before = {.model = page->options->baseline, .label = page->options->labels[0]},
		.inner = &inner};
	const struct table checks = {
		&check_type, &rows, page->budget->checks.len, .limit = TABLE_NO_LIMIT};
	answer_begin(answer, &budget_answer_type);
	answer_record_of(answer, &head_type, &rows);
	answer_table(answer, &checks);
	struct error *error = answer_end(answer);
	frame_rows_deinit(&inner.frames);
	return error;
}
