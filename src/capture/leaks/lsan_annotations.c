/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/lsan_annotations.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define REVIEW_LEAST 1024u
#define ROOTS_MAX (1u << 16)

void lsan_annotations_init(struct lsan_annotations *annotations)
{
	*annotations = (struct lsan_annotations){.review = REVIEW_LEAST};
}

void lsan_annotations_deinit(struct lsan_annotations *annotations)
{
	kept_blocks_deinit(&annotations->blocks);
	kept_spans_deinit(&annotations->spans);
	kept_threads_deinit(&annotations->threads);
	kept_roots_deinit(&annotations->roots);
}

static bool is_there(const struct live_table *live, const struct kept_block *block)
{
	struct live_entry now;
	return live_table_find(live, block->address, &now) && now.thread == block->thread &&
	       now.number == block->number;
}

/* Drops blocks that have been freed, when there are twice as many as were left the last time. */
static void drop_freed_blocks(struct lsan_annotations *annotations, const struct live_table *live)
{
	size_t kept = 0;
	if (annotations->blocks.len < annotations->review)
		return;
	for (size_t i = 0; i < annotations->blocks.len; i++) {
		if (is_there(live, &annotations->blocks.data[i]))
			annotations->blocks.data[kept++] = annotations->blocks.data[i];
	}
	annotations->blocks.len = kept;
	annotations->review = kept < REVIEW_LEAST / 2 ? REVIEW_LEAST : 2 * kept;
}

/* The block that an address is in the middle of: rare enough to go through all of them. */
static bool find_around(const struct live_table *live, uint64_t address, struct live_entry *ret)
{
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(live, &walk))
		return false;
	bool found = false, beyond = false;
	for (size_t n; !beyond && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; i < n && !beyond; i++) {
			beyond = blocks[i].address > address;
			if (!beyond && address - blocks[i].address < blocks[i].size) {
				*ret = blocks[i];
				found = beyond = true;
			}
		}
	}
	live_table_walk_end(&walk);
	return found;
}

static bool spare_block(
	struct lsan_annotations *annotations, const struct live_table *live, uint64_t address)
{
	struct live_entry block;
	if (!live_table_find(live, address, &block) && !find_around(live, address, &block))
		return true; /* not one that is known: of before, or of another allocator */
	drop_freed_blocks(annotations, live);
	return kept_blocks_push(&annotations->blocks,
		(struct kept_block){block.address, block.number, block.thread});
}

static void unspare_block(
	struct lsan_annotations *annotations, const struct live_table *live, uint64_t address)
{
	struct live_entry block;
	struct kept_blocks *blocks = &annotations->blocks;
	if (!live_table_find(live, address, &block) && !find_around(live, address, &block))
		return;
	for (size_t i = 0; i < blocks->len; i++) {
		const struct kept_block *kept = &blocks->data[i];
		if (kept->thread != block.thread || kept->number != block.number)
			continue;
		blocks->data[i] = blocks->data[--blocks->len];
		return;
	}
}

static bool begin_span(struct lsan_annotations *annotations, uint32_t thread, uint64_t allocations)
{
	size_t *last = kept_threads_find(&annotations->threads, thread);
	/* What was ended before with nothing allocated since goes on. */
	struct kept_span *span = last ? &annotations->spans.data[*last] : NULL;
	if (span && (span->end == UINT64_MAX || span->end == allocations)) {
		span->end = UINT64_MAX;
		return true;
	}
	struct kept_span fresh = {allocations, UINT64_MAX, thread};
	last = kept_threads_insert(&annotations->threads, thread, NULL);
	if (!last || !kept_spans_push(&annotations->spans, fresh))
		return false;
	*last = annotations->spans.len - 1;
	return true;
}

static void end_span(struct lsan_annotations *annotations, uint32_t thread, uint64_t allocations)
{
	const size_t *last = kept_threads_find(&annotations->threads, thread);
	if (last && annotations->spans.data[*last].end == UINT64_MAX)
		annotations->spans.data[*last].end = allocations;
}

