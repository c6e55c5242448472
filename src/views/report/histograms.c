/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view lifetimes: histograms with bars. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"
#include "views/report/histogram_axis.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

#define BAR_WIDTH TEXT_BAR_WIDTH
#define BAR_PARTS 8u

/* As long as value is of the most, in eighths of a character, then blanks. */
void text_add_bar(struct text *out, uint64_t value, uint64_t most)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned eighths =
		most ? (unsigned)((double)value / (double)most * BAR_WIDTH * BAR_PARTS + 0.5) : 0;
	if (value && !eighths)
		eighths = 1;
	unsigned width = (eighths + BAR_PARTS - 1) / BAR_PARTS;
	for (unsigned i = 0; i < eighths / BAR_PARTS; i++)
		text_add(out, "█");
	text_add(out, parts[eighths % BAR_PARTS]);
	text_printf(out, "%*s", (int)(BAR_WIDTH - width), "");
}

static void add_cell(
	struct text *out, void (*add)(struct text *text, uint64_t value), uint64_t value, int width)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	add(&cell, value);
	/* "µ" is one character of two bytes. */
	int bytes = cell.data && strstr(cell.data, "µ") ? 1 : 0;
	text_printf(out, "%*s", width + bytes, cell.data ? cell.data : "");
}

void text_add_padded_bytes(struct text *out, uint64_t bytes, int width)
{
	add_cell(out, text_add_bytes, bytes, width);
}

void life_bounds(const struct life_count *counts, unsigned *ret_first, unsigned *ret_end)
{
	*ret_first = *ret_end = 0;
	for (unsigned i = 0; i < LIFE_BUCKETS; i++) {
		if (!counts[i].freed_blocks && !counts[i].live_blocks)
			continue;
		if (!*ret_end)
			*ret_first = i;
		*ret_end = i + 1;
	}
}

const struct life_axis life_by_time = {"lived", "too short", text_add_duration_ns};
const struct life_axis life_by_others = {"allocations", "none", text_add_count};

void life_add_bound(const struct life_axis *axis, unsigned bucket, struct text *out)
{
	bool last = bucket + 1 == LIFE_BUCKETS;
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	if (bucket == 0) {
		text_add(&cell, axis->least);
	} else {
		text_add(&cell, last ? "> " : "≤ ");
		axis->add(&cell, life_bucket_most(last ? bucket - 1 : bucket));
	}
	size_t shown = 0;
	for (size_t i = 0; i < cell.len; i++)
		shown += (cell.data[i] & 0xc0) != 0x80;
	text_printf(
		out, "%*s%s", shown < 16 ? (int)(16 - shown) : 0, "", cell.data ? cell.data : "");
}

static void add_histogram(
	const struct life_count *counts, const struct life_axis *axis, struct text *out)
{
	unsigned first, end;
	uint64_t most = 0;
	life_bounds(counts, &first, &end);
	for (unsigned i = first; i < end; i++) {
		most = max(most, counts[i].freed_blocks);
		most = max(most, counts[i].live_blocks);
	}
	text_printf(out, "\n%16s%14s%13s  %-*s%14s%13s\n", axis->title, "freed", "bytes",
		(int)BAR_WIDTH, "", "never freed", "bytes");
	bool any = false;
	for (unsigned i = first; i < end; i++) {
		const struct life_count *count = &counts[i];
		/* Between what is too short to tell and the shortest that is not lies nothing. */
		any |= i && (count->freed_blocks || count->live_blocks);
		if (i && !any)
			continue;
		life_add_bound(axis, i, out);
		add_cell(out, text_add_count, count->freed_blocks, 14);
		add_cell(out, text_add_bytes, count->freed_bytes, 13);
		text_add(out, "  ");
		text_add_bar(out, count->freed_blocks, most);
		add_cell(out, text_add_count, count->live_blocks, 14);
		add_cell(out, text_add_bytes, count->live_bytes, 13);
		text_add(out, "\n");
	}
	if (first == end)
		text_add(out, "  no blocks\n");
}

void text_lifetimes(const struct page *page, struct text *out)
{
	const struct lifetimes *lifetimes = model_lifetimes(page->model);
	text_heading(page->model, out);
	text_notes(&page->notes, out);
	text_printf(out, "\n%s, by time\n", page->view->title);
	add_histogram(lifetimes->by_time, &life_by_time, out);
	text_printf(out, "\n%s, by allocations of the process in between\n", page->view->title);
	add_histogram(lifetimes->by_others, &life_by_others, out);
}

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct life_count, name)                                           \
	}
const struct json_member life_members[LIFE_MEMBERS] = {
	MEMBER(freed_blocks),
	MEMBER(freed_bytes),
	MEMBER(live_blocks),
	MEMBER(live_bytes),
};
#undef MEMBER

void json_put_life(
	struct json *json, const char *bound, unsigned bucket, const struct life_count *count)
{
	json_key(json, bound);
	if (bucket + 1 == LIFE_BUCKETS)
		json_null(json);
	else
		json_u64(json, life_bucket_most(bucket));
	json_put_members(json, life_members, LIFE_MEMBERS, count);
}

static void put_histogram(
	struct json *json, const char *key, const char *bound, const struct life_count *counts)
{
	unsigned first, end;
	life_bounds(counts, &first, &end);
	json_key(json, key);
	json_array_begin(json);
	for (unsigned i = first; i < end; i++) {
		json_object_begin(json);
		json_put_life(json, bound, i, &counts[i]);
		json_object_end(json);
	}
	json_array_end(json);
}

void json_lifetimes(const struct page *page, struct json *json)
{
	const struct lifetimes *lifetimes = model_lifetimes(page->model);
	json_key(json, "lifetimes");
	json_object_begin(json);
	put_histogram(json, "by_time", "up_to_ns", lifetimes->by_time);
	put_histogram(json, "by_allocations", "up_to", lifetimes->by_others);
	json_object_end(json);
}
