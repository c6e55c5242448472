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

#include "base/cleanup.h"
#include "base/json.h"
#include "views/report/json_parts.h"
#include "views/report/page.h"
#include "views/report/text_parts.h"

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

/* "+1.19 MiB, 39.7 KiB/s" */
static void add_growth(const struct growth_row *row, struct text *out)
{
	text_add(out, "+");
	text_add_bytes(out, (uint64_t)row->grown_bytes);
	if (row->bytes_per_s >= 1) {
		text_add(out, ", ");
		text_add_bytes(out, (uint64_t)row->bytes_per_s);
		text_add(out, "/s");
	}
}

/* What it comes to, behind its verdict. */
static void add_figures(const struct growth_row *row, struct text *out)
{
	add_graph(row, out);
	text_add(out, "  ");
	if (row->verdict == GROWTH_LEAK) {
		add_growth(row, out);
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
}

static void add_kind(const struct growth_row *row, struct text *out)
{
	if (row->row->sums.kind == KIND_UNKNOWN)
		text_add(out, "  from\n");
	else
		text_printf(out, "  from %s at\n", alloc_kind_name(row->row->sums.kind));
}

static void add_head(const struct growth_row *row, struct text *out)
{
	text_printf(out, "  %s  ", growth_row_text(row));
	add_figures(row, out);
	add_kind(row, out);
}

/* The time that was judged: "… up to 27 s, without the last 10% of the time". */
static void add_title(const struct page *page, const struct growth *growth, struct text *out)
{
	text_printf(out, "\n%s up to ", page->view->title);
	text_add_duration_ns(out, growth->until_ns);
	text_printf(out, ", without the last %u%% of the time", page->options->tail_percent);
}

/* What is not judged. */
static void add_later(
	const struct page *page, const struct growth *growth, const char *side, struct text *out)
{
	_cleanup_(text_deinit) struct text later;
	text_init(&later);
	growth_say_later(growth, page->options->tail_percent, &later);
	if (later.len)
		text_printf(out, "  %s%s", side, later.data);
	out->failed |= later.failed;
}

static void add_compared_row(
	const struct page *page, const struct growth_change_row *row, struct text *out)
{
	const struct growth_row *sides[] = {&row->newer, &row->older};
	for (int i = 0; i < 2; i++) {
		text_printf(out, "  %-6s  ", i ? "before" : "now");
		if (sides[i]->verdict == GROWTH_NONE) {
			text_add(out,
				i && !page->growth_change.older_known ? "not known" : "nothing");
		} else {
			text_printf(out, "%s  ", growth_row_text(sides[i]));
			add_figures(sides[i], out);
		}
		if (i)
			add_kind(&row->newer, out);
		else
			text_add_char(out, '\n');
	}
	text_row_stack(row->newer.row, page->options->all_frames, out);
}

/* Suspects that became so alike, or the places that are none. */
static void add_fate(const struct page *page, enum growth_fate fate, size_t *left, struct text *out)
{
	static const char *const titles[GROWTH_FATES] = {
		[GROWTH_NEW] = "New places that keep growing",
		[GROWTH_STAYS] = "Places that keep growing, as before",
		[GROWTH_GONE] = "Gone: places that kept growing before",
		[GROWTH_OTHER] = "Other places",
	};
	const struct growth_change *change = &page->growth_change;
	size_t count = change->counts[fate], shown = 0;
	if (!count)
		return;
	size_t wanted = count < *left ? count : *left;
	bool unsure = fate == GROWTH_NEW && !change->older_known;
	text_printf(out, "\n%s (", unsure ? "Places that keep growing" : titles[fate]);
	if (wanted < count)
		text_printf(out, "%zu of ", wanted);
	text_add_count(out, count);
	text_add(out, count == 1 ? " place)\n" : " places)\n");
	for (size_t i = 0; i < change->list.len && shown < wanted; i++) {
		const struct growth_change_row *row = &change->list.data[i];
		if (row->fate != fate)
			continue;
		if (fate == GROWTH_OTHER) {
			add_head(&row->newer, out);
			text_row_stack(row->newer.row, page->options->all_frames, out);
		} else {
			add_compared_row(page, row, out);
		}
		shown++;
	}
	*left -= shown;
}

static void text_compared(const struct page *page, struct text *out)
{
	const struct growth_change *change = &page->growth_change;
	size_t left = page->limit;
	text_heading(page->model, out);
	text_add(out, "Compared with ");
	text_add_shown(out, page->options->base->label, 400);
	text_add(out, "\n  ");
	text_heading(page->options->base->model, out);
	text_verdict(&change->verdict, out);
	text_notes(&page->notes, out);
	add_title(page, &change->judged[1], out);
	text_add(out, "; before up to ");
	text_add_duration_ns(out, change->judged[0].until_ns);
	text_add_char(out, '\n');
	add_later(page, &change->judged[1], "Now: ", out);
	add_later(page, &change->judged[0], "Before: ", out);
	for (int fate = 0; fate < GROWTH_FATES; fate++)
		add_fate(page, (enum growth_fate)fate, &left, out);
}

void text_growth(const struct page *page, struct text *out)
{
	if (page->options->base) {
		text_compared(page, out);
		return;
	}
	const struct growth *growth = &page->growth;
	text_heading(page->model, out);
	text_verdict(&growth->verdict, out);
	text_notes(&page->notes, out);
	add_title(page, growth, out);
	size_t shown = growth->rows.len < page->limit ? growth->rows.len : page->limit;
	if (shown < growth->rows.len) {
		text_printf(out, " (%zu of ", shown);
		text_add_count(out, growth->rows.len);
		text_add(out, " places)");
	}
	text_add(out, "\n");
	add_later(page, growth, "", out);
	for (size_t i = 0; i < shown; i++) {
		add_head(&growth->rows.data[i], out);
		text_row_stack(growth->rows.data[i].row, page->options->all_frames, out);
	}
}

/* What is judged of a place, into an object that is open. */
static void put_judged(const struct growth_row *row, struct json *json)
{
	json_put_string(json, "verdict", growth_verdict_name(row->verdict));
	json_key(json, "grown_bytes");
	json_i64(json, row->grown_bytes);
	json_key(json, "bytes_per_second");
	json_i64(json, (int64_t)row->bytes_per_s);
	json_put_u64(json, "highest_bytes", row->highest);
	json_put_u64(json, "bytes", row->live_bytes);
	json_put_u64(json, "blocks", row->live_blocks);
	json_put_u64(json, "end_bytes", row->end_bytes);
	json_put_bool(json, "freed_at_end", growth_was_freed(row));
	json_key(json, "floors");
	json_array_begin(json);
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		json_u64(json, row->floors[i]);
	json_array_end(json);
}

static void put_row(const struct page *page, const struct growth_row *row, struct json *json)
{
	json_object_begin(json);
	put_judged(row, json);
	json_row_members(page, row->row, json);
	json_object_end(json);
}

static void put_compared_row(
	const struct page *page, const struct growth_change_row *row, struct json *json)
{
	json_object_begin(json);
	bool unsure = row->fate == GROWTH_NEW && !page->growth_change.older_known;
	json_put_string(json, "suspect", unsure ? "unknown" : growth_fate_name(row->fate));
	put_judged(&row->newer, json);
	json_key(json, "older");
	json_object_begin(json);
	put_judged(&row->older, json);
	json_object_end(json);
	json_row_members(page, row->newer.row, json);
	json_object_end(json);
}

/* What was judged, into an object that is open. */
static void put_span(const struct growth *growth, struct json *json)
{
	json_put_u64(json, "from_ns", growth->from_ns);
	json_put_u64(json, "until_ns", growth->until_ns);
	json_put_u64(json, "moments", growth->moments);
	json_key(json, "left_out");
	json_object_begin(json);
	json_put_u64(json, "places", growth->later_places);
	json_put_u64(json, "bytes", growth->later_bytes);
	json_object_end(json);
	json_key(json, "stacks");
	json_object_begin(json);
	json_put_string(json, "verdict", growth_verdict_name(growth->stacks.verdict));
	json_put_u64(json, "highest_bytes", growth->stacks.highest);
	json_put_u64(json, "bytes", growth->stacks.live_bytes);
	json_object_end(json);
}

static void put_compared(const struct page *page, struct json *json)
{
	const struct growth_change *change = &page->growth_change;
	json_put_lines(json, "verdict", &change->verdict);
	json_key(json, "growth");
	json_object_begin(json);
	put_span(&change->judged[1], json);
	json_key(json, "older");
	json_object_begin(json);
	json_put_older(page, json);
	put_span(&change->judged[0], json);
	json_object_end(json);
	json_put_u64(json, "places_total", change->list.len);
	json_key(json, "places");
	json_array_begin(json);
	for (size_t i = 0; i < change->list.len && i < page->limit; i++)
		put_compared_row(page, &change->list.data[i], json);
	json_array_end(json);
	json_object_end(json);
}

void json_growth(const struct page *page, struct json *json)
{
	const struct growth *growth = &page->growth;
	if (page->options->base) {
		put_compared(page, json);
		return;
	}
	json_put_lines(json, "verdict", &growth->verdict);
	json_key(json, "growth");
	json_object_begin(json);
	put_span(growth, json);
	json_put_u64(json, "places_total", growth->rows.len);
	json_key(json, "places");
	json_array_begin(json);
	for (size_t i = 0; i < growth->rows.len && i < page->limit; i++)
		put_row(page, &growth->rows.data[i], json);
	json_array_end(json);
	json_object_end(json);
}
