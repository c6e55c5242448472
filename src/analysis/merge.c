/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See merge.h. One round for each number of frames, the most precise first: group what is left by
 * that many frames, take the groups that are heavy enough, leave the rest to the next round; the
 * last round takes all.
 */
#include "analysis/merge.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"

/* A group of this share (1/HEAVY) of the total is a row of its own. */
#define HEAVY 10u

struct group {
	uint64_t weight;
	size_t row; /* in the result, once it has one */
	bool has_row;
};

DEFINE_MAP(group_map, struct row_key, struct group, row_key_hash, row_key_equal)

/* How many frames reach up to the program's n-th own frame; all of them if it has fewer. */
static size_t depth_of_program_frames(const struct row *row, unsigned n)
{
	for (size_t i = 0; i < row->depth; i++)
		if (frame_is_program(row->frames[i]) && --n == 0)
			return i + 1;
	return row->depth;
}

static bool takes_part(const struct row *row, enum metric weight, unsigned frames)
{
	if (metric_of_site(weight, &row->sums) == 0)
		return false;
	bool own_doing = row->sums.same_frame == row->sums.allocations;
	return frames == 1 || !own_doing;
}

static struct row_key key_of(const struct row *row, unsigned frames)
{
	return (struct row_key){row->frames, depth_of_program_frames(row, frames), row->sums.kind};
}

/* Adds a member: its counters, and cuts the shown stack to what is common. */
static void group_add(struct row *group, const struct row *member)
{
	size_t common = 0;
	while (common < group->depth && common < member->depth &&
		group->frames[common]->place == member->frames[common]->place)
		common++;
	if (common < group->depth || common < member->depth)
		group->partial = true;
	group->depth = common;
	group->stacks += member->stacks;
	site_add(&group->sums, &member->sums);
}

static struct error *weigh(const struct rows *from, const bool *taken, enum metric weight,
	unsigned frames, struct group_map *groups)
{
	for (size_t i = 0; i < from->rows.len; i++) {
		const struct row *row = &from->rows.data[i];
		if (taken[i] || !takes_part(row, weight, frames))
			continue;
		bool is_new;
		struct group *group = group_map_insert(groups, key_of(row, frames), &is_new);
		if (!group)
			return error_no_memory();
		if (is_new)
			*group = (struct group){0};
		group->weight += metric_of_site(weight, &row->sums);
	}
	return NULL;
}

static struct error *take(const struct rows *from, bool *taken, enum metric weight, unsigned frames,
	uint64_t enough, struct group_map *groups, struct rows *ret)
{
	for (size_t i = 0; i < from->rows.len; i++) {
		const struct row *row = &from->rows.data[i];
		if (taken[i] || !takes_part(row, weight, frames))
			continue;
		struct group *group = group_map_find(groups, key_of(row, frames));
		if (group->weight < enough)
			continue;
		taken[i] = true;
		if (group->has_row) {
			group_add(&ret->rows.data[group->row], row);
			continue;
		}
		group->has_row = true;
		group->row = ret->rows.len;
		if (!row_vec_push(&ret->rows, *row))
			return error_no_memory();
	}
	return NULL;
}

static struct error *merge_round(const struct rows *from, bool *taken, enum metric weight,
	unsigned frames, uint64_t enough, struct rows *ret)
{
	_cleanup_(group_map_deinit) struct group_map groups;
	group_map_init(&groups);
	struct error *error = weigh(from, taken, weight, frames, &groups);
	return error ? error : take(from, taken, weight, frames, enough, &groups, ret);
}

struct error *rows_merge(
	const struct rows *from, enum metric weight, unsigned frames_max, struct rows *ret)
{
	_cleanup_free_ bool *taken = calloc(from->rows.len + 1, sizeof(*taken));
	if (!taken)
		return error_no_memory();
	uint64_t total = 0;
	for (size_t i = 0; i < from->rows.len; i++)
		total += metric_of_site(weight, &from->rows.data[i].sums);
	for (unsigned frames = frames_max; frames > 0; frames--) {
		uint64_t enough = frames > 1 ? total / HEAVY + (total % HEAVY != 0) : 0;
		struct error *error = merge_round(from, taken, weight, frames, enough, ret);
		if (error)
			return error;
	}
	for (size_t i = 0; i < ret->rows.len; i++)
		row_conclude(&ret->rows.data[i]);
	return NULL;
}
