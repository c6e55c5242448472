/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See filter.h. A frame is asked once which patterns it fits, whatever the number of stacks that it
 * is in.
 */
#include "analysis/filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

#define BIT(part) (1u << (part))

static const char *const part_names[] = {
	[FILTER_FOCUS] = "focus",
	[FILTER_IGNORE] = "ignore",
	[FILTER_HIDE] = "hide",
	[FILTER_SHOW] = "show",
	[FILTER_SHOW_FROM] = "show-from",
};
static_assert(ARRAY_SIZE(part_names) == FILTER_PARTS, "each part has a name");

const char *filter_part_name(enum filter_part part)
{
	return part_names[part];
}

void filter_deinit(struct filter *filter)
{
	for (int i = 0; i < FILTER_PARTS; i++)
		pattern_destroy(filter->patterns[i]);
	*filter = (struct filter){.by_kind = false};
}

struct error *filter_set(struct filter *filter, enum filter_part part, const char *text)
{
	struct pattern *pattern = NULL;
	struct error *error = pattern_create(text, &pattern);
	if (error)
		return error_prefix(error, "--%s", part_names[part]);
	pattern_destroy(filter->patterns[part]);
	filter->patterns[part] = pattern;
	return NULL;
}

bool filter_add_kind(struct filter *filter, const char *name)
{
	bool found = false;
	for (int kind = 0; kind < ALLOC_KINDS; kind++) {
		if (strcmp(alloc_kind_name((enum alloc_kind)kind), name) != 0)
			continue;
		filter->kinds[kind] = true;
		found = true;
	}
	filter->by_kind |= found;
	return found;
}

void filter_add_kind_names(struct text *text)
{
	for (int kind = 0; kind < ALLOC_KINDS; kind++) {
		const char *name = alloc_kind_name((enum alloc_kind)kind);
		/* Forms of one operator share its name. */
		if (kind <= KIND_NEW_ARRAY || kind >= KIND_MMAP)
			text_printf(text, "%s%s", kind ? ", " : "", name);
	}
}

void filter_add_options(const struct filter *filter, struct text *text)
{
	const char *joint = "";
	for (int i = 0; i < FILTER_PARTS; i++) {
		if (!filter->patterns[i])
			continue;
		text_printf(text, "%s--%s '", joint, part_names[i]);
		text_add_shown(text, pattern_text(filter->patterns[i]), SIZE_MAX);
		text_add_char(text, '\'');
		joint = " ";
	}
	for (int kind = 0; filter->by_kind && kind < ALLOC_KINDS; kind++) {
		if (!filter->kinds[kind] || (kind > KIND_NEW_ARRAY && kind < KIND_MMAP))
			continue;
		text_printf(text, "%s--kind '%s'", joint, alloc_kind_name((enum alloc_kind)kind));
		joint = " ";
	}
}

bool filter_has_patterns(const struct filter *filter)
{
	for (unsigned i = 0; i < FILTER_PARTS; i++)
		if (filter->patterns[i])
			return true;
	return false;
}

bool filter_is_given(const struct filter *filter)
{
	if (!filter)
		return false;
	for (int i = 0; i < FILTER_PARTS; i++)
		if (filter->patterns[i])
			return true;
	return filter->by_kind;
}

static uint64_t hash_frame(const struct shown_frame *frame)
{
	return hash_u64((uintptr_t)frame);
}

static bool same_frame(const struct shown_frame *a, const struct shown_frame *b)
{
	return a == b;
}

/* Stacks that follow one another mostly have the same outer frames: what the frame fits that came
 * last so many frames inward of the outermost one. */
#define LATEST_DEPTHS 64u

struct latest_fits {
	const struct shown_frame *frame; /* NULL: none yet */
	unsigned fits;
};

/* Which parts a frame fits, as bits. */
DEFINE_MAP(fits_map, const struct shown_frame *, unsigned, hash_frame, same_frame)
DEFINE_MAP(row_map, struct row_key, uint32_t, row_key_hash, row_key_equal)

struct filtering {
	const struct filter *filter;
	struct fits_map fits;
	struct latest_fits latest[LATEST_DEPTHS];
	struct row_map map;
	struct frame_vec left; /* of the current row */
	unsigned met;          /* parts that fitted any frame */
	struct rows *ret;
};

