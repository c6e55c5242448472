/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/watch/watch_lines.h"

static double outstanding_bytes(const struct watch_stack *stack, const struct watch_shown *shown)
{
	double bytes = shown->combined ? stack->all_bytes - stack->freed_bytes : stack->live_bytes;
	return bytes > 0 ? bytes : 0;
}

static double outstanding_blocks(const struct watch_stack *stack, const struct watch_shown *shown)
{
	double blocks =
		shown->combined ? stack->all_blocks - stack->freed_blocks : stack->live_blocks;
	return blocks > 0 ? blocks : 0;
}

static int ranks_compare(const void *left, const void *right)
{
	const struct watch_rank *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

struct error *watch_rank_stacks(
	const struct watch *watch, const struct watch_shown *shown, struct watch_ranks *ret)
{
	const struct watch_stacks *stacks = watch_stacks_get(watch);
	for (size_t i = 0; i < stacks->len; i++) {
		const struct watch_rank rank = {&stacks->data[i], i,
			outstanding_blocks(&stacks->data[i], shown),
			outstanding_bytes(&stacks->data[i], shown)};
		if (!rank.stack->is_own && rank.blocks > 0 && !watch_ranks_push(ret, rank))
			return error_no_memory();
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(ret->data[0]), ranks_compare);
	return NULL;
}

double watch_before_bytes(const struct stack_bytes *bytes, size_t number)
{
	return number < bytes->len ? bytes->data[number] : 0;
}

struct error *watch_before_note(
	struct watch_before *before, const struct watch *watch, const struct watch_shown *shown)
{
	const struct watch_stacks *stacks = watch_stacks_get(watch);
	stack_bytes_clear(&before->last);
	if (!stack_bytes_reserve(&before->last, stacks->len) ||
		(!before->looks && !stack_bytes_reserve(&before->first, stacks->len)))
		return error_no_memory();
	for (size_t i = 0; i < stacks->len; i++) {
		double bytes = outstanding_bytes(&stacks->data[i], shown);
		before->last.data[before->last.len++] = bytes;
		if (!before->looks)
			before->first.data[before->first.len++] = bytes;
	}
	before->looks++;
	return NULL;
}

static void difference_add(struct text *text, double bytes, const char *since)
{
	if (llround(bytes))
		text_printf(text, ", %+lld bytes since %s", llround(bytes), since);
}

static void judged_add(
	struct text *text, const struct watch_judged *sum, bool is_estimate, const char *what)
{
	const char *about = is_estimate ? "about " : "";
	text_printf(text, "%s%lld bytes in %s%lld allocations %s", about, llround(sum->bytes),
		about, llround(sum->blocks), what);
}

/* "… leaked, … referenced, … not judged". */
static void verdict_add(struct text *text, const struct watch_verdict *verdict, bool is_estimate)
{
	judged_add(text, &verdict->leaked, is_estimate, "leaked, ");
	judged_add(text, &verdict->referenced, is_estimate, "referenced, ");
	judged_add(text, &verdict->unjudged, is_estimate, "not judged");
}

/* What the verdicts rest on. */
static void verify_add(struct text *text, const struct watch_shown *shown)
{
	const struct watch_verify *verify = shown->verify;
	if (!verify)
		return;
	if (verify->problem) {
		text_add(text, "\t[not verified: ");
		text_add_shown(text, verify->problem, SIZE_MAX);
		text_add(text, "]\n");
		return;
	}
	text_add(text, "\t[verified: ");
	verdict_add(text, &verify->total, shown->is_sampled);
	text_add(text, verify->is_copy ? "; the process was copied, and stood still for "
				       : "; the process could not be copied, and stood still for ");
	text_add_duration_ns(text, verify->pause_ns);
	text_add(text, "]\n");
	if (verify->unread_bytes) {
		text_add(text, "\t[");
		text_add_bytes(text, verify->unread_bytes);
		text_add(text, " of its memory could not be read: what is referenced from there "
			       "alone counts as leaked]\n");
	}
}

static struct error *rank_add(struct text *text, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown,
	const struct watch_before *before, const struct watch_rank *rank)
{
	const struct watch_stack *stack = rank->stack;
	bool is_estimate = shown->is_sampled && !stack->is_mapping;
	text_printf(text, "\t%s%lld bytes in %s%lld %sallocations from stack",
		is_estimate ? "about " : "", llround(rank->bytes), is_estimate ? "about " : "",
		llround(rank->blocks), stack->is_mapping ? "mmap " : "");
	if (is_estimate && !shown->combined)
		text_printf(text, " (%" PRIu64 " samples)", stack->live_samples);
	if (before->looks > 0)
		difference_add(text, rank->bytes - watch_before_bytes(&before->last, rank->number),
			"the last");
	if (before->looks > 1)
		difference_add(text, rank->bytes - watch_before_bytes(&before->first, rank->number),
			"the start");
	text_add(text, "\n");
	if (shown->verify && !shown->verify->problem) {
		text_add(text, "\t  of these ");
		verdict_add(text, &shown->verify->by_stack.data[rank->number], is_estimate);
		text_add(text, "\n");
	}
	struct error *error = watch_frames_add(text, names,
		watch_is_kernel(watch) ? NULL : watch_modules_get(watch), stack->frames,
		stack->frame_count);
	if (!error)
		watch_outermost_add(text, !stack->function, stack->is_incomplete);
	return error;
}

static void blocks_add(struct text *text, const struct watch *watch)
{
	const struct watch_lives *lives = watch_lives_get(watch);
	for (size_t i = 0; i < lives->len; i++)
		text_printf(text, "\taddr = %" PRIx64 " size = %" PRIu64 "\n",
			lives->data[i].address, lives->data[i].size);
}

/* Of the kernel's own allocations. */
static void skipped_add(struct text *text, const struct watch *watch)
{
	const struct watch_losses *losses = watch_losses_get(watch);
	if (!watch_is_kernel(watch))
		return;
	if (losses->skipped_is_known)
		watch_loss_add(text, losses->skipped,
			"allocations and frees are missing: they came in interrupts of eBPF "
			"programs; what was freed so counts as outstanding");
	else
		text_add(text, "\t[allocations and frees in interrupts of eBPF programs are "
			       "missing, and this kernel does not count them (Linux 6.7 does)]\n");
}

static void losses_add(struct text *text, const struct watch *watch)
{
	const struct watch_losses *losses = watch_losses_get(watch);
	skipped_add(text, watch);
	watch_loss_add(text, losses->blocks,
		watch_is_kernel(watch)
			? "allocations are missing: the table of blocks is full (follow one of N "
			  "with -s N, or leave out small ones with -z)"
			: "allocations are missing: the table of blocks is full (sample, or leave "
			  "out small ones with -z)");
	watch_loss_add(
		text, losses->stacks, "allocations have no stack: the table of stacks is full");
	watch_loss_add(text, losses->threads, "calls are missing: the table of threads is full");
	watch_loss_add(text, losses->events,
		"events of mappings or of -t are missing: they came faster than they were read");
	watch_loss_add(text, losses->throwing,
		"calls of operator new were not followed, their blocks are missing: a probe would "
		"end the process if they throw");
	watch_loss_add(text, losses->replaced,
		"blocks were freed without notice: their addresses were given out again");
	watch_loss_add(text, losses->rows_missing,
		"rows of unwind tables found no room: stacks through the last modules end there");
	watch_loss_add(text, losses->programs,
		"other programs were executed: what the ones before had is left out, and the "
		"first allocations of the last one may be missing");
	watch_incomplete_add(text, losses->incomplete, losses->samples);
}

struct error *watch_text_add(struct text *text, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown, struct watch_before *before,
	const char *at)
{
	_cleanup_(watch_ranks_deinit) struct watch_ranks ranks = {0};
	struct error *error = watch_rank_stacks(watch, shown, &ranks);
	if (error)
		return error;
	text_printf(text, "[%s] Top %" PRIu64 " stacks with outstanding allocations:\n", at,
		shown->top);
	if (shown->shows_blocks)
		blocks_add(text, watch);
	for (size_t i = 0; i < min(ranks.len, (size_t)shown->top) && !error; i++)
		error = rank_add(text, watch, names, shown, before, &ranks.data[i]);
	verify_add(text, shown);
	losses_add(text, watch);
	return error ? error : watch_before_note(before, watch, shown);
}
