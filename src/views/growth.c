/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view growth:
 *
 *   leak suspect: keeps growing  ▁▁▂▃▃▄▅▅▆▇▇█  +1.19 MiB, 39.7 KiB/s; 1.21 MiB in 1,204 blocks from
 * malloc at read_line  input.c:41  [app]
 *
 * The little graph is the least that was live in each twelfth of the time, from nothing up to the
 * most.
 */
#include "analysis/growth.h"

#include "base/json.h"
#include "views/json_parts.h"
#include "views/page.h"
#include "views/text_parts.h"

static void add_graph(const struct growth_row *row, struct text *out)
{
	static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	uint64_t most = 1;
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		if (row->floors[i] > most)
			most = row->floors[i];
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		text_add(out, levels[(unsigned)((double)row->floors[i] / (double)most * 7 + 0.5)]);
}

static void add_head(const struct growth_row *row, struct text *out)
{
	text_printf(out, "  %s  ", growth_verdict_text(row->verdict));
	add_graph(row, out);
	text_add(out, "  ");
	if (row->verdict == GROWTH_LEAK) {
		text_add(out, "+");
		text_add_bytes(out, (uint64_t)row->grown_bytes);
		if (row->bytes_per_s >= 1) {
			text_add(out, ", ");
			text_add_bytes(out, (uint64_t)row->bytes_per_s);
			text_add(out, "/s");
		}
		text_add(out, "; ");
	} else if (row->verdict == GROWTH_BURST || row->verdict == GROWTH_STEADY) {
		text_add(out, "up to ");
		text_add_bytes(out, row->highest);
		text_add(out, "; ");
	}
	text_add_bytes(out, row->live_bytes);
	text_add(out, " in ");
	text_add_count(out, row->live_blocks);
	text_printf(out, " %s", row->live_blocks == 1 ? "block" : "blocks");
	if (row->row->sums.kind == KIND_UNKNOWN)
		text_add(out, "  from\n");
	else
		text_printf(out, "  from %s at\n", alloc_kind_name(row->row->sums.kind));
}

void text_growth(const struct page *page, struct text *out)
{
	const struct growth *growth = &page->growth;
	text_heading(page->model, out);
	text_verdict(&growth->verdict, out);
	text_notes(&page->notes, out);
	text_printf(out, "\n%s up to ", page->view->title);
	text_add_duration_ns(out, growth->until_ns);
	text_printf(out, ", without the last %u%% of the time", page->options->tail_percent);
	size_t shown = growth->rows.len < page->limit ? growth->rows.len : page->limit;
	if (shown < growth->rows.len) {
		text_printf(out, " (%zu of ", shown);
		text_add_count(out, growth->rows.len);
		text_add(out, " places)");
	}
	text_add(out, "\n");
	for (size_t i = 0; i < shown; i++) {
		add_head(&growth->rows.data[i], out);
		text_row_stack(growth->rows.data[i].row, page->options->all_frames, out);
	}
}

static void put_row(const struct page *page, const struct growth_row *row, struct json *json)
{
	json_object_begin(json);
	json_put_string(json, "verdict", growth_verdict_name(row->verdict));
	json_key(json, "grown_bytes");
	json_i64(json, row->grown_bytes);
	json_key(json, "bytes_per_second");
	json_i64(json, (int64_t)row->bytes_per_s);
	json_put_u64(json, "highest_bytes", row->highest);
	json_put_u64(json, "bytes", row->live_bytes);
	json_put_u64(json, "blocks", row->live_blocks);
	json_put_u64(json, "end_bytes", row->end_bytes);
	json_key(json, "floors");
	json_array_begin(json);
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		json_u64(json, row->floors[i]);
	json_array_end(json);
	json_row_members(page, row->row, json);
	json_object_end(json);
}

void json_growth(const struct page *page, struct json *json)
{
	const struct growth *growth = &page->growth;
	json_put_lines(json, "verdict", &growth->verdict);
	json_key(json, "growth");
	json_object_begin(json);
	json_put_u64(json, "from_ns", growth->from_ns);
	json_put_u64(json, "until_ns", growth->until_ns);
	json_put_u64(json, "moments", growth->moments);
	json_key(json, "stacks");
	json_object_begin(json);
	json_put_string(json, "verdict", growth_verdict_name(growth->stacks.verdict));
	json_put_u64(json, "highest_bytes", growth->stacks.highest);
	json_put_u64(json, "bytes", growth->stacks.live_bytes);
	json_object_end(json);
	json_put_u64(json, "places_total", growth->rows.len);
	json_key(json, "places");
	json_array_begin(json);
	for (size_t i = 0; i < growth->rows.len && i < page->limit; i++)
		put_row(page, &growth->rows.data[i], json);
	json_array_end(json);
	json_object_end(json);
}
