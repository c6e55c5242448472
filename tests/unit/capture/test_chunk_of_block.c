/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which chunk a block was allocated is known up to a limit of memory: there the sums end, and
 * what comes behind is right by its events alone. Two recorders, one with a low limit, over the
 * same rings.
 */
#include "capture/recorder/recorder.h"
#include "format/hpw.h"
#include "unit/read_part.h"
#include "unit/ring_image.h"

#define HZ 1000000000u
#define LANES 2u
#define BLOCKS 700u
#define ROUNDS 60u
#define ROUND_STEPS 500u
#define CHUNK_STEPS ((uint64_t)HPW_TIME_STEP)
#define STEPS ((uint64_t)ROUNDS * ROUND_STEPS)

static uint64_t random_state = 1;

/* xorshift64* */
static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

CASE(finds, "a block's chunk is the one in which its thread had come to its number")
{
	struct block_chunks block_chunks;
	block_chunks_init(&block_chunks, 100);
	block_chunks_add(&block_chunks, 1, 1, 0);
	block_chunks_add(&block_chunks, 1, 2, 10);
	block_chunks_add(&block_chunks, 1, 5, 10); /* it allocated nothing in the second one */
	block_chunks_add(&block_chunks, 3, 5, 0);
	block_chunks_add(&block_chunks, 1, 9, 12);
	CHECK_U64(chunk_of_block(&block_chunks, 1, 0), 1);
	CHECK_U64(chunk_of_block(&block_chunks, 1, 9), 1);
	CHECK_U64(chunk_of_block(&block_chunks, 1, 10), 5);
	CHECK_U64(chunk_of_block(&block_chunks, 1, 11), 5);
	CHECK_U64(chunk_of_block(&block_chunks, 1, 12), 9);
	CHECK_U64(chunk_of_block(&block_chunks, 1, 1000), 9);
	CHECK_U64(chunk_of_block(&block_chunks, 3, 7), 5);
	CHECK(!block_chunks.given_up);
	block_chunks_deinit(&block_chunks);
}

CASE(gives_up, "beyond the limit nothing is known any more, and nothing is kept")
{
	struct block_chunks block_chunks;
	block_chunks_init(&block_chunks, 3);
	for (uint32_t i = 0; i < 3; i++)
		block_chunks_add(&block_chunks, i, 1 + i, 0);
	CHECK(!block_chunks.given_up && block_chunks.rows == 3);
	block_chunks_add(&block_chunks, 0, 7, 50);
	CHECK(block_chunks.given_up && !block_chunks.threads);
	CHECK_U64(chunk_of_block(&block_chunks, 0, 1), 0);
	block_chunks_add(&block_chunks, 0, 8, 60);
	CHECK(block_chunks.given_up && !block_chunks.threads);
	block_chunks_deinit(&block_chunks);
}

/* rows_max 0: as many as usual. */
static struct recorder *make(int file, uint64_t rows_max)
{
	const struct recorder_start start = {.pid = getpid(),
		.target_pid = getpid(),
		.tsc_hz = HZ,
		.began = clock_pair_now(),
		.file = file,
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	r->chunk_steps = CHUNK_STEPS;
	if (rows_max)
		r->encoder.block_chunks.rows_max = rows_max;
	for (uint32_t i = 1; i < 50; i++)
		image_nodes(r->shm)[i] = (struct hw_node){.frame = 0x1000 + i, .parent = i / 2};
	for (uint32_t lane = 0; lane < LANES; lane++)
		image_claim(r->shm, lane, 100 + lane);
	return r;
}

/* Allocates a block that is free, or frees it, from either thread. */
static void put_step(struct recorder *const r[2], uint64_t stamp)
{
	static bool live[BLOCKS];
	uint32_t lane = (uint32_t)random_below(LANES), block = (uint32_t)random_below(BLOCKS);
	uint64_t address = 0x10000 + block * 4096ull;
	uint64_t sized = W_SIZED(1 + random_below(40), 1 + random_below(3000));
	for (int i = 0; i < 2; i++) {
		if (live[block])
			image_put(r[i]->shm, lane, W_FREE(address) | HW_R_STAMPED, stamp);
		else
			image_put(r[i]->shm, lane, W_ALLOC(address) | HW_R_STAMPED, sized, stamp);
	}
	live[block] = !live[block];
}

/* Records the same twice. */
static void record(char paths[2][64], uint64_t rows_max)
{
	struct recorder *r[2];
	for (int i = 0; i < 2; i++) {
		strcpy(paths[i], "/tmp/heapwise-births-XXXXXX");
		int file = mkstemp(paths[i]);
		CHECK(file >= 0);
		r[i] = make(file, i ? rows_max : 0);
	}
	uint64_t stamp = r[0]->began.tsc;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < ROUND_STEPS; i++)
			put_step(r, stamp += 1 + random_below(9));
		for (int i = 0; i < 2; i++)
			merge_pass(&r[i]->merge, true);
	}
	CHECK(!r[0]->encoder.block_chunks.given_up && r[0]->sums.on);
	CHECK(!r[1]->sums.on);
	for (int i = 0; i < 2; i++) {
		struct recorder_totals totals;
		recorder_finish(r[i], &(struct recorder_end){HPW_EXIT_STATUS, 0}, &totals);
		CHECK(!totals.write_error && !totals.repairs);
		recorder_destroy(r[i]);
	}
}

static void check_part(char paths[2][64], uint64_t from, uint64_t to)
{
	struct part_figures by_sums, by_events;
	CHECK(read_part(paths[0], from, to, &by_sums));
	CHECK(read_part(paths[1], from, to, &by_events));
	CHECK(by_sums.by_sums && !by_events.by_sums);
	by_events.by_sums = by_sums.by_sums;
	if (memcmp(&by_sums, &by_events, sizeof(by_sums)) != 0)
		tap_fail("from step %" PRIu64 " to %" PRIu64 ": %" PRIu64 " and %" PRIu64
			 " allocations, %" PRIu64 " and %" PRIu64 " bytes live",
			from, to, by_sums.allocations, by_events.allocations, by_sums.live_bytes,
			by_events.live_bytes);
}

CASE(sums_end, "where the limit is reached the sums end, and every part is right as before")
{
	char paths[2][64];
	record(paths, 40);
	uint64_t chunks = count_chunks(paths[0], HPW_EVENTS),
		 sums = count_chunks(paths[1], HPW_SUMS);
	CHECK(chunks > 100 && count_chunks(paths[0], HPW_SUMS) == chunks);
	CHECK_U64(count_chunks(paths[1], HPW_EVENTS), chunks);
	/* Two threads: a row each of every chunk, and the last of these has no sums. */
	CHECK_U64(sums, 20);
	uint64_t end = sums * CHUNK_STEPS; /* about */
	const uint64_t at[] = {0, 1, end / 2, end - CHUNK_STEPS, end, end + 1, end + CHUNK_STEPS,
		STEPS / 2, STEPS - 1, UINT64_MAX};
	const size_t count = sizeof(at) / sizeof(at[0]);
	for (size_t i = 0; i < count; i++)
		for (size_t k = i ? i : 1; k < count; k++)
			check_part(paths, at[i], at[k]);
	for (int i = 0; i < 2; i++)
		unlink(paths[i]);
}

TAP_MAIN
