/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/library_own.h"

#include <string.h>

#include "analysis/suppress_stack.h"
#include "base/cleanup.h"
#include "base/util.h"

static struct error *create_table(struct suppressions **ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	suppress_built_in_text(&text, SUPPRESS_LIBRARY_OWN);
	if (text.failed)
		return error_no_memory();
	struct error *error = suppressions_create(ret);
	return error ? error : suppressions_parse(*ret, "built-in", text.data, text.len);
}

/* The frames behind the allocation function, which the resolver shows on demand. */
static size_t first_frame(const struct row *row)
{
	const struct shown_frame *innermost = row->depth ? row->frames[0] : NULL;
	return innermost && innermost->function && !innermost->module && !innermost->address;
}

/* Between the allocation function and where an entry ends all is the libraries' own code. */
static bool may_be_own(const struct row *row)
{
	size_t first = first_frame(row);
	return row->depth > first && row->frames[first]->module && !row->frames[first]->is_program;
}

/* Sets ret_id to an entry that holds for the stack, whatever a search found its blocks to be. */
static struct error *match_kinds(struct suppressions *table,
	const struct suppress_frame_vec *frames, unsigned kinds, uint32_t *ret_id)
{
	static const enum suppress_kind names[LEAK_KINDS] = {
		[LEAK_DEFINITE] = SUPPRESS_DEFINITE,
		[LEAK_INDIRECT] = SUPPRESS_INDIRECT,
		[LEAK_POSSIBLE] = SUPPRESS_POSSIBLE,
		[LEAK_REACHABLE] = SUPPRESS_REACHABLE,
	};
	struct error *error = NULL;
	/* Nobody searched: all may be reachable. */
	unsigned left = kinds ? kinds : 1u << LEAK_REACHABLE;
	for (unsigned kind = 0; kind < LEAK_KINDS && !error; kind++) {
		if (!(left >> kind & 1))
			continue;
		error = suppressions_match(table, frames->data, frames->len, names[kind], ret_id);
		if (*ret_id == SUPPRESS_NONE)
			break;
	}
	return error;
}

static struct error *mark_row(struct rows *rows, struct suppressions *table,
	struct suppress_frame_vec *frames, uint64_t recordings, struct row *row)
{
	size_t first = first_frame(row);
	uint32_t id = SUPPRESS_NONE;
	struct error *error = suppress_shown_stack(
		row->frames + first, row->depth - first, row->sums.kind, frames);
	if (!error)
		error = match_kinds(table, frames, row->leak_kinds, &id);
	if (error || id == SUPPRESS_NONE)
		return error;
	/* No answer may depend on files that users don't have. */
	const char *name = suppressions_get(table, id)->name;
	if (suppress_built_in_is_hidden(name) ||
		!suppress_built_in_is_bounded(
			name, row->sums.live_blocks, row->sums.live_bytes, recordings))
		return NULL;
	row->library = arena_strdup(&rows->arena, name);
	return row->library ? NULL : error_no_memory();
}

struct error *library_own_mark(struct rows *rows, uint64_t recordings)
{
	_cleanup_(suppressions_cleanup) struct suppressions *table = NULL;
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	struct error *error = NULL;
	for (size_t i = 0; i < rows->rows.len && !error; i++) {
		struct row *row = &rows->rows.data[i];
		row->library = NULL;
		if (!may_be_own(row))
			continue;
		if (!table)
			error = create_table(&table);
		if (!error)
			error = mark_row(rows, table, &frames, recordings, row);
	}
	return error;
}

void library_own_forget(struct rows *rows)
{
	for (size_t i = 0; i < rows->rows.len; i++)
		rows->rows.data[i].library = NULL;
}

void library_own_sum(const struct rows *rows, struct site *ret)
{
	for (size_t i = 0; i < rows->rows.len; i++)
		if (rows->rows.data[i].library)
			site_add(ret, &rows->rows.data[i].sums);
}

struct totals library_own_left(const struct totals *totals, const struct rows *rows)
{
	struct site own = {0};
	struct totals left = *totals;
	library_own_sum(rows, &own);
	left.live_blocks -= min(own.live_blocks, left.live_blocks);
	left.live_bytes -= min(own.live_bytes, left.live_bytes);
	left.kept_blocks -= min(own.kept_blocks, left.kept_blocks);
	left.kept_bytes -= min(own.kept_bytes, left.kept_bytes);
	left.spread.live_blocks = max(left.spread.live_blocks - own.spread.live_blocks, 0.0);
	left.spread.live_bytes = max(left.spread.live_bytes - own.spread.live_bytes, 0.0);
	return left;
}

const char *library_own_reason(const char *library)
{
	return suppress_built_in_reason(library);
}
