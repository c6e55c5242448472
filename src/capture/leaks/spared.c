/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/spared.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define REVIEW_LEAST 1024u
/* Further ones are no memory of a program's. */
#define ROOTS_MAX (1u << 16)

void spared_init(struct spared *spared)
{
	*spared = (struct spared){.review = REVIEW_LEAST};
}

void spared_deinit(struct spared *spared)
{
	spared_blocks_deinit(&spared->blocks);
	spared_spans_deinit(&spared->spans);
	spared_threads_deinit(&spared->threads);
	spared_roots_deinit(&spared->roots);
}

static bool is_there(const struct live *live, const struct spared_block *block)
{
	struct live_block now;
	return live_find(live, block->address, &now) && now.thread == block->thread &&
	       now.number == block->number;
}

/* Drops blocks that have been freed, when there are twice as many as were left the last time. */
static void review(struct spared *spared, const struct live *live)
{
	size_t kept = 0;
	if (spared->blocks.len < spared->review)
		return;
	for (size_t i = 0; i < spared->blocks.len; i++) {
		if (is_there(live, &spared->blocks.data[i]))
			spared->blocks.data[kept++] = spared->blocks.data[i];
	}
	spared->blocks.len = kept;
	spared->review = kept < REVIEW_LEAST / 2 ? REVIEW_LEAST : 2 * kept;
}

/* The block that an address is in the middle of: rare enough to go through all of them. */
static bool find_around(const struct live *live, uint64_t address, struct live_block *ret)
{
	struct live_walk walk;
	_cleanup_free_ struct live_block *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_walk_begin(live, &walk))
		return false;
	bool found = false, beyond = false;
	for (size_t n; !beyond && (n = live_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; i < n && !beyond; i++) {
			beyond = blocks[i].address > address;
			if (!beyond && address - blocks[i].address < blocks[i].size) {
				*ret = blocks[i];
				found = beyond = true;
			}
		}
	}
	live_walk_end(&walk);
	return found;
}

static bool spare_block(struct spared *spared, const struct live *live, uint64_t address)
{
	struct live_block block;
	if (!live_find(live, address, &block) && !find_around(live, address, &block))
		return true; /* not one that is known: of before, or of another allocator */
	review(spared, live);
	return spared_blocks_push(
		&spared->blocks, (struct spared_block){block.address, block.number, block.thread});
}

static bool begin(struct spared *spared, uint32_t thread, uint64_t allocations)
{
	size_t *last = spared_threads_find(&spared->threads, thread);
	/* What was ended before with nothing allocated since goes on. */
	struct spared_span *span = last ? &spared->spans.data[*last] : NULL;
	if (span && (span->end == UINT64_MAX || span->end == allocations)) {
		span->end = UINT64_MAX;
		return true;
	}
	struct spared_span fresh = {allocations, UINT64_MAX, thread};
	last = spared_threads_insert(&spared->threads, thread, NULL);
	if (!last || !spared_spans_push(&spared->spans, fresh))
		return false;
	*last = spared->spans.len - 1;
	return true;
}

static void end(struct spared *spared, uint32_t thread, uint64_t allocations)
{
	const size_t *last = spared_threads_find(&spared->threads, thread);
	if (last && spared->spans.data[*last].end == UINT64_MAX)
		spared->spans.data[*last].end = allocations;
}

static void root_end(struct spared *spared, uint64_t start, uint64_t stop)
{
	for (size_t i = 0; i < spared->roots.len; i++) {
		struct spared_root *root = &spared->roots.data[i];
		if (root->start != start || root->end != stop)
			continue;
		*root = spared->roots.data[--spared->roots.len];
		return;
	}
}

bool spared_tell(struct spared *spared, const struct live *live, uint32_t thread,
	uint64_t allocations, enum hw_told what, uint64_t address, uint64_t bytes)
{
	uint64_t stop = bytes < UINT64_MAX - address ? address + bytes : UINT64_MAX;
	switch (what) {
	case HW_TOLD_IGNORE:
		return spare_block(spared, live, address);
	case HW_TOLD_DISABLE:
		return begin(spared, thread, allocations);
	case HW_TOLD_ENABLE:
		end(spared, thread, allocations);
		return true;
	case HW_TOLD_ROOT:
		return address == stop || spared->roots.len >= ROOTS_MAX ||
		       spared_roots_push(&spared->roots, (struct spared_root){address, stop});
	case HW_TOLD_ROOT_END:
		root_end(spared, address, stop);
		return true;
	case HW_TOLD_FREED_FROM: /* of no block that is spared */
		return true;
	}
	return true;
}

void spared_thread_end(struct spared *spared, uint32_t thread, uint64_t allocations)
{
	end(spared, thread, allocations);
}

static int by_thread_and_number(const void *a, const void *b)
{
	const struct spared_span *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static bool spans_have(const struct spared_span *spans, size_t count, const struct live_block *b)
{
	size_t low = 0, high = count; /* the first span that is behind the block */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct spared_span *s = &spans[middle];
		if (s->thread < b->thread || (s->thread == b->thread && s->from <= b->number))
			low = middle + 1;
		else
			high = middle;
	}
	return low && spans[low - 1].thread == b->thread && b->number < spans[low - 1].end;
}

/* Of spans: each live block is looked at. */
static bool find_in_spans(
	const struct spared *spared, const struct live *live, struct spared_addresses *ret)
{
	size_t count = spared->spans.len;
	if (!count)
		return true;
	struct live_walk walk;
	_cleanup_free_ struct spared_span *spans = calloc(count, sizeof(*spans));
	_cleanup_free_ struct live_block *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!spans || !blocks || !live_walk_begin(live, &walk))
		return false;
	memcpy(spans, spared->spans.data, count * sizeof(*spans));
	qsort(spans, count, sizeof(*spans), by_thread_and_number);
	bool ok = true;
	for (size_t n; ok && (n = live_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++)
			ok = !spans_have(spans, count, &blocks[i]) ||
			     spared_addresses_push(ret, blocks[i].address);
	}
	live_walk_end(&walk);
	return ok;
}

bool spared_find(const struct spared *spared, const struct live *live, struct spared_addresses *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < spared->blocks.len; i++) {
		const struct spared_block *block = &spared->blocks.data[i];
		ok = !is_there(live, block) || spared_addresses_push(ret, block->address);
	}
	return ok && find_in_spans(spared, live, ret);
}