void filtered_init(struct filtered *filtered)
{
	rows_init(&filtered->rows);
	filtered->row_of = NULL;
}

void filtered_deinit(struct filtered *filtered)
{
	rows_deinit(&filtered->rows);
	free(filtered->row_of);
	filtered->row_of = NULL;
}

static unsigned find_fits(const struct filter *filter, const struct shown_frame *frame)
{
	unsigned fits = 0;
	for (int i = 0; i < FILTER_PARTS; i++) {
		const struct pattern *pattern = filter->patterns[i];
		if (pattern && frame->mark == MARK_NONE &&
			(pattern_match(pattern, frame->function) ||
				pattern_match(pattern, frame->brief) ||
				pattern_match(pattern, frame->file) ||
				pattern_match(pattern, frame->module_path)))
			fits |= BIT(i);
	}
	return fits;
}

static struct error *frame_fits(
	struct filtering *at, const struct shown_frame *frame, unsigned *ret)
{
	bool is_new;
	unsigned *known = fits_map_insert(&at->fits, frame, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		*known = find_fits(at->filter, frame);
		at->met |= *known;
	}
	*ret = *known;
	return NULL;
}

/* As frame_fits(), of a frame that is so far inward of the outermost one of its stack. */
static struct error *fits_at_depth(
	struct filtering *at, const struct shown_frame *frame, size_t depth, unsigned *ret)
{
	if (depth >= LATEST_DEPTHS)
		return frame_fits(at, frame, ret);
	struct latest_fits *latest = &at->latest[depth];
	if (latest->frame != frame) {
		struct error *error = frame_fits(at, frame, &latest->fits);
		latest->frame = error ? NULL : frame;
		if (error)
			return error;
	}
	*ret = latest->fits;
	return NULL;
}

/* Whether hide and show leave a frame; marks say something of their neighbours, so they stay. */
static bool is_left(const struct filter *filter, const struct shown_frame *frame, unsigned fits)
{
	if (frame->mark != MARK_NONE)
		return true;
	return !(fits & BIT(FILTER_HIDE)) &&
	       (!filter->patterns[FILTER_SHOW] || (fits & BIT(FILTER_SHOW)));
}

static bool has_code(const struct frame_vec *frames)
{
	for (size_t i = 0; i < frames->len; i++)
		if (frames->data[i]->mark == MARK_NONE)
			return true;
	return false;
}

/* Sets at->left to what is shown of a row's stack; *ret_kept false: the row is dropped. */
static struct error *cut_stack(struct filtering *at, const struct row *row, bool *ret_kept)
{
	const struct filter *filter = at->filter;
	unsigned all = 0;
	size_t shown_from = 0; /* frames up to the outermost that fits show-from */
	at->left.len = 0;
	for (size_t i = 0; i < row->depth; i++) {
		unsigned fits = 0;
		struct error *error = fits_at_depth(at, row->frames[i], row->depth - 1 - i, &fits);
		if (error)
			return error;
		all |= fits;
		if (!is_left(filter, row->frames[i], fits))
			continue;
		if (!frame_vec_push(&at->left, row->frames[i]))
			return error_no_memory();
		if (fits & BIT(FILTER_SHOW_FROM))
			shown_from = at->left.len;
	}
	bool cuts = filter->patterns[FILTER_SHOW] || at->left.len < row->depth;
	*ret_kept = !(all & BIT(FILTER_IGNORE)) &&
		    (!filter->patterns[FILTER_FOCUS] || (all & BIT(FILTER_FOCUS))) &&
		    (!cuts || has_code(&at->left));
	if (filter->patterns[FILTER_SHOW_FROM]) {
		*ret_kept &= shown_from > 0;
		at->left.len = shown_from;
	}
	return NULL;
}