static void root_end(struct lsan_annotations *annotations, uint64_t start, uint64_t stop)
{
	for (size_t i = 0; i < annotations->roots.len; i++) {
		struct kept_root *root = &annotations->roots.data[i];
		if (root->start != start || root->end != stop)
			continue;
		*root = annotations->roots.data[--annotations->roots.len];
		return;
	}
	annotations->roots_missed -= annotations->roots_missed > 0;
}

static bool root_begin(struct lsan_annotations *annotations, uint64_t start, uint64_t stop)
{
	if (start == stop)
		return true;
	if (annotations->roots.len < ROOTS_MAX)
		return kept_roots_push(&annotations->roots, (struct kept_root){start, stop});
	annotations->roots_missed++;
	return true;
}

bool lsan_annotations_add(struct lsan_annotations *annotations, const struct live_table *live,
	uint32_t thread, uint64_t allocations, enum hw_annotation what, uint64_t address,
	uint64_t bytes)
{
	uint64_t stop = bytes < UINT64_MAX - address ? address + bytes : UINT64_MAX;
	switch (what) {
	case HW_ANNOTATE_IGNORE:
		return spare_block(annotations, live, address);
	case HW_ANNOTATE_IGNORE_END:
		unspare_block(annotations, live, address);
		return true;
	case HW_ANNOTATE_DISABLE:
		return begin_span(annotations, thread, allocations);
	case HW_ANNOTATE_ENABLE:
		end_span(annotations, thread, allocations);
		return true;
	case HW_ANNOTATE_ROOT:
		return root_begin(annotations, address, stop);
	case HW_ANNOTATE_ROOT_END:
		root_end(annotations, address, stop);
		return true;
	case HW_ANNOTATE_FREED_FROM: /* these concern no kept block */
	case HW_ANNOTATE_CHECK:
	case HW_ANNOTATE_CHECK_END:
	case HW_ANNOTATE_LINE:
		return true;
	}
	return true;
}

void lsan_annotations_thread_end(
	struct lsan_annotations *annotations, uint32_t thread, uint64_t allocations)
{
	end_span(annotations, thread, allocations);
}

static int by_thread_and_number(const void *a, const void *b)
{
	const struct kept_span *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static bool spans_have(const struct kept_span *spans, size_t count, const struct live_entry *b)
{
	size_t low = 0, high = count; /* the first span that is after the block */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kept_span *s = &spans[middle];
		if (s->thread < b->thread || (s->thread == b->thread && s->from <= b->number))
			low = middle + 1;
		else
			high = middle;
	}
	return low && spans[low - 1].thread == b->thread && b->number < spans[low - 1].end;
}

/* Of spans: each live block is looked at. */
static bool find_in_spans(const struct lsan_annotations *annotations, const struct live_table *live,
	struct kept_addresses *ret)
{
	size_t count = annotations->spans.len;
	if (!count)
		return true;
	struct live_walk walk;
	_cleanup_free_ struct kept_span *spans = calloc(count, sizeof(*spans));
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!spans || !blocks || !live_table_walk_begin(live, &walk))
		return false;
	memcpy(spans, annotations->spans.data, count * sizeof(*spans));
	qsort(spans, count, sizeof(*spans), by_thread_and_number);
	bool ok = true;
	for (size_t n; ok && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++)
			ok = !spans_have(spans, count, &blocks[i]) ||
			     kept_addresses_push(ret, blocks[i].address);
	}
	live_table_walk_end(&walk);
	return ok;
}

bool lsan_annotations_find_kept(const struct lsan_annotations *annotations,
	const struct live_table *live, struct kept_addresses *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < annotations->blocks.len; i++) {
		const struct kept_block *block = &annotations->blocks.data[i];
		ok = !is_there(live, block) || kept_addresses_push(ret, block->address);
	}
	return ok && find_in_spans(annotations, live, ret);
}
