/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_marks.h"

#include <stdlib.h>

#include "base/cleanup.h"

void hpw_marks_init(struct hpw_marks *marks, const struct hpw_clock *clock)
{
	*marks = (struct hpw_marks){.clock = clock};
	hpw_mark_rows_init(&marks->rows);
}

void hpw_marks_deinit(struct hpw_marks *marks)
{
	for (size_t i = 0; i < marks->rows.len; i++)
		free(marks->rows.data[i].name);
	hpw_mark_rows_deinit(&marks->rows);
}

static struct error *hpw_marks_add(
	struct hpw_marks *marks, const struct mark *row, const char *name, size_t len)
{
	if (!hpw_mark_is_users(name, len))
		return NULL;
	struct hpw_mark_row added = {.row = *row, .name = strndup(name, len)};
	if (added.name && hpw_mark_rows_push(&marks->rows, added))
		return NULL;
	free(added.name);
	return error_no_memory();
}

bool hpw_marks_suit(const struct hpw_ranges *parts)
{
	for (size_t i = 0; i < parts->marks.len; i++)
		if (!parts->marks.data[i].has_figures)
			return false;
	return true;
}

struct error *hpw_marks_sum_up(struct hpw_marks *marks, const struct hpw_ranges *parts)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < parts->marks.len; i++) {
		const struct hpw_range_mark *from = &parts->marks.data[i];
		const struct mark row = {.step = from->step + 1,
			.time_ns = hpw_clock_ns(marks->clock, from->stamp),
			.live_blocks = from->live_blocks,
			.live_bytes = from->live_bytes};
		error = hpw_marks_add(marks, &row, from->name, strlen(from->name));
	}
	return error;
}

static struct error *on_mark(
	void *context, const struct hpw_replay *replay, const char *name, size_t len)
{
	struct hpw_marks *marks = context;
	struct mark row = {.step = replay->step + 1,
		.time_ns = hpw_clock_ns(marks->clock, replay->stamp),
		.live_blocks = replay->heap.live_blocks,
		.live_bytes = replay->heap.live_bytes};
	if (replay->estimate.mean_bytes > 0) {
		row.live_blocks = replay->estimate.whole.live.blocks;
		row.live_bytes = replay->estimate.whole.live.bytes;
	}
	return hpw_marks_add(marks, &row, name, len);
}

void hpw_marks_watch(struct hpw_marks *marks, struct hpw_replay *replay)
{
	replay->on_mark = on_mark;
	replay->watch_context = marks;
}

static int by_name(const void *left, const void *right)
{
	/* Pointers into one array: their order is that in time. */
	const struct hpw_mark_row *a = *(const struct hpw_mark_row *const *)left;
	const struct hpw_mark_row *b = *(const struct hpw_mark_row *const *)right;
	int order = strcmp(a->name, b->name);
	return order ? order : a < b ? -1 : a > b;
}

/* Numbers those of the same name. */
static struct error *hpw_marks_number(struct hpw_marks *marks)
{
	size_t len = marks->rows.len;
	_cleanup_free_ struct hpw_mark_row **sorted = malloc((len + 1) * sizeof(*sorted));
	if (!sorted)
		return error_no_memory();
	for (size_t i = 0; i < len; i++)
		sorted[i] = &marks->rows.data[i];
	qsort(sorted, len, sizeof(*sorted), by_name);
	for (size_t i = 0; i < len; i++) {
		bool again = i && strcmp(sorted[i - 1]->name, sorted[i]->name) == 0;
		sorted[i]->row.nth = again ? sorted[i - 1]->row.nth + 1 : 1;
	}
	return NULL;
}

struct error *hpw_marks_put(
	struct hpw_marks *marks, struct model *model, uint64_t from_step, uint64_t to_step)
{
	struct error *error = hpw_marks_number(marks);
	for (size_t i = 0; !error && i < marks->rows.len; i++) {
		const struct hpw_mark_row *from = &marks->rows.data[i];
		if (from->row.step >= from_step && from->row.step <= to_step)
			error = build_mark(model, &from->row, from->name, strlen(from->name));
	}
	return error;
}
