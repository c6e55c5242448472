/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/thread_changes.h"

#include <stdlib.h>

#include "analysis/compare/thread_pairs.h"
#include "analysis/diff.h"
#include "base/cleanup.h"

static void thread_changes_add(struct thread *sums, const struct thread *thread)
{
	sums->allocations += thread->allocations;
	sums->allocated_bytes += thread->allocated_bytes;
	sums->frees += thread->frees;
	sums->temporary += thread->temporary;
}

static void thread_changes_normalize(struct thread_change_vec *rows)
{
	struct thread from = {.tid = 0}, to = {.tid = 0};
	for (size_t i = 0; i < rows->len; i++) {
		thread_changes_add(&from, &rows->data[i].base);
		thread_changes_add(&to, &rows->data[i].value);
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

static uint64_t thread_changes_weight_of(const struct thread_change *row, enum metric sort)
{
	uint64_t a = figure_of(&row->base, sort), b = figure_of(&row->value, sort);
	return a < b ? b - a : a - b;
}

static int thread_changes_compare_rows(const void *left, const void *right, void *ctx)
{
	const struct thread_change *a = left, *b = right;
	enum metric sort = *(const enum metric *)ctx;
	uint64_t x = thread_changes_weight_of(a, sort), y = thread_changes_weight_of(b, sort);
	if (x != y)
		return x > y ? -1 : 1;
	/* Those that are there now come first, by their order; pointers are into one array each. */
	if (!a->newer != !b->newer)
		return a->newer ? -1 : 1;
	const struct thread *c = a->newer ? a->newer : a->older;
	const struct thread *d = b->newer ? b->newer : b->older;
	return c < d ? -1 : c > d;
}

static bool has_calls(const struct thread *thread)
{
	return thread->allocations || thread->frees;
}

static struct error *thread_changes_pair(const struct model *older, const struct model *newer,
	bool same_recording, struct thread_change_vec *ret)
{
	_cleanup_(thread_pair_vec_deinit) struct thread_pair_vec pairs;
	thread_pair_vec_init(&pairs);
	struct error *error = thread_pairs_build(older, newer, same_recording, has_calls, &pairs);
	for (size_t i = 0; !error && i < pairs.len; i++) {
		struct thread_change row = {
			.older = pairs.data[i].older, .newer = pairs.data[i].newer};
		if (row.older)
			row.base = *row.older;
		if (row.newer)
			row.value = *row.newer;
		if (!thread_change_vec_push(ret, row))
			error = error_no_memory();
	}
	return error;
}

struct error *thread_changes_build(const struct model *older, const struct model *newer,
	bool same_recording, enum metric sort, bool normalized, struct thread_change_vec *ret)
{
	struct error *error = thread_changes_pair(older, newer, same_recording, ret);
	if (error)
		return error;
	if (normalized)
		thread_changes_normalize(ret);
	if (ret->len)
		qsort_r(ret->data, ret->len, sizeof(*ret->data), thread_changes_compare_rows,
			&sort);
	return NULL;
}
