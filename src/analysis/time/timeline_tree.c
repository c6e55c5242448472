/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/time/timeline_tree.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/grain.h"
#include "base/arena.h"
#include "base/cleanup.h"

/* The stack of a site as trees show it, the function that allocates first. */
struct way {
	const uint32_t *spots; /* numbers of spots + 1; 0: no stack; NULL: not known yet */
	uint32_t len;          /* not 0 */
};

/* What is live of a site. */
struct share {
	const struct way *way;
	uint64_t bytes;
};

/* The shares of a node that go on to the same spot. */
struct branch {
	const struct spot *spot; /* NULL: no stack */
	uint64_t bytes;
	size_t len, end; /* how many; where those that were put in order end */
	uint32_t number; /* in which order they were met */
};

DEFINE_VEC(share_vec, struct share)
DEFINE_VEC(branch_vec, struct branch)
DEFINE_VEC(branch_numbers, uint32_t)

struct timeline_trees {
	const struct model *model;
	struct resolver *resolver;
	const struct timeline_options *options;
	struct spots *spots;
	struct arena arena;
	struct way *ways; /* by site id */
	struct frame_vec frames;
	struct spot_vec stack;
	struct share_vec shares, ordered;
	struct branch_numbers branch_of; /* by spot + 1: number of its branch + 1; all 0 between */
	struct timeline_nodes *nodes;
	double least;
};

struct error *timeline_trees_create(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline_trees **ret)
{
	_cleanup_(timeline_trees_cleanup) struct timeline_trees *trees = calloc(1, sizeof(*trees));
	if (!trees)
		return error_no_memory();
	trees->model = model;
	trees->resolver = resolver;
	trees->options = options;
	arena_init(&trees->arena);
	size_t count;
	model_sites(model, &count);
	trees->ways = calloc(count + 1, sizeof(*trees->ways));
	struct error *error =
		trees->ways ? spots_create(GRAIN_ADDRESSES, &trees->spots) : error_no_memory();
	if (!error)
		*ret = steal_ptr(trees);
	return error;
}

void timeline_trees_destroy(struct timeline_trees *trees)
{
	if (!trees)
		return;
	spots_destroy(trees->spots);
	arena_deinit(&trees->arena);
	free(trees->ways);
	frame_vec_deinit(&trees->frames);
	spot_vec_deinit(&trees->stack);
	share_vec_deinit(&trees->shares);
	share_vec_deinit(&trees->ordered);
	branch_numbers_deinit(&trees->branch_of);
	free(trees);
}

bool timeline_is_named(const struct shown_frame *frame, const char *const *names, size_t count)
{
	const char *name = shown_frame_plain(frame);
	for (size_t i = 0; name && i < count; i++) {
		size_t len = strlen(names[i]);
		if (strncmp(name, names[i], len) == 0 && (!name[len] || name[len] == '('))
			return true;
	}
	return false;
}

/* Part of a stack, innermost frame first. */
struct part {
	const struct shown_frame *const *frames;
	size_t len;
};

/* Without allocation functions at its inner end, one frame is left at least, and without what calls
 * main. */
static struct part cut_stack(const struct frame_vec *frames, const struct timeline_options *options)
{
	size_t first = 0, end = frames->len;
	while (first + 1 < frames->len &&
		timeline_is_named(frames->data[first], options->alloc_fns, options->alloc_fn_count))
		first++;
	static const char *const main_name[] = {"main"};
	for (size_t i = first; i < end; i++)
		if (frames->data[i]->is_program && !shown_frame_is_managed(frames->data[i]) &&
			timeline_is_named(frames->data[i], main_name, 1))
			end = i + 1;
	if (end - first > options->depth)
		end = first + options->depth;
	return (struct part){frames->data + first, end - first};
}

/* The part is there until the next one is asked for. */
static struct error *timeline_tree_find_part(
	struct timeline_trees *trees, uint32_t id, struct part *ret)
{
	size_t count;
	const struct site *site = &model_sites(trees->model, &count)[id];
	struct error *error =
		resolver_stack(trees->resolver, site->stack, site->kind, &trees->frames);
	if (!error)
		*ret = cut_stack(&trees->frames, trees->options);
	return error;
}

struct error *timeline_trees_innermost(
	struct timeline_trees *trees, uint32_t site, const struct shown_frame **ret)
{
	struct part part;
	struct error *error = timeline_tree_find_part(trees, site, &part);
	if (!error)
		*ret = part.len ? part.frames[0] : NULL;
	return error;
}

static struct error *find_way(struct timeline_trees *trees, uint32_t site, const struct way **ret)
{
	struct way *way = &trees->ways[site];
	*ret = way;
	if (way->spots)
		return NULL;
	struct part part;
	struct error *error = timeline_tree_find_part(trees, site, &part);
	if (!error)
		error = spots_stack(trees->spots, part.frames, part.len, &trees->stack);
	if (error)
		return error;
	size_t len = trees->stack.len ? trees->stack.len : 1;
	uint32_t *spots = arena_alloc(&trees->arena, len * sizeof(*spots));
	if (!spots)
		return error_no_memory();
	spots[0] = 0;
	for (size_t i = 0; i < trees->stack.len; i++)
		spots[i] = trees->stack.data[i]->id + 1;
	*way = (struct way){spots, (uint32_t)len};
	return NULL;
}

