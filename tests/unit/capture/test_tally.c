/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books against ones that copy every site at each new peak. */
#include "capture/recorder/tally.h"
#include "format/hpw.h"
#include "lib/tap.h"

#define SITES 9
#define BLOCKS_MAX 400

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

struct simple_site {
	uint64_t allocations, allocated, live_blocks, live_bytes, peak_blocks, peak_bytes,
		temporary, same_frame, min, max;
};

struct simple {
	struct simple_site sites[SITES];
	uint64_t live_blocks, live_bytes, peak_blocks, peak_bytes, peak_stamp;
};

static void simple_alloc(struct simple *s, uint32_t site, uint64_t size, uint64_t stamp)
{
	struct simple_site *x = &s->sites[site];
	if (!x->allocations || size < x->min)
		x->min = size;
	if (size > x->max)
		x->max = size;
	x->allocations++;
	x->allocated += size;
	x->live_blocks++;
	x->live_bytes += size;
	s->live_blocks++;
	s->live_bytes += size;
	if (s->live_bytes <= s->peak_bytes)
		return;
	s->peak_bytes = s->live_bytes;
	s->peak_blocks = s->live_blocks;
	s->peak_stamp = stamp;
	for (unsigned i = 0; i < SITES; i++) {
		s->sites[i].peak_blocks = s->sites[i].live_blocks;
		s->sites[i].peak_bytes = s->sites[i].live_bytes;
	}
}

static void simple_free(struct simple *s, const struct tally_free *f)
{
	struct simple_site *x = &s->sites[f->site];
	x->live_blocks--;
	x->live_bytes -= f->block.size;
	x->temporary += f->block.temporary;
	x->same_frame += f->block.same_frame;
	s->live_blocks--;
	s->live_bytes -= f->block.size;
}

static void check_same(const struct tally *tally, const struct simple *s)
{
	CHECK_U64(tally->heap.live_blocks, s->live_blocks);
	CHECK_U64(tally->heap.live_bytes, s->live_bytes);
	CHECK_U64(tally->heap.peak_blocks, s->peak_blocks);
	CHECK_U64(tally->heap.peak_bytes, s->peak_bytes);
	CHECK_U64(tally->peak_stamp, s->peak_stamp);
	uint64_t peak = 0;
	for (unsigned i = 0; i < SITES; i++) {
		const struct tally_site *is = &tally->sites[i];
		const struct simple_site *x = &s->sites[i];
		CHECK_U64(is->allocations, x->allocations);
		CHECK_U64(is->allocated_bytes, x->allocated);
		CHECK_U64(is->live_blocks, x->live_blocks);
		CHECK_U64(is->live_bytes, x->live_bytes);
		CHECK_U64(is->peak_blocks, x->peak_blocks);
		CHECK_U64(is->peak_bytes, x->peak_bytes);
		CHECK_U64(is->temporary, x->temporary);
		CHECK_U64(is->same_frame, x->same_frame);
		CHECK_U64(is->max_size, x->max);
		CHECK_U64(is->min_size, x->allocations ? x->min : UINT64_MAX);
		peak += is->peak_bytes;
	}
	CHECK_U64(peak, tally->heap.peak_bytes);
}

static void check_sizes(const struct tally *tally, const uint64_t *allocations, size_t count)
{
	size_t seen = 0;
	for (size_t i = 0; i < tally->sizes.capacity; i++) {
		if (!tally->sizes.places[i].allocations)
			continue;
		CHECK(tally->sizes.places[i].size < count);
		CHECK_U64(tally->sizes.places[i].allocations,
			allocations[tally->sizes.places[i].size]);
		seen++;
	}
	CHECK_U64(seen, tally->sizes.count);
	for (size_t i = 0; i < count; i++)
		seen -= allocations[i] != 0;
	CHECK_U64(seen, 0);
}

static void sites_make(struct tally *tally)
{
	tally_init(tally);
	for (uint32_t i = 0; i < SITES; i++)
		CHECK_U64(tally_site(tally, 100 + i, HW_MALLOC), i);
	CHECK_U64(tally_thread_new(tally, 7, 5), 0);
}

static void check_random(uint64_t seed, uint64_t steps, uint64_t size_limit)
{
	struct tally tally;
	sites_make(&tally);
	struct simple simple = {.peak_bytes = 0};
	static struct tally_free blocks[BLOCKS_MAX];
	static uint64_t allocations[5000];
	memset(allocations, 0, sizeof(allocations));
	size_t count = 0;
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint64_t stamp = 1; stamp <= steps; stamp++) {
		if (count < BLOCKS_MAX && random_below(100) < 40 + stamp / 100 % 20) {
			uint32_t site = (uint32_t)random_below(SITES);
			uint64_t size = random_below(size_limit);
			tally_alloc(&tally, site, 0, size, stamp);
			simple_alloc(&simple, site, size, stamp);
			allocations[size]++;
			blocks[count++] =
				(struct tally_free){.site = site, .block = {.size = size}};
		} else if (count) {
			size_t i = random_below(count);
			struct tally_free f = blocks[i];
			f.block.temporary = random_below(2);
			f.block.same_frame = random_below(2);
			tally_free(&tally, &f);
			simple_free(&simple, &f);
			blocks[i] = blocks[--count];
		}
	}
	tally_settle(&tally);
	check_same(&tally, &simple);
	check_sizes(&tally, allocations, 5000);
	CHECK_U64(tally.threads[0].allocations, tally.calls.allocations);
	CHECK_U64(tally.threads[0].frees, tally.calls.frees);
	CHECK_U64(tally.calls.allocations - tally.calls.frees, tally.heap.live_blocks);
	tally_deinit(&tally);
}

