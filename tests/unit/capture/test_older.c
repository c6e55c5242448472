/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an attached process had before is entered before its events, however many of them come until
 * the list is there, and in whatever order its threads did what they did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/recorder/recorder.h"
#include "lib/tap.h"
#include "unit/ring_image.h"

#define NOBODY INT32_MAX /* no process has that id */
/* Two of the smallest rings: their laps are short. */
#define FIRST (HW_RINGS_LARGE + HW_RINGS_MEDIUM)
#define PAIRS 40000u
#define WORDS_A_PAIR 5ull

static struct older_list list;
static struct clock_pair began;
static uint64_t stamp;

static struct recorder *recorder_begin(FILE **ret_file)
{
	CHECK(older_list_open(&list));
	*ret_file = tmpfile();
	CHECK(*ret_file);
	began = clock_pair_now();
	stamp = began.tsc;
	const struct recorder_start start = {.pid = NOBODY,
		.target_pid = NOBODY,
		.tsc_hz = 1000000000u,
		.attached_ns = 1,
		.older = &list,
		.mode = {.kind = MODE_EXACT},
		.began = began,
		.file = dup(fileno(*ret_file)),
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	CHECK(r->held);
	image_claim(r->shm, FIRST, 100);
	image_claim(r->shm, FIRST + 1, 101);
	return r;
}

static void recorder_end(struct recorder *r, FILE *file)
{
	recorder_destroy(r);
	older_list_close(&list);
	fclose(file);
}

/* As a thread does: no record wraps. */
static void put(struct recorder *r, uint32_t ring, const uint64_t *words, size_t count)
{
	struct hw_ring *to = image_ring(r->shm, ring);
	uint64_t lap = hw_ring_words(ring), left = lap - to->head % lap;
	if (left < count) {
		*image_word(r->shm, ring, to->head) = HW_R_PAD;
		to->head += left;
	}
	image_put_words(r->shm, ring, words, count);
	CHECK(to->head - to->tail <= lap);
}

static void put_alloc(struct recorder *r, uint32_t ring, uint64_t address, uint64_t size)
{
	const uint64_t words[] = {W_ALLOC(address) | HW_R_STAMPED, W_SIZED(0, size), ++stamp};
	put(r, ring, words, 3);
}

static void put_free(struct recorder *r, uint32_t ring, uint64_t address)
{
	const uint64_t words[] = {W_FREE(address) | HW_R_STAMPED, ++stamp};
	put(r, ring, words, 2);
}

/* All that was put is older than that by far. */
static void drain(struct recorder *r)
{
	for (int i = 0; i < 10; i++) {
		usleep(200);
		recorder_drain(r);
	}
}

/* Blocks that one thread allocates and the other frees: in any other order frees are of unknown
 * blocks, and blocks are where others are. */
static void put_pairs(struct recorder *r, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t address = 0x10000 + i % 7 * 64;
		put_alloc(r, FIRST + i % 2, address, 32);
		put_free(r, FIRST + (i / 3) % 2, address);
		if (i % 300 == 0)
			recorder_drain(r);
	}
}

CASE(holds, "what comes before the list is kept in order, and then told")
{
	FILE *file;
	struct recorder *r = recorder_begin(&file);
	put_pairs(r, PAIRS);
	recorder_drain(r);
	CHECK_U64(r->merge.events, 0);
	CHECK(image_ring(r->shm, FIRST)->head > 10ull * hw_ring_words(FIRST));
	CHECK_U64(image_ring(r->shm, FIRST)->tail, image_ring(r->shm, FIRST)->head);
	CHECK(r->held->moved >= PAIRS * WORDS_A_PAIR);
	older_list_give_up(&list, HPW_OLDER_ALLOCATOR);
	drain(r);
	CHECK_U64(r->older.why, HPW_OLDER_ALLOCATOR);
	CHECK_U64(r->merge.events, 2 * PAIRS);
	/* From now on it is as any other recorder. */
	CHECK(!r->held);
	CHECK(r->source == &r->rings.source);
	put_pairs(r, 100);
	put_alloc(r, FIRST, 0x20000, 50);
	drain(r);
	CHECK_U64(r->tally.heap.live_blocks, 1);
	CHECK_U64(r->tally.unknown_frees + r->stopped_frees + r->tally.repairs, 0);
	CHECK_U64(r->merge.damaged, 0);
	CHECK_U64(r->tally.threads_seen, 2);
	recorder_end(r, file);
}

/* Words of blocks that are freed at once. */
static void put_words(struct recorder *r, uint32_t ring, uint64_t words)
{
	for (uint64_t i = 0; i < words / WORDS_A_PAIR; i++) {
		put_alloc(r, ring, 0x10000 + ring * 64, 32);
		put_free(r, ring, 0x10000 + ring * 64);
	}
}

/* Events come with a stamp that is this much later than now. Returns false if it had come before
 * they were looked at. */
