/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/folding.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/util.h"
#include "symbols/known.h"

/* Frames that a stack has at least, if it has as many. */
#define KEPT_FRAMES 3u

/* One for each set of parts that a run may be of: what a run is where stacks are compared. */
#define PART_SETS (1u << KNOWN_PARTS)

static enum known_part part_of(const struct folding *folding, size_t frame)
{
	const struct shown_frame *shown = folding->frames[frame];
	return frame >= folding->outermost                     ? KNOWN_RUNTIME
	       : folding->interpreter && shown->of_interpreter ? KNOWN_INTERPRETER
							       : shown->part;
}

static bool is_foldable(const struct folding *folding, size_t frame)
{
	return folding->frames[frame]->mark == MARK_NONE &&
	       part_of(folding, frame) != KNOWN_PROGRAM;
}

/* What depends on which frames are foldable. */
static void folding_find(struct folding *folding, bool own_doing)
{
	const struct shown_frame *const *frames = folding->frames;
	size_t depth = folding->depth;
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

void folding_init(struct folding *folding, const struct shown_frame *const *frames, size_t depth,
	bool own_doing)
{
	*folding = (struct folding){
		.frames = frames, .depth = depth, .outermost = depth, .kept = depth};
	folding_find(folding, own_doing);
}

void folding_init_whole(struct folding *folding, const struct shown_frame *const *frames,
	size_t depth, bool own_doing)
{
	*folding = (struct folding){.frames = frames,
		.depth = depth,
		.outermost = depth,
		.kept = depth,
		.interpreter = shown_frames_have_python(frames, depth)};
	folding_find(folding, own_doing);
}

void folding_of_row(struct folding *folding, const struct row *row)
{
	folding_init(folding, row->frames, row->depth, row_is_own_doing(row));
}

static inline bool is_hidden(const struct folding *folding, size_t frame)
{
	return frame < folding->kept && is_foldable(folding, frame) &&
	       (part_of(folding, frame) != KNOWN_ALLOCATOR || frame < folding->wrappers);
}

static inline size_t run_of(const struct folding *folding, size_t frame)
{
	size_t count = 0;
	while (frame + count < folding->depth && is_hidden(folding, frame + count))
		count++;
	return count;
}

bool folding_hides(const struct folding *folding, size_t frame)
{
	return is_hidden(folding, frame);
}

size_t folding_run(const struct folding *folding, size_t frame)
{
	return run_of(folding, frame);
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
	static const char *const words[KNOWN_PARTS] = {[KNOWN_STD] = "std",
		[KNOWN_RUNTIME] = "runtime",
		[KNOWN_ALLOCATOR] = "allocator",
		[KNOWN_INTERPRETER] = "interpreter"};
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

/*
 * Rows that are read alike are found by going through their stacks again: of a million rows what is
 * read would be hundreds of megabytes.
 */
struct folder {
	enum folding_way way;
	const struct rows *from;
	struct hash_index index; /* of the first row of each group; by number of the group */
	uint32_t *firsts;        /* of each group: number of that row */
	uint32_t groups;
	struct rows *ret;
	struct shown_frame remarks[PART_SETS]; /* what runs are */
};

/* A position in a stack. */
struct reading {
	const struct folder *folder;
	struct folding folding;
	size_t at;
};

static void reading_begin(
	struct reading *reading, const struct folder *folder, const struct row *row)
{
	reading->folder = folder;
	reading->at = 0;
	folding_of_row(&reading->folding, row);
}

/* The next frame, or a remark; NULL: there is no more. */
static const struct shown_frame *reading_next(struct reading *reading)
{
	const struct folding *folding = &reading->folding;
	while (reading->at < folding->depth) {
		size_t at = reading->at;
		if (at < folding->outermost && folding->frames[at]->part == KNOWN_PROGRAM)
			return folding->frames[reading->at++];
		size_t run = run_of(folding, at);
		reading->at += run ? run : 1;
		if (!run)
			return folding->frames[at];
		if (reading->folder->way == FOLDING_REMARKS)
			return &reading->folder->remarks[parts_of(folding, at, run)];
	}
	return NULL;
}

static uint64_t read_hash(const struct folder *folder, const struct row *row)
{
	struct reading reading;
	uint64_t hash = row->sums->kind;
	reading_begin(&reading, folder, row);
	for (const struct shown_frame *frame; (frame = reading_next(&reading));)
		hash = shown_frame_hash_add(hash, frame->place);
	return hash_u64(hash);
}

static bool read_equal(const struct folder *folder, const struct row *a, const struct row *b)
{
	struct reading left, right;
	const struct shown_frame *x, *y;
	if (a->sums->kind != b->sums->kind)
		return false;
	reading_begin(&left, folder, a);
	reading_begin(&right, folder, b);
	do {
		x = reading_next(&left);
		y = reading_next(&right);
	} while (x && y && x->place == y->place);
	return !x && !y;
}

/* Gives a row what is read of its stack alone. */
static struct error *take_out(struct folder *folder, const struct row *whole, struct row *row)
{
	const struct shown_frame **frames =
		arena_alloc(&folder->ret->arena, (whole->depth + 1) * sizeof(*frames));
	if (!frames)
		return error_no_memory();
	struct reading reading;
	reading_begin(&reading, folder, whole);
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

static struct error *folding_join(struct folder *folder, struct row *group, const struct row *row)
{
	group->varies |= !same_stack(group, row);
	if (!row_add(group, row, &folder->ret->arena))
		return error_no_memory();
	group->partial |= row->partial;
	group->leak_kinds |= row->leak_kinds;
	group->library = row->library ? group->library : NULL;
	return NULL;
}

static struct error *add_group(struct folder *folder, const struct row *first)
{
	struct row copy = row_copy(first);
	struct error *error = NULL;
	if (folder->way == FOLDING_TAKES_OUT)
		error = take_out(folder, first, &copy);
	if (error)
		return error;
	return row_vec_push(&folder->ret->rows, copy) ? NULL : error_no_memory();
}

/* Makes the rows of groups: row_of[] says which group each row is of, new groups in order. */
static struct error *make_groups(struct folder *folder, const uint32_t *row_of)
{
	struct row_vec *rows = &folder->ret->rows;
	struct error *error = NULL;
	if (!row_vec_reserve(rows, folder->groups))
		return error_no_memory();
	for (size_t i = 0; !error && i < folder->from->rows.len; i++) {
		const struct row *row = &folder->from->rows.data[i];
		error = row_of[i] == rows->len ? add_group(folder, row)
					       : folding_join(folder, &rows->data[row_of[i]], row);
	}
	for (size_t i = 0; !error && i < rows->len; i++)
		row_conclude(&rows->data[i]);
	return error;
}

/* Sets *ret to the group of a row. */
static struct error *find_group(struct folder *folder, size_t number, uint64_t hash, uint32_t *ret)
{
	const struct row *rows = folder->from->rows.data;
	struct hash_index_place place;
	uint32_t known;
	if (!hash_index_seek(&folder->index, hash, &place))
		return error_no_memory();
	while ((known = hash_index_next(&folder->index, &place)))
		if (read_equal(folder, &rows[folder->firsts[known - 1]], &rows[number])) {
			*ret = known - 1;
			return NULL;
		}
	*ret = folder->groups++;
	folder->firsts[*ret] = (uint32_t)number;
	hash_index_put(&folder->index, &place, *ret);
	return NULL;
}

/* Rows are taken some at a time: what the index has of them is fetched meanwhile. */
#define BATCH 16u

static struct error *find_groups(struct folder *folder, size_t first, size_t count, uint32_t *ret)
{
	uint64_t hashes[BATCH];
	struct error *error = NULL;
	for (size_t i = 0; i < count; i++) {
		hashes[i] = read_hash(folder, &folder->from->rows.data[first + i]);
		hash_index_fetch(&folder->index, hashes[i]);
	}
	for (size_t i = 0; !error && i < count; i++)
		error = find_group(folder, first + i, hashes[i], &ret[first + i]);
	return error;
}

static struct error *folder_init(
	struct folder *folder, const struct rows *from, enum folding_way way, struct rows *ret)
{
	*folder = (struct folder){.way = way, .from = from, .ret = ret};
	for (unsigned i = 0; i < PART_SETS; i++)
		folder->remarks[i].place = UINT32_MAX - i;
	folder->firsts = malloc((from->rows.len + 1) * sizeof(*folder->firsts));
	bool made = hash_index_init(&folder->index, from->rows.len);
	return made && folder->firsts ? NULL : error_no_memory();
}

static void folder_deinit(struct folder *folder)
{
	hash_index_deinit(&folder->index);
	free(folder->firsts);
}

struct error *folding_rows(
	const struct rows *from, enum folding_way way, struct filtered *ret, bool *ret_same)
{
	_cleanup_(folder_deinit) struct folder folder;
	size_t count = from->rows.len;
	*ret_same = false;
	struct error *error = folder_init(&folder, from, way, &ret->rows);
	ret->row_of = malloc((count + 1) * sizeof(*ret->row_of));
	if (!error && !ret->row_of)
		error = error_no_memory();
	for (size_t i = 0; !error && i < count; i += BATCH)
		error = find_groups(&folder, i, min(count - i, (size_t)BATCH), ret->row_of);
	*ret_same = !error && way == FOLDING_REMARKS && folder.groups == count;
	return error || *ret_same ? error : make_groups(&folder, ret->row_of);
}
