/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/python/traced_lines.h"

#include "capture/writer/columns.h"
#include "format/traced.h"

#define PAGE_BYTES 4096u

void traced_lines_deinit(struct traced_lines *lines)
{
	for (size_t i = 0; i < lines->open.len; i++)
		traced_call_vec_deinit(&lines->open.data[i]);
	traced_thread_vec_deinit(&lines->open);
	traced_map_deinit(&lines->rows);
}

/* The open calls of a thread; NULL: no memory. */
static struct traced_call_vec *calls_of(struct traced_lines *lines, uint32_t thread)
{
	while (lines->open.len <= thread) {
		if (!traced_thread_vec_push(&lines->open, (struct traced_call_vec){0}))
			return NULL;
	}
	return &lines->open.data[thread];
}

/* The figures of a line; NULL: no memory, or no room (then *ret_ok stays true). */
static struct traced_figures *figures_of(
	struct traced_lines *lines, struct traced_place place, bool *ret_ok)
{
	struct traced_figures *found = traced_map_find(&lines->rows, place);
	if (found)
		return found;
	/* One row is kept for those that are left out. */
	if (lines->rows.len >= HPW_TRACED_MAX / 2 - 1)
		return NULL;
	found = traced_map_insert(&lines->rows, place, NULL);
	*ret_ok &= found != NULL;
	return found;
}

/* A call comes to a line, or goes on in it. */
static bool line_begins(struct traced_lines *lines, const struct traced_call *call, bool counts)
{
	bool ok = true;
	struct traced_figures *figures = figures_of(lines, call->place, &ok);
	if (!figures) {
		lines->left_out += counts;
		return ok;
	}
	figures->count += counts;
	if (figures->open++ == 0)
		figures->since_pages = call->pages;
	return ok;
}

/* The line that a call is in ends. Further out calls of the same function may be in it, too, and
 * those of other threads: what grows in all of them counts once. */
static void line_ends(struct traced_lines *lines, const struct traced_call *call, uint64_t pages)
{
	struct traced_figures *figures = traced_map_find(&lines->rows, call->place);
	if (!figures || !figures->open)
		return;
	if (pages > figures->largest_pages)
		figures->largest_pages = pages;
	if (--figures->open)
		return;
	if (pages && figures->since_pages)
		figures->growth_pages += (int64_t)(pages - figures->since_pages);
	else
		figures->unsized++;
}

static bool call_open(
	struct traced_lines *lines, struct traced_call_vec *calls, const struct traced_call *call)
{
	if (lines->open_count >= TRACED_OPEN_MAX) {
		lines->left_out++;
		return true;
	}
	if (!traced_call_vec_push(calls, *call))
		return false;
	lines->open_count++;
	return true;
}

/* The innermost open call ends, at this size. */
static void call_close(struct traced_lines *lines, struct traced_call_vec *calls, uint64_t pages)
{
	line_ends(lines, &calls->data[--calls->len], pages);
	lines->open_count--;
}

/* The innermost open call of a code; NULL: none. Those further in have ended, unseen. */
static struct traced_call *call_find(
	struct traced_lines *lines, struct traced_call_vec *calls, const struct traced_call *now)
{
	size_t depth = calls->len;
	while (depth && calls->data[depth - 1].place.code != now->place.code)
		depth--;
	if (!depth)
		return NULL;
	while (calls->len > depth)
		call_close(lines, calls, now->pages);
	return &calls->data[depth - 1];
}

bool traced_lines_add(
	struct traced_lines *lines, uint32_t thread, uint64_t place, uint64_t size_and_what)
{
	const struct traced_call now = {
		{(uint32_t)(place >> 32), (uint32_t)place}, size_and_what >> HW_TRACED_BITS};
	enum hw_traced what = (enum hw_traced)(size_and_what & ((1u << HW_TRACED_BITS) - 1));
	if (!now.place.code || now.place.code >= HW_CODES_MAX)
		return true; /* nonsense: the target writes it */
	struct traced_call_vec *calls = calls_of(lines, thread);
	if (!calls)
		return false;
	if (what == HW_TRACED_CALL || what == HW_TRACED_RESUME)
		return call_open(lines, calls, &now) &&
		       line_begins(lines, &now, what == HW_TRACED_CALL);
	struct traced_call *call = call_find(lines, calls, &now);
	if (what == HW_TRACED_RETURN) {
		if (call)
			call_close(lines, calls, now.pages);
		return true;
	}
	if (!call)
		return call_open(lines, calls, &now) && line_begins(lines, &now, true);
	line_ends(lines, call, now.pages);
	*call = now;
	return line_begins(lines, &now, true);
}

bool traced_lines_due(const struct traced_lines *lines, bool end)
{
	return lines->rows.len && (end || lines->written + lines->rows.len <= HPW_TRACED_MAX / 2);
}

static void row_put(struct columns *c, struct traced_place place, const struct traced_figures *row)
{
	const uint64_t values[HPW_TRACED_COLUMNS] = {
		[HPW_TRACED_CODE] = place.code,
		[HPW_TRACED_LINE] = place.line,
		[HPW_TRACED_COUNT] = row->count,
		[HPW_TRACED_GROWTH] = zigzag_encode(row->growth_pages * PAGE_BYTES),
		[HPW_TRACED_LARGEST] = row->largest_pages * PAGE_BYTES,
		[HPW_TRACED_UNSIZED] = row->unsized,
	};
	for (unsigned k = 0; k < HPW_TRACED_COLUMNS; k++)
		columns_add(c, k, values[k]);
}

bool traced_lines_put(struct traced_lines *lines, struct buf *ret)
{
	struct columns c;
	columns_init(&c, HPW_TRACED_COLUMNS);
	uint32_t index = 0;
	const struct traced_place *place;
	struct traced_figures *row;
	while ((row = traced_map_next(&lines->rows, &index, &place))) {
		if (!row->count && !row->growth_pages && !row->unsized && !row->largest_pages)
			continue;
		row_put(&c, *place, row);
		lines->written++;
		*row = (struct traced_figures){.open = row->open, .since_pages = row->since_pages};
	}
	const struct traced_figures left_out = {.count = lines->left_out};
	if (left_out.count) {
		row_put(&c, (struct traced_place){0}, &left_out);
		lines->written++;
		lines->left_out = 0;
	}
	return columns_finish(&c, ret);
}
