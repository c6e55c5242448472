/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/maps_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "views/maps/maps_fill.h"
#include "views/maps/maps_tables.h"

#define TEXT_ROWS 30u

#define GROWTH_BITS(first) (1ull << ((first) + GROWN_BYTES) | 1ull << ((first) + GROWN_RATE))

struct maps_page {
	const struct maps_rows *rows;
	const struct maps_options *options;
	struct answer *answer;
	struct text *prose;
};

/* "PID 4711: redis-server *:6379" */
static void subject_head(const struct maps_subject *subject, struct text *out)
{
	if (subject->pid)
		text_printf(out, "PID %" PRIu64 ": ", subject->pid);
	if (subject->base) {
		text_add_shown(out, subject->base, 200);
		text_add(out, " to ");
	}
	text_add_shown(out, subject->name, 200);
	text_add(out, "\n");
	if (subject->end) {
		text_add(out, subject->end);
		text_add(out, "\n");
	}
	for (size_t i = 0; i < MAPS_NOTES_MAX; i++) {
		if (!subject->notes[i])
			break;
		text_add(out, subject->notes[i]);
		text_add(out, ".\n");
	}
}

static bool has_huge(const struct maps_row *row)
{
	return row->known & 1u << LOOK_HUGE && row->figures[LOOK_HUGE];
}

/* Columns that would say nothing of any mapping. */
static uint64_t hidden_columns(const struct maps_row *process)
{
	return (uint64_t)!has_huge(process) << REGION_HUGE | (uint64_t)!process->subject->changes
								     << REGION_CHANGED;
}

static void sums_add(const struct maps_row *process, struct text *out)
{
	text_add(out, "total, with ");
	text_add_counted(out, process->mappings, "mapping", "mappings");
	text_add(out, ": RSS ");
	if (process->fit.last == MAPPING_NO_FIGURE)
		text_add(out, "not known of all of them");
	else
		text_printf(out, "%" PRIu64 " KB", process->fit.last >> 10);
	text_add(out, ", swapped ");
	if (process->known & 1u << LOOK_SWAPPED)
		text_printf(out, "%" PRIu64 " KB", process->figures[LOOK_SWAPPED] >> 10);
	else
		text_add(out, "not known");
	if (has_huge(process))
		text_printf(
			out, ", in huge pages %" PRIu64 " KB", process->figures[LOOK_HUGE] >> 10);
	text_add(out, "\n");
}

/* Rows of a subject in a table that is sorted by subjects. */
static struct table rows_of(const struct maps_page *page, const struct table_type *type,
	const struct maps_row_vec *rows, const struct maps_subject *subject)
{
	size_t first = 0, count = 0;
	while (first < rows->len && rows->data[first].subject != subject)
		first++;
	while (first + count < rows->len && rows->data[first + count].subject == subject)
		count++;
	return (struct table){type, rows->data, count, .first = first,
		.limit = page->options->limit ? page->options->limit : TABLE_NO_LIMIT};
}

/* Of a series: those that changed, unless all are wanted. */
static void changed_show(const struct maps_page *page, struct table *table, size_t **ret_order)
{
	const struct maps_row *rows = table->context;
	size_t *order = calloc(table->count + 1, sizeof(*order)), kept = 0;
	if (!order)
		return;
	for (size_t i = 0; i < table->count; i++) {
		size_t at = table->first + i;
		bool is_listed = page->options->all || maps_row_changed(&rows[at]) ||
				 rows[at].change.changed;
		if (is_listed)
			order[kept++] = at;
	}
	size_t same = table->count - kept;
	table->order = *ret_order = order;
	table->count = kept;
	if (!page->options->limit && !page->options->all)
		table->limit = TEXT_ROWS;
	if (kept)
		answer_table(page->answer, table);
	if (same) {
		text_add_counted(page->prose, same, "mapping", "mappings");
		text_add(page->prose, " did not change (--all shows them).\n");
	}
}

static void trend_show(const struct maps_page *page, const struct maps_subject *subject)
{
	const struct maps_moment_vec *moments = &page->rows->moments;
	size_t first = 0, count = 0;
	while (first < moments->len && moments->data[first].subject != subject)
		first++;
	while (first + count < moments->len && moments->data[first + count].subject == subject)
		count++;
	const struct table table = {&maps_moment_type, moments->data, count, .first = first,
		.limit = TABLE_NO_LIMIT, .hidden = 1};
	text_add(page->prose, "\n");
	answer_table(page->answer, &table);
}

/* Kinds of which there is something. */
static void kinds_show(const struct maps_page *page, const struct maps_subject *subject)
{
	const struct maps_total_vec *totals = &page->rows->totals;
	_cleanup_free_ size_t *order = calloc(totals->len + 1, sizeof(*order));
	size_t count = 0;
	for (size_t i = 0; order && i < totals->len; i++) {
		if (totals->data[i].subject == subject && totals->data[i].fit.most)
			order[count++] = i;
	}
	if (!count)
		return;
	const struct table table = {&maps_kind_type, totals->data, count, .order = order,
		.limit = TABLE_NO_LIMIT,
		.hidden = subject->times_known ? 0 : (uint64_t)1 << (KIND_GROWTH + GROWN_RATE)};
	text_add(page->prose, "\n");
	answer_table(page->answer, &table);
}

