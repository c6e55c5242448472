/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/stack_sizes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void stack_sizes_init(struct stack_sizes *sizes)
{
	*sizes = (struct stack_sizes){.older = 0};
	stack_size_vec_init(&sizes->rows);
}

void stack_sizes_deinit(struct stack_sizes *sizes)
{
	stack_size_vec_deinit(&sizes->rows);
}

int64_t stack_size_change(const struct stack_size *row)
{
	uint64_t older = row->older ? row->older->stack_bytes : 0;
	uint64_t newer = row->newer ? row->newer->stack_bytes : 0;
	return (int64_t)(newer - older);
}

/* A thread with what it is found by. */
struct known {
	const struct thread *thread;
	size_t number; /* its place in the model */
	const char *name;
	size_t nth; /* of those of its name; of one recording its number */
};

static int compare_known(const void *left, const void *right)
{
	const struct known *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	if (order)
		return order;
	if (a->nth != b->nth)
		return a->nth < b->nth ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

struct side {
	struct known *known;
	size_t count;
};

static void side_deinit(struct side *side)
{
	free(side->known);
}

/* Threads with a stack, in the order in which both sides can be gone through together. */
static struct error *list_side(const struct model *model, bool by_number, struct side *ret)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	ret->known = calloc(count + 1, sizeof(*ret->known));
	if (!ret->known)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		if (threads[i].stack_bytes)
			/* The first one has the program's name: that of another build is another.
			 */
			ret->known[ret->count++] = (struct known){&threads[i], i,
				by_number || !i ? "" : threads[i].name, by_number ? i : 0};
	qsort(ret->known, ret->count, sizeof(*ret->known), compare_known);
	for (size_t i = 1; !by_number && i < ret->count; i++)
		if (strcmp(ret->known[i].name, ret->known[i - 1].name) == 0)
			ret->known[i].nth = ret->known[i - 1].nth + 1;
	return NULL;
}

/* The same thread by name and order. */
static int compare_sides(const struct known *a, const struct known *b)
{
	int order = strcmp(a->name, b->name);
	return order ? order : (a->nth > b->nth) - (a->nth < b->nth);
}

static struct error *pair(const struct side sides[2], struct stack_sizes *ret)
{
	size_t i = 0, k = 0;
	while (i < sides[0].count || k < sides[1].count) {
		int order = i >= sides[0].count ? 1
			    : k >= sides[1].count
				    ? -1
				    : compare_sides(&sides[0].known[i], &sides[1].known[k]);
		struct stack_size row = {NULL, NULL};
		if (order <= 0)
			row.older = sides[0].known[i++].thread;
		if (order >= 0)
			row.newer = sides[1].known[k++].thread;
		if (!stack_size_vec_push(&ret->rows, row))
			return error_no_memory();
	}
	return NULL;
}

static const struct thread *example(const struct stack_size *row)
{
	return row->newer ? row->newer : row->older;
}

void stack_size_add_name(const struct stack_size *row, struct text *out)
{
	const struct thread *thread = example(row);
	if (*thread->name)
		text_add_shown(out, thread->name, SIZE_MAX);
	else
		text_printf(out, "thread %" PRIu32, thread->tid);
}

static int compare_rows(const void *left, const void *right)
{
	const struct stack_size *a = left, *b = right;
	uint64_t x = (uint64_t)llabs(stack_size_change(a)),
		 y = (uint64_t)llabs(stack_size_change(b));
	if (x != y)
		return x > y ? -1 : 1;
	const struct thread *c = example(a), *d = example(b);
	if (c->stack_bytes != d->stack_bytes)
		return c->stack_bytes > d->stack_bytes ? -1 : 1;
	if (!a->newer != !b->newer)
		return a->newer ? -1 : 1;
	return c < d ? -1 : c > d;
}

struct error *stack_sizes_build(const struct model *older, const struct model *newer,
	bool same_recording, struct stack_sizes *ret)
{
	_cleanup_(side_deinit) struct side a = {NULL, 0};
	_cleanup_(side_deinit) struct side b = {NULL, 0};
	ret->older = model_recording(older)->stack_bytes;
	ret->newer = model_recording(newer)->stack_bytes;
	struct error *error = list_side(older, same_recording, &a);
	if (!error)
		error = list_side(newer, same_recording, &b);
	if (!error)
		error = pair((const struct side[]){a, b}, ret);
	if (!error && ret->rows.len)
		qsort(ret->rows.data, ret->rows.len, sizeof(*ret->rows.data), compare_rows);
	return error;
}
