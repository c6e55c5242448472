/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/time/stack_sizes.h"

#include <inttypes.h>
#include <stdlib.h>

void stack_sizes_init(struct stack_sizes *sizes)
{
	*sizes = (struct stack_sizes){.older = 0};
	thread_pair_vec_init(&sizes->rows);
}

void stack_sizes_deinit(struct stack_sizes *sizes)
{
	thread_pair_vec_deinit(&sizes->rows);
}

int64_t stack_size_change(const struct thread_pair *row)
{
	uint64_t older = row->older ? row->older->stack_bytes : 0;
	uint64_t newer = row->newer ? row->newer->stack_bytes : 0;
	return (int64_t)(newer - older);
}

static const struct thread *stack_sizes_example(const struct thread_pair *row)
{
	return row->newer ? row->newer : row->older;
}

void stack_size_add_name(const struct thread_pair *row, struct text *out)
{
	const struct thread *thread = stack_sizes_example(row);
	if (*thread->name)
		text_add_shown(out, thread->name, SIZE_MAX);
	else
		text_printf(out, "thread %" PRIu32, thread->tid);
}

static int stack_sizes_compare_rows(const void *left, const void *right)
{
	const struct thread_pair *a = left, *b = right;
	uint64_t x = (uint64_t)llabs(stack_size_change(a)),
		 y = (uint64_t)llabs(stack_size_change(b));
	if (x != y)
		return x > y ? -1 : 1;
	const struct thread *c = stack_sizes_example(a), *d = stack_sizes_example(b);
	if (c->stack_bytes != d->stack_bytes)
		return c->stack_bytes > d->stack_bytes ? -1 : 1;
	if (!a->newer != !b->newer)
		return a->newer ? -1 : 1;
	return c < d ? -1 : c > d;
}

static bool has_stack(const struct thread *thread)
{
	return thread->stack_bytes != 0;
}

struct error *stack_sizes_build(const struct model *older, const struct model *newer,
	bool same_recording, struct stack_sizes *ret)
{
	ret->older = model_recording(older)->stack_bytes;
	ret->newer = model_recording(newer)->stack_bytes;
	struct error *error =
		thread_pairs_build(older, newer, same_recording, has_stack, &ret->rows);
	if (!error && ret->rows.len)
		qsort(ret->rows.data, ret->rows.len, sizeof(*ret->rows.data),
			stack_sizes_compare_rows);
	return error;
}
