/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See merge.h. All rows are put into groups by one frame first: a group too light in itself holds
 * no heavier part, so most rows are done with then. The rows of the others go through one round for
 * each larger number of frames, the most precise first: group what is left, take the groups that
 * are heavy enough. What no round took stays in its group by one frame.
 */
#include "analysis/merge.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"

/* A group of this share (1/HEAVY) of the total is a row of its own. */
#define HEAVY 10u

/* A row that is in no group (yet). */
#define NO_GROUP UINT32_MAX

DEFINE_MAP(group_map, struct row_key, uint32_t, row_key_hash, row_key_equal)

struct group {
	uint64_t weight;
	uint32_t row; /* in the result; NO_GROUP: none yet */
};

DEFINE_VEC(group_vec, struct group)

/* One way to put rows into groups. */
struct grouping {
	struct group_map map;
	struct group_vec groups;
	uint32_t *of_row; /* group of each row; NO_GROUP: takes no part */
	/* The last row's: often the next one's, too. */
	struct row_key last_key;
	uint32_t last;
};

struct merge {
	const struct rows *from;
	enum metric weight;
	uint64_t enough; /* weight of a heavy group */
	bool *taken;
	struct rows *ret;
};

static void grouping_deinit(struct grouping *grouping)
{
	group_map_deinit(&grouping->map);
	group_vec_deinit(&grouping->groups);
	free(grouping->of_row);
}

static struct error *grouping_init(struct grouping *grouping, size_t rows)
{
	group_map_init(&grouping->map);
	group_vec_init(&grouping->groups);
	grouping->last = NO_GROUP;
	grouping->of_row = malloc((rows + 1) * sizeof(*grouping->of_row));
	if (!grouping->of_row)
		return error_no_memory();
	for (size_t i = 0; i < rows; i++)
		grouping->of_row[i] = NO_GROUP;
	return NULL;
}

/* Of both, where two models are compared. */
static uint64_t merge_weight_of(const struct merge *merge, const struct row *row)
{
	return metric_of_site(merge->weight, row->sums) + metric_of_site(merge->weight, row->base);
}

/* Puts a row into its group by this many frames. */
static struct error *grouping_add(
	struct grouping *grouping, const struct merge *merge, size_t index, unsigned frames)
{
	const struct row *row = &merge->from->rows.data[index];
	struct row_key key = {row->frames, row_depth_of(row, frames), row->sums->kind};
	if (grouping->last == NO_GROUP || !row_key_equal(key, grouping->last_key)) {
		bool is_new;
		uint32_t next = (uint32_t)grouping->groups.len;
		uint32_t *group = group_map_insert(&grouping->map, key, &is_new);
		if (!group)
			return error_no_memory();
		if (is_new)
			*group = next;
		if (is_new && !group_vec_push(&grouping->groups, (struct group){.row = NO_GROUP}))
			return error_no_memory();
		grouping->last_key = key;
		grouping->last = *group;
	}
	grouping->groups.data[grouping->last].weight += merge_weight_of(merge, row);
	grouping->of_row[index] = grouping->last;
	return NULL;
}

/* Adds a member: its counters, and cuts the shown stack to what is common. */
static bool merge_member(struct row *group, const struct row *member, struct arena *arena)
{
	uint32_t common = 0;
	while (common < group->depth && common < member->depth &&
		group->frames[common]->place == member->frames[common]->place)
		common++;
	if (common < group->depth || common < member->depth)
		group->partial = true;
	group->depth = common;
	group->library = member->library ? group->library : NULL;
	group->varies |= member->varies;
	return row_add(group, member, arena);
}

/* Moves the rows of groups that weigh enough to the result. */
static struct error *merge_take(struct merge *merge, struct grouping *grouping, uint64_t enough)
{
	struct row_vec *ret = &merge->ret->rows;
	for (size_t i = 0; i < merge->from->rows.len; i++) {
		if (merge->taken[i] || grouping->of_row[i] == NO_GROUP)
			continue;
		struct group *group = &grouping->groups.data[grouping->of_row[i]];
		if (group->weight < enough)
			continue;
		merge->taken[i] = true;
		const struct row *row = &merge->from->rows.data[i];
		if (group->row != NO_GROUP) {
			if (!merge_member(&ret->data[group->row], row, &merge->ret->arena))
				return error_no_memory();
			continue;
		}
		group->row = (uint32_t)ret->len;
		if (!row_vec_push(ret, row_copy(row)))
			return error_no_memory();
	}
	return NULL;
}

