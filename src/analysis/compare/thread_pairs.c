/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both lists of threads are sorted by what threads are known by, and gone through together. */
#include "analysis/compare/thread_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A thread with what it is found by. */
struct known {
	const struct thread *thread;
	size_t number; /* its place in the model */
	bool first;
	const char *name;
	size_t nth; /* of those of its name; of one recording its number */
};

struct side {
	struct known *known;
	size_t count;
};

static void side_deinit(struct side *side)
{
	free(side->known);
}

static int compare_names(const struct known *a, const struct known *b)
{
	return a->first != b->first ? a->first ? -1 : 1 : strcmp(a->name, b->name);
}

static int compare_known(const void *left, const void *right)
{
	const struct known *a = left, *b = right;
	int order = compare_names(a, b);
	return order ? order : (a->number > b->number) - (a->number < b->number);
}

static struct error *list_side(const struct model *model, bool by_number,
	bool (*counts)(const struct thread *thread), struct side *ret)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	ret->known = calloc(count + 1, sizeof(*ret->known));
	if (!ret->known)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		if (counts(&threads[i]))
			ret->known[ret->count++] = (struct known){.thread = &threads[i],
				.number = i,
				.first = !i,
				.name = by_number || !i ? "" : threads[i].name,
				.nth = by_number ? i : 0};
	qsort(ret->known, ret->count, sizeof(*ret->known), compare_known);
	for (size_t i = 1; !by_number && i < ret->count; i++)
		if (!compare_names(&ret->known[i - 1], &ret->known[i]))
			ret->known[i].nth = ret->known[i - 1].nth + 1;
	return NULL;
}

static int compare_sides(const struct known *a, const struct known *b)
{
	int order = compare_names(a, b);
	return order ? order : (a->nth > b->nth) - (a->nth < b->nth);
}

static struct error *thread_pairs_pair(
	const struct side *older, const struct side *newer, struct thread_pair_vec *ret)
{
	size_t i = 0, k = 0;
	while (i < older->count || k < newer->count) {
		int order = 0;
		if (i < older->count && k < newer->count)
			order = compare_sides(&older->known[i], &newer->known[k]);
		struct thread_pair row = {.older = NULL};
		if (k >= newer->count || (i < older->count && order <= 0))
			row.older = older->known[i].thread;
		if (i >= older->count || (k < newer->count && order >= 0))
			row.newer = newer->known[k].thread;
		i += row.older != NULL;
		k += row.newer != NULL;
		if (!thread_pair_vec_push(ret, row))
			return error_no_memory();
	}
	return NULL;
}

struct error *thread_pairs_build(const struct model *older, const struct model *newer,
	bool same_recording, bool (*counts)(const struct thread *thread),
	struct thread_pair_vec *ret)
{
	_cleanup_(side_deinit) struct side a = {.known = NULL};
	_cleanup_(side_deinit) struct side b = {.known = NULL};
	struct error *error = list_side(older, same_recording, counts, &a);
	if (!error)
		error = list_side(newer, same_recording, counts, &b);
	return error ? error : thread_pairs_pair(&a, &b, ret);
}
