/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums that begin anew, for dumps: what they were at the reset is kept, and the copy of the
 * collector that writes a dump takes it off. The recording itself keeps all. The peak is as ever,
 * and so is what is live, unless its older blocks are to be left out, too.
 */
#include "capture/recorder/recorder_impl.h"

#include "accounts/accounts.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "capture/leaks/check_starts.h"

#include <stdlib.h>
#include <string.h>

#define MARK_RESET "sums reset"

struct sums_before {
	struct site_counters *sites;
	struct call_counters *threads;
	struct tally_size *sizes;
	uint32_t site_count, thread_count;
	size_t size_count;
	uint64_t failed, at_ns;
	struct samples samples;
	bool with_live;
	struct check_start start; /* with_live: older blocks are left out */
};

/* Blocks that were live at the reset, and still are. */
DEFINE_VEC(old_block_vec, struct live_entry)

void recorder_reset_end(struct sums_before *before)
{
	if (!before)
		return;
	free(before->sites);
	free(before->threads);
	free(before->sizes);
	samples_deinit(&before->samples);
	check_start_deinit(&before->start);
	free(before);
}

static bool has_arrays(const struct sums_before *b)
{
	return b->sites && b->threads && b->sizes;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct tally_size *x = a, *y = b;
	return (x->size > y->size) - (x->size < y->size);
}

static void copy_sizes(struct sums_before *b, const struct tally_sizes *sizes)
{
	for (size_t i = 0; i < sizes->capacity; i++) {
		if (sizes->places[i].allocations)
			b->sizes[b->size_count++] = sizes->places[i];
	}
}

static void copy_sums(struct sums_before *b, const struct tally *t)
{
	for (uint32_t i = 0; i < t->site_count; i++)
		b->sites[i] = t->sites[i].counters;
	for (uint32_t i = 0; i < t->thread_count; i++)
		b->threads[i] = t->threads[i].calls;
	copy_sizes(b, &t->sizes);
	copy_sizes(b, &t->part_sizes);
	if (b->size_count)
		qsort(b->sizes, b->size_count, sizeof(*b->sizes), compare_sizes);
	b->site_count = t->site_count;
	b->thread_count = t->thread_count;
	b->failed = t->heap.failed;
}

const char *recorder_reset(struct recorder *recorder, bool with_live)
{
	struct recorder *r = recorder;
	if (with_live && r->mode.kind == MODE_SAMPLE)
		return "of a sample, live blocks can't be left out";
	struct clock_pair now = recorder_now(r);
	recorder_drain_until(r, now.tsc);
	struct tally *t = &r->tally;
	tally_settle_sizes(t);
	struct sums_before *b = calloc(1, sizeof(*b));
	if (b) {
		b->sites = calloc(t->site_count + 1u, sizeof(*b->sites));
		b->threads = calloc(t->thread_count + 1u, sizeof(*b->threads));
		b->sizes = calloc(t->sizes.count + t->part_sizes.count + 1, sizeof(*b->sizes));
		b->at_ns = now.ns - r->began.ns;
		b->with_live = with_live;
	}
	if (!b || !has_arrays(b) || !samples_copy(&r->samples, &b->samples) ||
		(with_live && !check_start_init(&b->start, 0, t))) {
		recorder_reset_end(b);
		return "there is no memory";
	}
	copy_sums(b, t);
	recorder_reset_end(r->before);
	r->before = b;
	/* Dumps then have none of the mappings that are there now either. */
	if (with_live && r->mode.mappings != MODE_MAPPINGS_OFF) {
		recorder_write_mappings(r);
		if (!r->mappings.kept.failed)
			buf_clear(&r->mappings.kept);
	}
	r->resets++;
	if (!r->folds && t->thread_count)
		recorder_put_mark(r, recorder_any_thread(r), MARK_RESET, strlen(MARK_RESET),
			max(r->merge.delivered_until, now.tsc));
	return NULL;
}

uint64_t recorder_reset_ns(const struct recorder *r)
{
	return r->before ? r->before->at_ns : 0;
}

static void site_take_off(struct site_counters *now, const struct site_counters *before)
{
	now->allocations -= before->allocations;
	now->allocated_bytes -= before->allocated_bytes;
	now->temporary -= before->temporary;
	now->same_frame -= before->same_frame;
	now->failed -= before->failed;
}

/* How often a size had been requested. A part may have it, too. */
static uint64_t allocations_before(const struct sums_before *b, uint64_t size)
{
	size_t low = 0, high = b->size_count;
	uint64_t sum = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (b->sizes[middle].size < size)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < b->size_count && b->sizes[low].size == size; low++)
		sum += b->sizes[low].allocations;
	return sum;
}

static void sizes_take_off(struct tally_sizes *sizes, const struct sums_before *b)
{
	for (size_t i = 0; i < sizes->capacity; i++) {
		struct tally_size *one = &sizes->places[i];
		if (!one->allocations)
			continue;
		one->allocations -= allocations_before(b, one->size);
		sizes->count -= !one->allocations;
	}
}

static bool list_old_blocks(const struct recorder *r, struct old_block_vec *ret)
{
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(&r->live, &walk))
		return false;
	bool ok = true;
	for (size_t n; ok && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));)
		for (size_t i = 0; ok && i < n; i++)
			ok = check_start_precedes(
				     &r->before->start, blocks[i].thread, blocks[i].number) ||
			     old_block_vec_push(ret, blocks[i]);
	live_table_walk_end(&walk);
	return ok;
}

static void take_off_block(struct recorder *r, const struct live_entry *block)
{
	struct heap_counters *heap = &r->tally.heap;
	struct site_counters *site = &r->tally.sites[block->site].counters;
	struct live_entry taken;
	if (!live_table_take(&r->live, block->address, &taken))
		return;
	site->live_blocks--;
	site->live_bytes -= block->size;
	heap->live_blocks--;
	heap->live_bytes -= block->size;
	heap->live_padding -= account_padding(block->size);
}

static void take_off_live(struct recorder *r)
{
	struct old_block_vec blocks;
	old_block_vec_init(&blocks);
	if (list_old_blocks(r, &blocks))
		for (size_t i = 0; i < blocks.len; i++)
			take_off_block(r, &blocks.data[i]);
	else
		recorder_keep_error(r, error_no_memory());
	old_block_vec_deinit(&blocks);
}

void recorder_take_off_sums(struct recorder *r)
{
	const struct sums_before *b = r->before;
	struct tally *t = &r->tally;
	if (!b)
		return;
	tally_settle(t);
	if (b->with_live)
		take_off_live(r);
	for (uint32_t i = 0; i < b->site_count; i++)
		site_take_off(&t->sites[i].counters, &b->sites[i]);
	for (uint32_t i = 0; i < b->thread_count; i++) {
		struct call_counters *calls = &t->threads[i].calls;
		calls->allocations -= b->threads[i].allocations;
		calls->allocated_bytes -= b->threads[i].allocated_bytes;
		calls->frees -= b->threads[i].frees;
		calls->temporary -= b->threads[i].temporary;
	}
	t->heap.failed -= b->failed;
	samples_take_off(&r->samples, &b->samples);
	sizes_take_off(&t->sizes, b);
}