struct error *timeline_trees_add(struct timeline_trees *trees, uint32_t site, uint64_t bytes)
{
	struct share share = {.bytes = bytes};
	struct error *error = find_way(trees, site, &share.way);
	if (error)
		return error;
	return share_vec_push(&trees->shares, share) ? NULL : error_no_memory();
}

/* Shares one after another, which agree up to `depth`. */
struct group {
	size_t first, len;
	uint32_t depth;
};

static struct error *find_branches(
	struct timeline_trees *trees, struct group group, struct branch_vec *ret)
{
	for (size_t i = group.first; i < group.first + group.len; i++) {
		const struct share *share = &trees->shares.data[i];
		if (share->way->len <= group.depth)
			continue;
		uint32_t spot = share->way->spots[group.depth];
		uint32_t *known = &trees->branch_of.data[spot];
		if (!*known) {
			struct branch branch = {.number = (uint32_t)ret->len,
				.spot = spot ? spots_at(trees->spots, spot - 1) : NULL};
			if (!branch_vec_push(ret, branch))
				return error_no_memory();
			*known = (uint32_t)ret->len;
		}
		ret->data[*known - 1].bytes += share->bytes;
		ret->data[*known - 1].len++;
	}
	return NULL;
}

static bool timeline_tree_is_shown(const struct timeline_trees *trees, const struct branch *branch)
{
	return branch->bytes && (double)branch->bytes >= trees->least;
}

/* Puts the shares of branches that are shown together, from the group's beginning on. */
static void put_together(
	struct timeline_trees *trees, struct group group, struct branch_vec *branches)
{
	size_t next = group.first;
	for (size_t i = 0; i < branches->len; i++) {
		struct branch *branch = &branches->data[i];
		branch->end = next;
		next += timeline_tree_is_shown(trees, branch) ? branch->len : 0;
	}
	for (size_t i = group.first; i < group.first + group.len; i++) {
		const struct share *share = &trees->shares.data[i];
		if (share->way->len <= group.depth)
			continue;
		uint32_t spot = share->way->spots[group.depth];
		struct branch *branch = &branches->data[trees->branch_of.data[spot] - 1];
		if (timeline_tree_is_shown(trees, branch))
			trees->ordered.data[branch->end++] = *share;
	}
	for (size_t i = 0; i < branches->len; i++) {
		const struct spot *spot = branches->data[i].spot;
		trees->branch_of.data[spot ? spot->id + 1 : 0] = 0;
	}
	memcpy(trees->shares.data + group.first, trees->ordered.data + group.first,
		(next - group.first) * sizeof(struct share));
}

/* The heaviest first. */
static int compare_branches(const void *left, const void *right)
{
	const struct branch *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	int names = strcmp(a->spot ? a->spot->name : "", b->spot ? b->spot->name : "");
	return names ? names : a->number < b->number ? -1 : 1;
}

static bool timeline_tree_add_node(struct timeline_trees *trees, struct timeline_node node)
{
	return timeline_nodes_push(trees->nodes, node);
}

static struct error *add_branches(struct timeline_trees *trees, struct group group)
{
	size_t place = trees->nodes->len - 1;
	struct timeline_node rest = {.depth = group.depth + 1};
	uint32_t children = 0;
	_cleanup_(branch_vec_deinit) struct branch_vec branches;
	branch_vec_init(&branches);
	struct error *error = find_branches(trees, group, &branches);
	if (error)
		return error;
	put_together(trees, group, &branches);
	if (branches.len)
		qsort(branches.data, branches.len, sizeof(*branches.data), compare_branches);
	for (size_t i = 0; i < branches.len; i++) {
		const struct branch *branch = &branches.data[i];
		if (!timeline_tree_is_shown(trees, branch)) {
			rest.bytes += branch->bytes;
			rest.places += branch->bytes > 0;
			continue;
		}
		struct timeline_node node = {.frame = branch->spot ? branch->spot->frame : NULL,
			.bytes = branch->bytes,
			.depth = group.depth + 1};
		struct group inner = {branch->end - branch->len, branch->len, group.depth + 1};
		error = timeline_tree_add_node(trees, node) ? add_branches(trees, inner)
							    : error_no_memory();
		if (error)
			return error;
		children++;
	}
	if (rest.places && !timeline_tree_add_node(trees, rest))
		return error_no_memory();
	trees->nodes->data[place].children = children + (rest.places > 0);
	return NULL;
}

struct error *timeline_trees_make(
	struct timeline_trees *trees, double least, uint64_t useful, struct timeline_nodes *ret)
{
	size_t count = trees->shares.len;
	trees->nodes = ret;
	trees->least = least;
	while (trees->branch_of.len <= spots_count(trees->spots))
		if (!branch_numbers_push(&trees->branch_of, 0))
			return error_no_memory();
	if (!share_vec_reserve(&trees->ordered, count) ||
		!timeline_tree_add_node(trees, (struct timeline_node){.bytes = useful}))
		return error_no_memory();
	struct error *error = count ? add_branches(trees, (struct group){.len = count}) : NULL;
	share_vec_clear(&trees->shares);
	return error;
}