static struct error *filter_add_row(
	struct filtering *at, const struct row *row, uint32_t *ret_number)
{
	struct row_key key = {at->left.data, at->left.len, row->sums->kind};
	uint32_t *known = row_map_find(&at->map, key);
	if (known) {
		struct row *group = &at->ret->rows.data[*known];
		if (!row_add(group, row, &at->ret->arena))
			return error_no_memory();
		group->partial |= row->partial;
		group->library = row->library ? group->library : NULL;
		*ret_number = *known;
		return NULL;
	}
	const struct shown_frame **frames =
		arena_alloc(&at->ret->arena, (key.depth + 1) * sizeof(*frames));
	if (!frames)
		return error_no_memory();
	if (key.depth)
		memcpy(frames, key.frames, key.depth * sizeof(*frames));
	struct row copy = row_copy(row);
	copy.frames = key.frames = frames;
	copy.depth = (uint32_t)key.depth;
	bool is_new;
	known = row_map_insert(&at->map, key, &is_new);
	if (!known || !row_vec_push(&at->ret->rows, copy))
		return error_no_memory();
	*ret_number = *known = (uint32_t)at->ret->rows.len - 1;
	return NULL;
}

static struct error *filter_rows(struct filtering *at, const struct rows *from, uint32_t *row_of)
{
	for (size_t i = 0; i < from->rows.len; i++) {
		const struct row *row = &from->rows.data[i];
		row_of[i] = ROWS_NONE;
		if (at->filter->by_kind && !at->filter->kinds[row->sums->kind])
			continue;
		bool kept = false;
		struct error *error = cut_stack(at, row, &kept);
		if (!error && kept)
			error = filter_add_row(at, row, &row_of[i]);
		if (error)
			return error;
	}
	for (size_t i = 0; i < at->ret->rows.len; i++)
		row_conclude(&at->ret->rows.data[i]);
	return NULL;
}

/* What is shown of how much. */
static void add_note(const struct filtering *at, const struct rows *from, struct text *notes)
{
	text_add(notes, "Showing ");
	filter_add_options(at->filter, notes);
	text_add(notes, ": ");
	text_add_count(notes, at->ret->rows.len);
	text_add(notes, " of ");
	text_add_counted(notes, from->rows.len, "allocation site", "allocation sites");
	text_add(notes, "; percentages are of the whole process.\n");
	for (int i = 0; i < FILTER_PARTS; i++)
		if (at->filter->patterns[i] && !(at->met & BIT(i)))
			text_printf(notes, "No frame matches --%s '%s'.\n", part_names[i],
				pattern_text(at->filter->patterns[i]));
}

struct error *filter_apply(const struct filter *filter, const struct rows *from,
	struct filtered *ret, struct text *notes)
{
	struct filtering at = {.filter = filter, .ret = &ret->rows};
	ret->row_of = malloc((from->rows.len + 1) * sizeof(*ret->row_of));
	if (!ret->row_of)
		return error_no_memory();
	fits_map_init(&at.fits);
	row_map_init(&at.map);
	frame_vec_init(&at.left);
	struct error *error = filter_rows(&at, from, ret->row_of);
	for (int i = 0; i < FILTER_PARTS && !error; i++) {
		if (filter->patterns[i])
			error = pattern_check(filter->patterns[i]);
		if (error)
			error = error_prefix(error, "--%s", part_names[i]);
	}
	if (!error)
		add_note(&at, from, notes);
	fits_map_deinit(&at.fits);
	row_map_deinit(&at.map);
	frame_vec_deinit(&at.left);
	return error;
}

/* Which patterns fit a frame of any of the rows. */
static unsigned find_any_fits(const struct filter *filter, const struct rows *rows)
{
	unsigned fits = 0;
	for (size_t i = 0; i < rows->rows.len; i++)
		for (size_t k = 0; k < rows->rows.data[i].depth; k++)
			fits |= find_fits(filter, rows->rows.data[i].frames[k]);
	return fits;
}

struct error *filter_check_left(
	const struct filter *filter, const struct rows *from, const struct rows *left)
{
	if (!filter_is_given(filter) || !from->rows.len || left->rows.len)
		return NULL;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	filter_add_options(filter, &text);
	text_add(&text, " leaves none of ");
	text_add_counted(&text, from->rows.len, "stack", "stacks");
	unsigned fits = find_any_fits(filter, from);
	for (int i = 0; i < FILTER_PARTS; i++)
		if (filter->patterns[i] && !(fits & BIT(i)))
			text_printf(&text, "; no function, file or module name matches --%s '%s'",
				part_names[i], pattern_text(filter->patterns[i]));
	return text.failed ? error_no_memory() : error_create(ERROR_INPUT, "%s", text.data);
}
