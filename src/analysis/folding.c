/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/folding.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"
#include "symbols/known.h"

/* Frames that a stack has at least, if it has as many. */
#define KEPT_FRAMES 3u

/* One for each set of parts that a run may be of: what a run is where stacks are compared. */
#define PART_SETS (1u << KNOWN_PARTS)

static bool is_foldable(const struct shown_frame *frame)
{
	return frame->mark == MARK_NONE && frame->part != KNOWN_PROGRAM;
}

void folding_init(struct folding *folding, const struct shown_frame *const *frames, size_t depth,
	bool own_doing)
{
	*folding = (struct folding){.frames = frames, .depth = depth, .kept = depth};
	while (!own_doing && folding->wrappers < depth && is_foldable(frames[folding->wrappers]))
		folding->wrappers++;
	size_t code = 0;
	for (size_t i = 0; i < depth; i++) {
		if (frames[i]->mark == MARK_NONE && !folding_hides(folding, i))
			return;
		code += frames[i]->mark == MARK_NONE;
	}
	for (size_t left = 0; left < KEPT_FRAMES && left < code;)
		left += frames[--folding->kept]->mark == MARK_NONE;
}

void folding_of_row(struct folding *folding, const struct row *row)
{
	folding_init(folding, row->frames, row->depth, row_is_own_doing(row));
}

bool folding_hides(const struct folding *folding, size_t frame)
{
	const struct shown_frame *shown = folding->frames[frame];
	return frame < folding->kept && is_foldable(shown) &&
	       (shown->part != KNOWN_ALLOCATOR || frame < folding->wrappers);
}

size_t folding_run(const struct folding *folding, size_t frame)
{
	size_t count = 0;
	while (frame + count < folding->depth && folding_hides(folding, frame + count))
		count++;
	return count;
}

/* Of a run, a bit for each part. */
static unsigned parts_of(const struct folding *folding, size_t frame, size_t count)
{
	unsigned parts = 0;
	for (size_t i = frame; i < frame + count; i++)
		parts |= 1u << folding->frames[i]->part;
	return parts;
}

/* "std and runtime" of the set of parts. */
static void add_parts(unsigned parts, struct text *out)
{
	static const char *const words[KNOWN_PARTS] = {
		[KNOWN_STD] = "std", [KNOWN_RUNTIME] = "runtime", [KNOWN_ALLOCATOR] = "allocator"};
	const char *joint = "";
	for (unsigned i = 0; i < KNOWN_PARTS; i++) {
		if (!words[i] || !(parts >> i & 1))
			continue;
		text_printf(out, "%s%s", joint, words[i]);
		joint = " and ";
	}
}

void folding_add_words(
	const struct folding *folding, size_t frame, size_t count, bool counted, struct text *out)
{
	if (counted)
		text_printf(out, "%zu ", count);
	add_parts(parts_of(folding, frame, count), out);
	text_add(out, counted && count == 1 ? " frame" : " frames");
	/* The one that the program called says how it got its memory. */
	const struct shown_frame *outermost = folding->frames[frame + count - 1];
	if (counted && outermost->part == KNOWN_ALLOCATOR) {
		text_add(out, " (");
		shown_frame_add_shown(out, outermost);
		text_add(out, ")");
	}
}

void folding_add_note(const struct rows *rows, struct text *notes)
{
	unsigned parts = 0;
	for (size_t i = 0; i < rows->rows.len; i++) {
		struct folding folding;
		folding_of_row(&folding, &rows->rows.data[i]);
		for (size_t k = 0; k < folding.depth; k++)
			if (folding_hides(&folding, k))
				parts |= 1u << folding.frames[k]->part;
	}
	if (!parts)
		return;
	text_add(notes, "Figures of ");
	add_parts(parts, notes);
	text_add(notes, " frames are their callers' (--all-frames shows them).\n");
}

DEFINE_MAP(row_map, struct row_key, uint32_t, row_key_hash, row_key_equal)

struct folder {
	enum folding_way way;
	struct row_map map;
	struct rows *ret;
	struct frame_vec left;                 /* of the row at hand */
	struct shown_frame remarks[PART_SETS]; /* what runs are in keys */
};

/* Sets folder->left to what is read of a row's stack. */
static struct error *read_stack(struct folder *folder, const struct row *row)
{
	struct folding folding;
	folding_of_row(&folding, row);
	folder->left.len = 0;
	for (size_t i = 0; i < row->depth; i++) {
		size_t run = folding_run(&folding, i);
		const struct shown_frame *frame = row->frames[i];
		if (run) {
			frame = &folder->remarks[parts_of(&folding, i, run)];
			i += run - 1;
		}
		if (run && folder->way == FOLDING_TAKES_OUT)
			continue;
		if (!frame_vec_push(&folder->left, frame))
			return error_no_memory();
	}
	return NULL;
}

static bool same_stack(const struct row *a, const struct row *b)
{
	return row_key_equal((struct row_key){a->frames, a->depth, a->sums.kind},
		(struct row_key){b->frames, b->depth, b->sums.kind});
}

static void join(struct folder *folder, uint32_t number, const struct row *row)
{
	struct row *group = &folder->ret->rows.data[number];
	group->varies |= !same_stack(group, row);
	site_add(&group->sums, &row->sums);
	site_add(&group->base, &row->base);
	group->stacks += row->stacks;
	group->partial |= row->partial;
	group->leak_kinds |= row->leak_kinds;
	group->library = row->library ? group->library : NULL;
}

static struct error *add_row(struct folder *folder, const struct row *row, uint32_t *ret_number)
{
	struct row_key key = {folder->left.data, folder->left.len, row->sums.kind};
	uint32_t *known = row_map_find(&folder->map, key);
	if (known) {
		*ret_number = *known;
		join(folder, *known, row);
		return NULL;
	}
	const struct shown_frame **frames =
		arena_alloc(&folder->ret->arena, (key.depth + 1) * sizeof(*frames));
	if (!frames)
		return error_no_memory();
	if (key.depth)
		memcpy(frames, key.frames, key.depth * sizeof(*frames));
	struct row copy = *row;
	key.frames = frames;
	if (folder->way == FOLDING_TAKES_OUT) {
		copy.frames = frames;
		copy.depth = key.depth;
	}
	known = row_map_insert(&folder->map, key, NULL);
	if (!known || !row_vec_push(&folder->ret->rows, copy))
		return error_no_memory();
	*ret_number = *known = (uint32_t)folder->ret->rows.len - 1;
	return NULL;
}

struct error *folding_rows(const struct rows *from, enum folding_way way, struct filtered *ret)
{
	struct folder folder = {.way = way, .ret = &ret->rows};
	for (unsigned i = 0; i < PART_SETS; i++)
		folder.remarks[i].place = UINT32_MAX - i;
	ret->row_of = malloc((from->rows.len + 1) * sizeof(*ret->row_of));
	if (!ret->row_of)
		return error_no_memory();
	row_map_init(&folder.map);
	frame_vec_init(&folder.left);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < from->rows.len; i++) {
		error = read_stack(&folder, &from->rows.data[i]);
		if (!error)
			error = add_row(&folder, &from->rows.data[i], &ret->row_of[i]);
	}
	for (size_t i = 0; !error && i < ret->rows.rows.len; i++)
		row_conclude(&ret->rows.rows.data[i]);
	row_map_deinit(&folder.map);
	frame_vec_deinit(&folder.left);
	return error;
}
