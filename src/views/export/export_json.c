/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All stacks with all figures: "heapwise.export/1", described in docs/schema/export-1.md. */
#include "views/export.h"
#include "views/report/head.h"
#include "views/report/recorded_columns.h"
#include "views/report/site_columns.h"

struct export_sites {
	const struct row *row; /* that is laid out */
	struct site_rows *rows;
};

static const struct column site_columns[] = {
	{"", COLUMN_RECORD, .nested = &site_type}, COLUMNS_END};

static void export_json_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct export_sites *sites = context;
	(void)row, (void)column;
	site_cell(sites->rows, &sites->row, ret);
}

static const struct table_type sites_type = {.name = "sites",
	.says = "each stack and kind with its figures, in no particular order",
	.columns = site_columns,
	.cell = export_json_cell};

static const struct column filter_columns[] = {FILTER_COLUMN, COLUMNS_END};

static void filter_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row, (void)column;
	cell_take_filter(ret, context);
}

static const struct table_type filter_type = {.columns = filter_columns, .cell = filter_cell};

const struct answer_type export_json_type = {.schema = "heapwise.export/1",
	.from = "heapwise export --format json",
	.says = "every stack with all of its figures. `target`, `recording` (without "
		"`unrecorded`), "
		"`totals` (of the whole process, whatever is left out of `sites`) and `notes` are "
		"as "
		"in [heapwise.report/1](report-1.md)",
	.tables = (const struct table_type *const[]){&filter_type, &sites_type, NULL},
	.parts = (const struct table_type *const[]){&site_type, &frame_type, NULL}};

static void put_sites(const struct profile *profile, struct answer *answer)
{
	const struct rows *rows = profile_rows(profile);
	struct frame_rows frames = {.frames = NULL};
	struct site_rows inner = {
		.ranges = {.recording = model_recording(profile->model)}, .frames = &frames};
	struct export_sites sites = {.rows = &inner};
	const struct table table = {&sites_type, &sites, rows->rows.len, .limit = TABLE_NO_LIMIT};
	answer_table_begin(answer, &table);
	for (size_t i = 0; i < rows->rows.len && !answer->stopped; i++) {
		sites.row = &rows->rows.data[i];
		answer_row(answer, &table, i);
	}
	answer_table_end(answer, &table);
	frame_rows_deinit(&frames);
}

struct error *export_json(const struct exported *from, const struct sink *sink)
{
	const struct profile *profile = from->profile;
	struct answer *answer = answer_json_create(sink, false);
	if (!answer)
		return error_no_memory();
	answer_begin(answer, &export_json_type);
	report_source(profile->model, NULL, NULL, answer);
	report_totals(profile->model, &profile->notes, answer);
	answer_record_of(answer, &filter_type, profile->filter);
	put_sites(profile, answer);
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	text_add(from->lost, "Threads, times, lifetimes and leaks are omitted: see "
			     "'heapwise report --json' and 'heapwise leaks --format json'.\n");
	return error;
}