/* "node 0: 1200 KB, node 1: 8 KB" */
static void nodes_add(const struct maps_page *page, const struct maps_subject *subject)
{
	const struct maps_total_vec *totals = &page->rows->totals;
	const char *between = "";
	for (size_t i = 0; i < totals->len; i++) {
		const struct maps_total *row = &totals->data[i];
		if (row->subject != subject || row->total->kind != MAPPING_NODE)
			continue;
		text_add(page->prose, between);
		maps_add_kind(row->total, page->prose);
		text_printf(page->prose, ": %" PRIu64 " KB", row->fit.last >> 10);
		between = ", ";
	}
	if (*between)
		text_add(page->prose, "\n");
}

/* "Of 12.0 MiB of writable memory …" */
static void changes_add(const struct maps_row *process, struct text *out)
{
	const struct maps_changes *changes = process->subject->changes;
	if (!changes)
		return;
	if (changes->count) {
		text_add(out, "Of ");
		text_add_bytes(out, process->change.compared);
		text_add(out, " that could be written to and were in memory all the time, ");
		text_add_bytes(out, process->change.changed);
		text_add(out, " are in pages whose contents changed.\n");
	}
	if (changes->unknown) {
		text_add(out,
			changes->count ? "Not all was compared: " : "What changed is not known: ");
		text_add(out, changes->unknown);
		text_add(out, ".\n");
	}
}

static void series_show(const struct maps_page *page, const struct maps_row *process)
{
	_cleanup_free_ size_t *order = NULL;
	const struct maps_subject *subject = process->subject;
	struct table owners = rows_of(page, &maps_owner_type, &page->rows->owners, subject);
	struct table regions = rows_of(page, &maps_region_type, &page->rows->regions, subject);
	uint64_t no_rate = subject->times_known ? 0 : 1;
	owners.hidden = 1 | no_rate << (OWNER_GROWTH + GROWN_RATE);
	owners.limit = TABLE_NO_LIMIT;
	regions.hidden = no_rate << (REGION_GROWTH + GROWN_RATE) | hidden_columns(process);
	maps_add_findings(page->rows, process, page->prose);
	changes_add(process, page->prose);
	if (page->options->trend)
		trend_show(page, subject);
	text_add(page->prose, "\n");
	answer_table(page->answer, &owners);
	kinds_show(page, subject);
	text_add(page->prose, "\n");
	changed_show(page, &regions, &order);
	sums_add(process, page->prose);
}

static void look_show(const struct maps_page *page, const struct maps_row *process)
{
	struct table regions =
		rows_of(page, &maps_region_type, &page->rows->regions, process->subject);
	regions.hidden = GROWTH_BITS(REGION_GROWTH) | hidden_columns(process);
	answer_table(page->answer, &regions);
	sums_add(process, page->prose);
	nodes_add(page, process->subject);
}

static void maps_text_write(const struct maps_page *page)
{
	for (size_t i = 0; i < page->rows->processes.len; i++) {
		const struct maps_row *process = &page->rows->processes.data[i];
		if (i)
			text_add(page->prose, "\n");
		subject_head(process->subject, page->prose);
		if (process->looks > 1)
			series_show(page, process);
		else
			look_show(page, process);
	}
}

static void all_write(const struct maps_page *page)
{
	const struct maps_rows *rows = page->rows;
	size_t limit = page->options->limit ? page->options->limit : TABLE_NO_LIMIT;
	const struct table tables[] = {
		{&maps_process_type, rows->processes.data, rows->processes.len,
			.limit = TABLE_NO_LIMIT},
		{&maps_moment_type, rows->moments.data, rows->moments.len, .limit = TABLE_NO_LIMIT},
		{&maps_owner_type, rows->owners.data, rows->owners.len, .limit = TABLE_NO_LIMIT},
		{&maps_kind_type, rows->totals.data, rows->totals.len, .limit = TABLE_NO_LIMIT},
		{&maps_region_type, rows->regions.data, rows->regions.len, .limit = limit},
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		answer_table(page->answer, &tables[i]);
}

struct error *maps_view_write(const struct maps_subject *subjects, size_t count,
	const struct maps_options *options, const struct sink *sink)
{
	struct maps_rows rows = {.moments = {.data = NULL}};
	if (!maps_rows_fill(&rows, subjects, count)) {
		maps_rows_deinit(&rows);
		return error_no_memory();
	}
	struct answer *answer = options->csv    ? answer_csv_create(sink)
				: options->json ? answer_json_create(sink, false)
						: answer_text_create(sink);
	struct error *error = answer ? NULL : error_no_memory();
	if (answer) {
		answer_begin(answer, &maps_answer_type);
		const struct maps_page page = {&rows, options, answer, answer_prose(answer)};
		if (page.prose)
			maps_text_write(&page);
		else
			all_write(&page);
		error = answer_end(answer);
		answer_destroy(answer);
	}
	maps_rows_deinit(&rows);
	return error;
}