static bool full_lane_fills(uint64_t later)
{
	FILE *file;
	struct recorder *r = recorder_begin(&file);
	uint64_t ring = hw_ring_words(0) - 2ull * HW_R_WORDS_LONGEST;
	image_claim(r->shm, 0, 102);
	image_claim(r->shm, 1, 103);
	put_words(r, 1, WORDS_A_PAIR);
	stamp = began.tsc + later; /* nothing of it is taken yet */
	for (int i = 0; i < 3; i++) {
		put_words(r, 0, ring);
		recorder_drain(r);
	}
	older_list_give_up(&list, HPW_OLDER_ALLOCATOR);
	drain(r);
	if (clock_pair_now().tsc >= began.tsc + later) {
		recorder_end(r, file);
		return false;
	}
	CHECK_U64(r->merge.events, 2);
	for (int i = 0; i < 2; i++) {
		put_words(r, 0, i ? 1000 : ring);
		recorder_drain(r);
	}
	put_words(r, 1, ring);
	recorder_drain(r);
	CHECK(r->held && !r->held->lanes[1].is_ring && r->held->moved > r->held->most - ring);
	CHECK_U64(image_ring(r->shm, 1)->tail, image_ring(r->shm, 1)->head);
	uint64_t events = (5 * (ring / WORDS_A_PAIR) + 1000 / WORDS_A_PAIR + 1) * 2;
	while (r->merge.events < events)
		drain(r);
	CHECK_U64(r->tally.unknown_frees + r->stopped_frees + r->tally.repairs, 0);
	CHECK_U64(r->tally.heap.live_blocks, 0);
	recorder_end(r, file);
	return true;
}

CASE(full_lane, "a lane that has nothing is filled, although others have all the room")
{
	uint64_t later = 2000000000;
	while (!full_lane_fills(later))
		later *= 2;
}

static void fill_list(void)
{
	static const struct older_block blocks[] = {
		{0x1000, 104, 0}, {0x2000, 200, 0}, {0x3000, 300, 0}, {0x4000, 400, 0}};
	memcpy(list.blocks, blocks, sizeof(blocks));
	list.head->threads = 1;
	older_list_set_blocks(&list, 4);
}

static const char *name_of(const struct recorder *r, uint32_t site)
{
	const struct hw_node *node = image_nodes(r->shm) + r->tally.sites[site].stack;
	uint64_t row = (node->frame & HW_FRAME_ADDRESS_MASK) >> HW_FRAME_INSTRUCTION_BITS;
	CHECK_U64(node->frame >> HW_FRAME_ADDRESS_BITS, HW_FRAME_CODE);
	return r->older.code.names[row - 1];
}

CASE(enters, "blocks of the list come first, by type; one may be a mistake")
{
	FILE *file;
	struct recorder *r = recorder_begin(&file);
	put_free(r, FIRST, 0x1000);
	put_alloc(r, FIRST + 1, 0x1000, 10);
	put_free(r, FIRST + 1, 0x2000);
	drain(r);
	CHECK_U64(r->merge.events, 0);
	fill_list();
	drain(r);
	CHECK_U64(r->merge.events, 0); /* types are to come */
	list.blocks[0].type = list.blocks[2].type = older_list_add_name(&list, "a type");
	older_list_set_types(&list);
	drain(r);
	CHECK_U64(r->older.why, HPW_OLDER_TYPED);
	CHECK_U64(r->older.blocks, 4);
	CHECK_U64(r->older.bytes, 1004);
	CHECK_U64(r->tally.heap.live_blocks, 3);
	CHECK_U64(r->tally.heap.live_bytes, 300 + 400 + 10);
	CHECK_U64(r->tally.heap.peak_bytes, 1004);
	CHECK_U64(r->tally.unknown_frees + r->stopped_frees + r->tally.mismatched, 0);
	CHECK_STR(name_of(r, 0), "a type");
	CHECK_STR(name_of(r, 1), "block of unknown type");
	/* One may have been given back in the stop; a second one may not. */
	put_alloc(r, FIRST, 0x3000, 10);
	drain(r);
	CHECK_U64(r->tally.repairs, 0);
	put_alloc(r, FIRST, 0x4000, 10);
	drain(r);
	CHECK_U64(r->tally.repairs, 1);
	CHECK_U64(r->tally.heap.live_bytes, 30);
	/* Where events were lost, a free that is missing needs no other explanation. */
	r->shm->lost[HW_LOST_SAMPLED]++;
	put_alloc(r, FIRST, 0x4000, 10);
	drain(r);
	CHECK_U64(r->tally.repairs, 1);
	CHECK_U64(r->tally.lost, 0);
	recorder_end(r, file);
}

CASE(hurries, "what there is of a list has to do")
{
	FILE *file;
	struct recorder *r = recorder_begin(&file);
	fill_list();
	recorder_hurry_older(r);
	drain(r);
	CHECK_U64(r->older.why, HPW_OLDER_SIZED);
	CHECK_U64(r->tally.heap.live_blocks, 4);
	CHECK_STR(name_of(r, 0), "block of unknown type");
	recorder_end(r, file);
	r = recorder_begin(&file);
	put_alloc(r, FIRST, 0x5000, 10);
	recorder_hurry_older(r);
	recorder_take_older(r);
	CHECK_U64(r->older.why, HPW_OLDER_LATE);
	CHECK_U64(r->tally.heap.live_blocks, 1);
	recorder_end(r, file);
}

TAP_MAIN