/* Takes heavy groups by this many frames, out of what `coarse` says may be heavy. */
static struct error *merge_round(
	struct merge *merge, const struct grouping *coarse, unsigned frames)
{
	_cleanup_(grouping_deinit) struct grouping fine;
	struct error *error = grouping_init(&fine, merge->from->rows.len);
	for (size_t i = 0; !error && i < merge->from->rows.len; i++) {
		uint32_t group = coarse->of_row[i];
		if (merge->taken[i] || group == NO_GROUP ||
			coarse->groups.data[group].weight < merge->enough ||
			row_is_own_doing(&merge->from->rows.data[i]))
			continue;
		error = grouping_add(&fine, merge, i, frames);
	}
	return error ? error : merge_take(merge, &fine, merge->enough);
}

static struct error *merge_rounds(struct merge *merge, struct grouping *coarse)
{
	uint64_t total = 0;
	for (size_t i = 0; i < merge->from->rows.len; i++) {
		uint64_t weight = merge_weight_of(merge, &merge->from->rows.data[i]);
		total += weight;
		if (weight == 0)
			continue;
		struct error *error = grouping_add(coarse, merge, i, 1);
		if (error)
			return error;
	}
	if (!coarse->groups.len)
		return NULL;
	merge->enough = total / HEAVY + (total % HEAVY != 0);
	for (unsigned frames = MERGE_FRAMES_MAX; frames > 1; frames--) {
		struct error *error = merge_round(merge, coarse, frames);
		if (error)
			return error;
	}
	return merge_take(merge, coarse, 0);
}

struct error *rows_merge(const struct rows *from, enum metric weight, struct rows *ret)
{
	_cleanup_free_ bool *taken = calloc(from->rows.len + 1, sizeof(*taken));
	if (!taken)
		return error_no_memory();
	struct merge merge = {.from = from, .weight = weight, .taken = taken, .ret = ret};
	_cleanup_(grouping_deinit) struct grouping coarse;
	struct error *error = grouping_init(&coarse, from->rows.len);
	if (!error)
		error = merge_rounds(&merge, &coarse);
	for (size_t i = 0; !error && i < ret->rows.len; i++)
		row_conclude(&ret->rows.data[i]);
	return error;
}

static inline uint64_t place_hash(uint32_t place)
{
	return hash_u64(place);
}

static inline bool place_equal(uint32_t a, uint32_t b)
{
	return a == b;
}

DEFINE_MAP(place_map, uint32_t, uint32_t, place_hash, place_equal)

/* How many frames are inside of the place. */
static uint32_t frames_inside(const struct row *row)
{
	uint32_t inside = 0;
	while (inside < row->depth && row->frames[inside] != row->place)
		inside++;
	return inside;
}

/* Whether two stacks reach their place along the same frames. */
static bool same_inside(const struct row *a, const struct row *b, size_t inside)
{
	if (inside != frames_inside(b))
		return false;
	for (size_t i = 0; i < inside; i++)
		if (a->frames[i]->place != b->frames[i]->place)
			return false;
	return true;
}

static bool merge_at_place(struct row *group, const struct row *row, struct arena *arena)
{
	struct row member = row_copy(row);
	uint32_t inside = frames_inside(group);
	if (!same_inside(group, &member, inside)) {
		uint32_t other = frames_inside(&member);
		group->frames += inside;
		group->depth -= inside;
		member.frames += other;
		member.depth -= other;
		group->partial = true;
	}
	struct site *sums = row_own_sums(group, arena);
	if (!sums)
		return false;
	if (sums->kind != member.sums->kind)
		sums->kind = KIND_UNKNOWN;
	return merge_member(group, &member, arena);
}

struct error *rows_merge_places(const struct rows *from, enum metric filter, struct rows *ret)
{
	_cleanup_(place_map_deinit) struct place_map map;
	place_map_init(&map);
	for (size_t i = 0; i < from->rows.len; i++) {
		const struct row *row = &from->rows.data[i];
		bool is_new = true;
		uint32_t *group = NULL;
		if (row->library || !row_has_some(row, filter))
			continue;
		if (row->place && !(group = place_map_insert(&map, row->place->place, &is_new)))
			return error_no_memory();
		if (!is_new) {
			if (!merge_at_place(&ret->rows.data[*group], row, &ret->arena))
				return error_no_memory();
			continue;
		}
		if (group)
			*group = (uint32_t)ret->rows.len;
		if (!row_vec_push(&ret->rows, row_copy(row)))
			return error_no_memory();
	}
	for (size_t i = 0; i < ret->rows.len; i++) {
		const struct shown_frame *place = ret->rows.data[i].place;
		row_conclude(&ret->rows.data[i]);
		ret->rows.data[i].place = place;
	}
	return NULL;
}
