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

static enum known_part part_of(const struct folding *folding, size_t frame)
{
	return frame >= folding->outermost ? KNOWN_RUNTIME : folding->frames[frame]->part;
}

static bool is_foldable(const struct folding *folding, size_t frame)
{
	return folding->frames[frame]->mark == MARK_NONE &&
	       part_of(folding, frame) != KNOWN_PROGRAM;
}

void folding_init(struct folding *folding, const struct shown_frame *const *frames, size_t depth,
	bool own_doing)
{
	*folding = (struct folding){
		.frames = frames, .depth = depth, .outermost = depth, .kept = depth};
	while (folding->outermost && frames[folding->outermost - 1]->is_outermost)
		folding->outermost--;
	while (!own_doing && folding->wrappers < depth && is_foldable(folding, folding->wrappers))
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
	return frame < folding->kept && is_foldable(folding, frame) &&
	       (part_of(folding, frame) != KNOWN_ALLOCATOR || frame < folding->wrappers);
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
		parts |= 1u << part_of(folding, i);
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
	size_t last = frame + count - 1;
	if (counted && part_of(folding, last) == KNOWN_ALLOCATOR) {
		text_add(out, " (");
		shown_frame_add_shown(out, folding->frames[last]);
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
				parts |= 1u << part_of(&folding, k);
	}
	if (!parts)
		return;
	text_add(notes, "Figures of ");
	add_parts(parts, notes);
	text_add(notes, " frames count for their callers (--all-frames shows them).\n");
}

struct folder;

/* A stack as it is read. Rows that are read alike are found by going through their stacks again:
 * of a million rows what is read would be hundreds of megabytes. */
struct read_key {
	const struct folder *folder;
	const struct row *row; /* as it was before */
};

static uint64_t read_key_hash(struct read_key key);
static bool read_key_equal(struct read_key a, struct read_key b);

DEFINE_MAP(read_map, struct read_key, uint32_t, read_key_hash, read_key_equal)

struct folder {
	enum folding_way way;
	struct read_map map;
	struct rows *ret;
	struct shown_frame remarks[PART_SETS]; /* what runs are */
};

/* A position in a stack. */
struct reading {
	const struct folder *folder;
	struct folding folding;
	size_t at;
};

static void reading_begin(struct reading *reading, const struct read_key *key)
{
	reading->folder = key->folder;
	reading->at = 0;
	folding_of_row(&reading->folding, key->row);
}

/* The next frame, or a remark; NULL: there is no more. */
static const struct shown_frame *reading_next(struct reading *reading)
{
	const struct folding *folding = &reading->folding;
	while (reading->at < folding->depth) {
		size_t at = reading->at, run = folding_run(folding, at);
		reading->at += run ? run : 1;
		if (!run)
			return folding->frames[at];
		if (reading->folder->way == FOLDING_REMARKS)
			return &reading->folder->remarks[parts_of(folding, at, run)];
	}
	return NULL;
}

static uint64_t read_key_hash(struct read_key key)
{
	struct reading reading;
	uint64_t hash = key.row->sums->kind, n = 0;
	reading_begin(&reading, &key);
	for (const struct shown_frame *frame; (frame = reading_next(&reading)); n++)
		hash = hash_u64(hash ^ frame->place) + n;
	return hash;
}

static bool read_key_equal(struct read_key a, struct read_key b)
{
	struct reading left, right;
	const struct shown_frame *x, *y;
	if (a.row->sums->kind != b.row->sums->kind)
		return false;
	reading_begin(&left, &a);
	reading_begin(&right, &b);
	do {
		x = reading_next(&left);
		y = reading_next(&right);
	} while (x && y && x->place == y->place);
	return !x && !y;
}

/* Gives a row what is read of its stack alone. */
static struct error *take_out(struct folder *folder, const struct read_key *key, struct row *row)
{
	const struct shown_frame **frames =
		arena_alloc(&folder->ret->arena, (key->row->depth + 1) * sizeof(*frames));
	if (!frames)
		return error_no_memory();
	struct reading reading;
	reading_begin(&reading, key);
	row->frames = frames;
	row->depth = 0;
	for (const struct shown_frame *frame; (frame = reading_next(&reading));)
		frames[row->depth++] = frame;
	return NULL;
}

static bool same_stack(const struct row *a, const struct row *b)
{
	return row_key_equal((struct row_key){a->frames, a->depth, a->sums->kind},
		(struct row_key){b->frames, b->depth, b->sums->kind});
}

static struct error *folding_join(struct folder *folder, uint32_t number, const struct row *row)
{
	struct row *group = &folder->ret->rows.data[number];
	group->varies |= !same_stack(group, row);
	if (!row_add(group, row, &folder->ret->arena))
		return error_no_memory();
	group->partial |= row->partial;
	group->leak_kinds |= row->leak_kinds;
	group->library = row->library ? group->library : NULL;
	return NULL;
}

static struct error *folding_add_row(
	struct folder *folder, const struct row *row, uint32_t *ret_number)
{
	const struct read_key key = {folder, row};
	bool is_new;
	uint32_t *known = read_map_insert(&folder->map, key, &is_new);
	if (!known)
		return error_no_memory();
	if (!is_new) {
		*ret_number = *known;
		return folding_join(folder, *known, row);
	}
	*ret_number = *known = (uint32_t)folder->ret->rows.len;
	struct row copy = row_copy(row);
	struct error *error = NULL;
	if (folder->way == FOLDING_TAKES_OUT)
		error = take_out(folder, &key, &copy);
	if (error)
		return error;
	return row_vec_push(&folder->ret->rows, copy) ? NULL : error_no_memory();
}

struct error *folding_rows(const struct rows *from, enum folding_way way, struct filtered *ret)
{
	struct folder folder = {.way = way, .ret = &ret->rows};
	for (unsigned i = 0; i < PART_SETS; i++)
		folder.remarks[i].place = UINT32_MAX - i;
	ret->row_of = malloc((from->rows.len + 1) * sizeof(*ret->row_of));
	if (!ret->row_of || !row_vec_reserve(&ret->rows.rows, from->rows.len))
		return error_no_memory();
	read_map_init(&folder.map);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < from->rows.len; i++) {
		error = folding_add_row(&folder, &from->rows.data[i], &ret->row_of[i]);
	}
	for (size_t i = 0; !error && i < ret->rows.rows.len; i++)
		row_conclude(&ret->rows.rows.data[i]);
	read_map_deinit(&folder.map);
	return error;
}