CASE(random, "shares of the peak, and all else, by brute force")
{
	for (uint64_t seed = 1; seed <= 100; seed++)
		check_random(seed, 1 + seed * 37, seed % 3 ? 5000 : 3);
}

CASE(equal_peaks, "of two equal peaks the first counts")
{
	struct tally tally;
	sites_make(&tally);
	tally_alloc(&tally, 0, 0, 100, 1);
	tally_alloc(&tally, 1, 0, 50, 2);
	tally_free(&tally, &(struct tally_free){.site = 1, .block = {.size = 50}});
	tally_alloc(&tally, 2, 0, 50, 3);
	tally_settle(&tally);
	CHECK_U64(tally.heap.peak_bytes, 150);
	CHECK_U64(tally.peak_stamp, 2);
	CHECK_U64(tally.sites[0].peak_bytes, 100);
	CHECK_U64(tally.sites[1].peak_bytes, 50);
	CHECK_U64(tally.sites[1].live_bytes, 0);
	CHECK_U64(tally.sites[2].peak_bytes, 0);
	CHECK_U64(tally.sites[2].peak_blocks, 0);
	tally_deinit(&tally);
}

CASE(empty_blocks, "blocks of no bytes make no peak")
{
	struct tally tally;
	sites_make(&tally);
	tally_alloc(&tally, 0, 0, 0, 1);
	CHECK_U64(tally.heap.peak_epoch, 0);
	tally_alloc(&tally, 0, 0, 1, 2);
	tally_alloc(&tally, 1, 0, 0, 3);
	tally_settle(&tally);
	CHECK_U64(tally.heap.peak_blocks, 2);
	CHECK_U64(tally.sites[1].peak_blocks, 0);
	CHECK_U64(tally.heap.live_blocks, 3);
	tally_deinit(&tally);
}

CASE(sites, "a site for each stack and kind, always the same")
{
	struct tally tally;
	tally_init(&tally);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t stack = 0; stack < 1000; stack++)
			for (unsigned kind = 0; kind < HW_ALLOC_KINDS; kind++)
				CHECK_U64(tally_site(&tally, stack * 7, kind),
					stack * HW_ALLOC_KINDS + kind);
	CHECK_U64(tally.site_count, 1000 * HW_ALLOC_KINDS);
	for (uint32_t i = 0; i < tally.site_count; i++) {
		CHECK_U64(tally.sites[i].stack, i / HW_ALLOC_KINDS * 7);
		CHECK_U64(tally.sites[i].kind, i % HW_ALLOC_KINDS);
	}
	tally_deinit(&tally);
}

CASE(sites_limit, "no more sites than a recording holds; the empty stack always has one")
{
	struct tally tally;
	tally_init(&tally);
	uint32_t stack = 0;
	while (tally_site(&tally, ++stack, HW_MALLOC) != UINT32_MAX)
		;
	CHECK_U64(tally.site_count, HPW_SITES_MAX - HW_ALLOC_KINDS);
	CHECK_U64(tally_site(&tally, stack - 1, HW_MALLOC), tally.site_count - 1);
	for (unsigned kind = 0; kind < HW_ALLOC_KINDS; kind++)
		CHECK(tally_site(&tally, 0, kind) < HPW_SITES_MAX);
	CHECK_U64(tally.site_count, HPW_SITES_MAX);
	tally_deinit(&tally);
}

CASE(threads, "no more threads than a block can name")
{
	struct tally tally;
	tally_init(&tally);
	for (uint32_t i = 0; i < UINT16_MAX; i++)
		CHECK_U64(tally_thread_new(&tally, i, 1), i);
	CHECK_U64(tally_thread_new(&tally, 1, 1), UINT32_MAX);
	tally_deinit(&tally);
}

CASE(threads_in_turn,
	"late threads share rows of ended ones, whose figures go on; early ones never do")
{
	struct tally tally;
	tally_init(&tally);
	uint32_t site = tally_site(&tally, 1, HW_MALLOC);
	for (uint32_t i = 0; i < TALLY_ROWS_OWN; i++) {
		CHECK_U64(tally_thread_new(&tally, i, 1), i);
		tally_thread_end(&tally, i);
	}
	CHECK_U64(tally_thread_new(&tally, 7, 1), TALLY_ROWS_OWN);
	CHECK_U64(tally_thread_new(&tally, 8, 1), TALLY_ROWS_OWN + 1);
	tally_alloc(&tally, site, TALLY_ROWS_OWN, 24, 2);
	tally_thread_end(&tally, TALLY_ROWS_OWN);
	CHECK_U64(tally_thread_new(&tally, 9, 3), TALLY_ROWS_OWN);
	struct tally_thread *row = &tally.threads[TALLY_ROWS_OWN];
	CHECK(row->tid == 9 && row->threads == 2 && !row->ended && row->fresh);
	CHECK_U64(row->first_stamp, 1);
	tally_alloc(&tally, site, TALLY_ROWS_OWN, 24, 4);
	CHECK(row->allocations == 2 && !row->fresh);
	CHECK_U64(tally.threads_seen, TALLY_ROWS_OWN + 3);
	CHECK_U64(tally.thread_count, TALLY_ROWS_OWN + 2);
	tally_deinit(&tally);
}

TAP_MAIN
