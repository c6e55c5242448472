/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/growth_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/watch/watch_lines.h"

static int ranks_compare(const void *left, const void *right)
{
	const struct growth_rank *a = left, *b = right;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static uint64_t call_weight(const struct growth_stack *stack)
{
	return stack->more_bytes + stack->less_bytes;
}

static uint64_t page_weight(const struct growth_stack *stack)
{
	return stack->pages;
}

static struct error *ranks_fill(const struct growth *growth,
	uint64_t (*weigh)(const struct growth_stack *stack), struct growth_ranks *ret)
{
	const struct growth_stacks *stacks = growth_stacks_get(growth);
	for (size_t i = 0; i < stacks->len; i++) {
		const struct growth_rank rank = {&stacks->data[i], i, weigh(&stacks->data[i])};
		if (rank.weight && !growth_ranks_push(ret, rank))
			return error_no_memory();
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(ret->data[0]), ranks_compare);
	return NULL;
}

struct error *growth_rank_pages(const struct growth *growth, struct growth_ranks *ret)
{
	return ranks_fill(growth, page_weight, ret);
}

struct error *growth_rank_calls(const struct growth *growth, struct growth_ranks *ret)
{
	return ranks_fill(growth, call_weight, ret);
}

uint64_t growth_before_pages(const struct growth_before *before, size_t number)
{
	return number < before->last.len ? before->last.data[number] : 0;
}

struct error *growth_before_note(struct growth_before *before, const struct growth *growth)
{
	const struct growth_stacks *stacks = growth_stacks_get(growth);
	growth_pages_before_clear(&before->last);
	if (!growth_pages_before_reserve(&before->last, stacks->len))
		return error_no_memory();
	for (size_t i = 0; i < stacks->len; i++)
		before->last.data[before->last.len++] = stacks->data[i].pages;
	before->looks++;
	return NULL;
}

void growth_before_deinit(struct growth_before *before)
{
	growth_pages_before_deinit(&before->last);
}

static void pages_add(
	struct text *text, const struct growth_before *before, const struct growth_rank *rank)
{
	const struct growth_stack *stack = rank->stack;
	int64_t more = (int64_t)(stack->pages - growth_before_pages(before, rank->number));
	text_printf(text, "\t%" PRIu64 " bytes in %" PRIu64 " %s touched from stack",
		stack->pages * GROWTH_PAGE_BYTES, stack->pages,
		stack->pages == 1 ? "page" : "pages");
	if (stack->file_pages)
		text_printf(text, ", %" PRIu64 " of files", stack->file_pages);
	if (stack->along_pages)
		text_printf(text, ", %" PRIu64 " came with a neighbour", stack->along_pages);
	if (before->looks && more)
		text_printf(text, ", %+" PRId64 " bytes since the last",
			more * (int64_t)GROWTH_PAGE_BYTES);
	text_add(text, "\n");
}

static void part_add(struct text *text, uint64_t bytes, uint64_t calls, const char *did)
{
	text_printf(text, "%" PRIu64 " bytes %s in %" PRIu64 " %s", bytes, did, calls,
		calls == 1 ? "call" : "calls");
}

static void call_add(struct text *text, const struct growth_stack *stack)
{
	text_add(text, "\t");
	if (stack->more_bytes)
		part_add(text, stack->more_bytes, stack->more_calls, "mapped");
	if (stack->more_bytes && stack->less_bytes)
		text_add(text, ", ");
	if (stack->less_bytes)
		part_add(text, stack->less_bytes, stack->less_calls,
			stack->call && stack->call[1] == 'a' ? "given back" : "unmapped");
	if (stack->call)
		text_printf(text, " of %s", stack->call);
	text_add(text, " from stack\n");
}

static struct error *ranks_add(struct text *text, const struct growth *growth,
	struct watch_names *names, uint64_t top, const struct growth_before *before,
	const struct growth_ranks *ranks)
{
	struct error *error = NULL;
	for (size_t i = 0; i < min(ranks->len, (size_t)top) && !error; i++) {
		const struct growth_rank *rank = &ranks->data[i];
		const struct growth_stack *stack = rank->stack;
		if (before)
			pages_add(text, before, rank);
		else
			call_add(text, stack);
		error = watch_frames_add(
			text, names, growth_modules_get(growth), stack->frames, stack->frame_count);
		if (!error)
			watch_outermost_add(text, stack->is_overflow, stack->is_incomplete);
	}
	return error;
}

static int64_t pages_bytes(uint64_t more, uint64_t less)
{
	return (int64_t)(more - less) * (int64_t)GROWTH_PAGE_BYTES;
}

static void sums_add(struct text *text, const struct growth_sums *sums)
{
	if (sums->has_ended) {
		text_add(text, "\t[the process has ended: all pages count that it touched, also "
			       "those that it gave back, or only read as zeros]\n");
		return;
	}
	text_printf(text,
		"\t%" PRId64 " bytes in memory, %+" PRId64 " since the start: %" PRId64
		" touched + %" PRId64 " not explained - %" PRId64 " gone\n",
		pages_bytes(sums->pages, 0), pages_bytes(sums->pages, sums->start_pages),
		pages_bytes(sums->touched, 0), pages_bytes(sums->unexplained, 0),
		pages_bytes(sums->gone, 0));
	text_printf(text, "\tRSS is %" PRId64 " bytes, %+" PRId64 " since the start\n",
		pages_bytes(sums->counted, 0), pages_bytes(sums->counted, sums->start_counted));
	if (sums->swapped)
		text_printf(text, "\t%" PRId64 " bytes are swapped out\n",
			pages_bytes(sums->swapped, 0));
}

static void losses_add(struct text *text, const struct growth_losses *losses)
{
	watch_loss_add(
		text, losses->pages, "page faults are not explained: the table of pages is full");
	watch_loss_add(text, losses->stacks,
		"page faults and calls have no stack: the table of stacks is full");
	watch_loss_add(text, losses->threads,
		"page faults and calls are missing: the table of threads is full");
	watch_loss_add(text, losses->rows_missing,
		"rows of unwind tables found no room: stacks through the last modules end there");
	watch_loss_add(text, losses->programs,
		"other programs were executed: the last one began with no page");
	watch_incomplete_add(text, losses->incomplete, losses->events);
}

struct error *growth_text_add(struct text *text, const struct growth *growth,
	struct watch_names *names, uint64_t top, struct growth_before *before, const char *at)
{
	_cleanup_(growth_ranks_deinit) struct growth_ranks pages = {0};
	_cleanup_(growth_ranks_deinit) struct growth_ranks calls = {0};
	struct error *error = growth_rank_pages(growth, &pages);
	if (!error)
		error = growth_rank_calls(growth, &calls);
	if (error)
		return error;
	text_printf(text, "[%s] Top %" PRIu64 " stacks that touched new memory:\n", at, top);
	error = ranks_add(text, growth, names, top, before, &pages);
	if (!error && calls.len) {
		text_printf(text, "[%s] Top %" PRIu64 " stacks that changed mappings:\n", at, top);
		error = ranks_add(text, growth, names, top, NULL, &calls);
	}
	sums_add(text, growth_sums_get(growth));
	losses_add(text, growth_losses_get(growth));
	return error ? error : growth_before_note(before, growth);
}
