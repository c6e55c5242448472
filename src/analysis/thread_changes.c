/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both lists of threads are sorted by what threads are known by, and gone through together. */
#include "analysis/thread_changes.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
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

static struct error *list_side(const struct model *model, bool by_number, struct side *ret)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	ret->known = calloc(count + 1, sizeof(*ret->known));
	if (!ret->known)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		if (threads[i].allocations || threads[i].frees)
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

static struct error *pair(
	const struct side *older, const struct side *newer, struct thread_change_vec *ret)
{
	size_t i = 0, k = 0;
	while (i < older->count || k < newer->count) {
		int order = 0;
		if (i < older->count && k < newer->count)
			order = compare_sides(&older->known[i], &newer->known[k]);
		struct thread_change row = {.older = NULL};
		if (k >= newer->count || (i < older->count && order <= 0))
			row.older = older->known[i].thread;
		if (i >= older->count || (k < newer->count && order >= 0))
			row.newer = newer->known[k].thread;
		i += row.older != NULL;
		k += row.newer != NULL;
		if (row.older)
			row.base = *row.older;
		if (row.newer)
			row.value = *row.newer;
		if (!thread_change_vec_push(ret, row))
			return error_no_memory();
	}
	return NULL;
}

static void add(struct thread *sums, const struct thread *thread)
{
	sums->allocations += thread->allocations;
	sums->allocated_bytes += thread->allocated_bytes;
	sums->frees += thread->frees;
	sums->temporary += thread->temporary;
}

static void normalize(struct thread_change_vec *rows)
{
	struct thread from = {.tid = 0}, to = {.tid = 0};
	for (size_t i = 0; i < rows->len; i++) {
		add(&from, &rows->data[i].base);
		add(&to, &rows->data[i].value);
	}
	for (size_t i = 0; i < rows->len; i++) {
		struct thread *thread = &rows->data[i].base;
#define SCALE(member) thread->member = diff_scaled(thread->member, to.member, from.member)
		SCALE(allocations);
		SCALE(allocated_bytes);
		SCALE(frees);
		SCALE(temporary);
#undef SCALE
	}
}

static uint64_t figure_of(const struct thread *thread, enum metric sort)
{
	switch (sort) {
	case METRIC_ALLOCATED_BYTES:
		return thread->allocated_bytes;
	case METRIC_TEMPORARY:
		return thread->temporary;
	default:
		return thread->allocations;
	}
}

static uint64_t weight_of(const struct thread_change *row, enum metric sort)
{
	uint64_t a = figure_of(&row->base, sort), b = figure_of(&row->value, sort);
	return a < b ? b - a : a - b;
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct thread_change *a = left, *b = right;
	enum metric sort = *(const enum metric *)ctx;
	uint64_t x = weight_of(a, sort), y = weight_of(b, sort);
	if (x != y)
		return x > y ? -1 : 1;
	/* Those that are there now come first, by their order; pointers are into one array each. */
	if (!a->newer != !b->newer)
		return a->newer ? -1 : 1;
	const struct thread *c = a->newer ? a->newer : a->older;
	const struct thread *d = b->newer ? b->newer : b->older;
	return c < d ? -1 : c > d;
}

struct error *thread_changes_build(const struct model *older, const struct model *newer,
	bool same_recording, enum metric sort, bool normalized, struct thread_change_vec *ret)
{
	_cleanup_(side_deinit) struct side a = {NULL, 0};
	_cleanup_(side_deinit) struct side b = {NULL, 0};
	struct error *error = list_side(older, same_recording, &a);
	if (!error)
		error = list_side(newer, same_recording, &b);
	if (!error)
		error = pair(&a, &b, ret);
	if (error)
		return error;
	if (normalized)
		normalize(ret);
	if (ret->len)
		qsort_r(ret->data, ret->len, sizeof(*ret->data), compare_rows, &sort);
	return NULL;
}
