/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorder does not see where its events come from: the same random records over the rings of a
 * process, and played from memory by a source that shares nothing with them, make the same file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/recorder/recorder.h"
#include "lib/tap.h"
#include "unit/played_source.h"
#include "unit/ring_image.h"

#define HZ 1000000000u
#define NOBODY INT32_MAX /* no process has that id */
#define STEPS 18000

static struct feed feed;
static struct played_source played;
static struct hw_node nodes[FEED_NODES];
static struct clock_pair began, now;
static const struct event_module module = {.start = 0x400000,
	.end = 0x500000,
	.bias = 0x1000,
	.build_id_bytes = 3,
	.path_bytes = 11,
	.path = "/bin/played",
	.build_id = {1, 2, 3}};

static void begin(unsigned odd, unsigned lanes, uint64_t seed)
{
	random_state = seed;
	memset(&feed, 0, sizeof(feed));
	feed.odd = odd;
	feed.stamped = true;
	began = clock_pair_now();
	began.tsc = 1000;
	feed.stamp = began.tsc;
	/* All of it takes ten seconds. */
	now = (struct clock_pair){began.tsc + 10ull * HZ, began.ns + 10000000000ull};
	for (uint32_t i = 1; i < FEED_NODES; i++)
		nodes[i] = (struct hw_node){
			.frame = (1ull << HW_FRAME_ADDRESS_BITS) + 0x400000 + i, .parent = i / 2};
	unsigned lane = 0;
	for (unsigned i = 0; i < STEPS; i++) {
		if (!random_below(60))
			lane = (unsigned)random_below(lanes);
		feed_step(&feed, lane);
	}
	CHECK(feed.stamp + HZ < now.tsc);
}

static struct recorder *recorder_make(FILE *file, struct mode mode, struct event_source *source)
{
	const struct recorder_start start = {.pid = NOBODY,
		.target_pid = NOBODY,
		.tsc_hz = HZ,
		.source = source,
		.mode = mode,
		.began = began,
		.file = dup(fileno(file)),
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	r->chunk_steps = 28 * HPW_TIME_STEP; /* several chunks */
	return r;
}

/* What is true of all passes: nothing later than `now` comes. */
static uint64_t stamp_of_story(struct event_source *source)
{
	(void)source;
	return now.tsc;
}

static struct clock_pair clock_of_story(struct event_source *source)
{
	(void)source;
	return now;
}

static void put_module(struct hw_shm *shm)
{
	struct hw_module *m = (struct hw_module *)((char *)shm + HW_SHM_MODULES) + 1;
	*m = (struct hw_module){.start = module.start,
		.end = module.end,
		.bias = module.bias,
		.path_offset = 5,
		.path_bytes = module.path_bytes,
		.build_id_bytes = module.build_id_bytes};
	memcpy(m->build_id, module.build_id, module.build_id_bytes);
	memcpy((char *)shm + HW_SHM_STRINGS + 5, module.path, module.path_bytes);
	shm->modules = 2;
}

/* Of the thread of that ring or lane. A thread without a ring can't say a name, as the last. */
static const char *name_of(uint32_t lane)
{
	static const char *const names[FEED_LANES] = {"first", "second"};
	return names[lane];
}

/* The records of a lane go into the ring of the same number, those of `shared` into the shared one.
 */
static void publish(struct hw_shm *shm, uint32_t shared)
{
	for (uint32_t lane = 0; lane < FEED_LANES; lane++) {
		uint32_t ring = lane == shared ? HW_RING_SHARED : lane, from = 0;
		if (feed.records[lane] && lane == shared)
			image_put(shm, ring, W_FOREIGN(100 + lane));
		else if (feed.records[lane])
			image_claim(shm, ring, 100 + lane);
		for (uint32_t i = 0; i < feed.records[lane]; from = feed.ends[lane][i++])
			image_put_words(
				shm, ring, feed.words[lane] + from, feed.ends[lane][i] - from);
	}
}

/* The file of the feed by rings. */
static void record_rings(FILE *file, struct mode mode, uint32_t shared)
{
	struct recorder *r = recorder_make(file, mode, NULL);
	struct event_source_ops ops = *r->source->ops;
	ops.stamp = stamp_of_story;
	ops.clock = clock_of_story;
	r->source->ops = &ops;
	memcpy(image_nodes(r->shm), nodes, sizeof(nodes));
	put_module(r->shm);
	r->shm->notes = HW_NOTE_ATTACHED;
	r->shm->lost[HW_LOST_STALLED] = 7;
	image_ring(r->shm, 0)->wait_ns = image_ring(r->shm, 0)->longest_wait_ns = 12345;
	for (uint32_t lane = 0; lane < FEED_LANES; lane++) {
		if (name_of(lane))
			strcpy(image_ring(r->shm, lane)->name, name_of(lane));
	}
	publish(r->shm, shared);
	merge_pass(&r->merge, false);
	recorder_drain(r);
	recorder_service(r);
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	CHECK(totals.allocations > 1000 && totals.threads && !totals.write_error);
	CHECK(r->merge.damaged == 0 && r->merge.events > STEPS / 2);
	recorder_destroy(r);
}

/* The file of the feed played from memory. */
static void record_played(FILE *file, struct mode mode, uint32_t shared)
{
	played_init(&played, &feed, nodes, FEED_NODES, HZ, now);
	played.module = &module;
	played.notes = HW_NOTE_ATTACHED;
	played.report = (struct event_report){
		.lost = {[HW_LOST_STALLED] = 7}, .longest_wait_ns = 12345, .wait_ns = 12345};
	for (uint32_t lane = 0; lane < FEED_LANES; lane++)
		played.names[lane] = lane == shared ? NULL : name_of(lane);
	struct recorder *r = recorder_make(file, mode, &played.source);
	CHECK(!r->shm && recorder_is_called(r));
	while (recorder_is_called(r))
		CHECK(merge_pass(&r->merge, false));
	CHECK(played.lane_full > 3);
	recorder_drain(r);
	recorder_service(r);
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	CHECK_U64(totals.lost, 7); /* not those of HW_R_LOST besides */
	recorder_destroy(r);
}

/* All chunks but the first one, which says when and where that was. */
static uint8_t *read_chunks(FILE *file, size_t *ret_bytes)
{
	off_t bytes = lseek(fileno(file), 0, SEEK_END);
	struct hpw_chunk_header first;
	CHECK(pread(fileno(file), &first, sizeof(first), sizeof(struct hpw_header)) ==
		sizeof(first));
	CHECK_U64(first.type, HPW_TARGET);
	off_t from = (off_t)(sizeof(struct hpw_header) + sizeof(first) + first.stored_bytes);
	CHECK(bytes > from + 1000);
	*ret_bytes = (size_t)(bytes - from);
	uint8_t *chunks = malloc(*ret_bytes);
	CHECK(chunks && pread(fileno(file), chunks, *ret_bytes, from) == (ssize_t)*ret_bytes);
	return chunks;
}

static void compare(struct mode mode, unsigned odd, unsigned lanes, uint32_t shared, uint64_t seed)
{
	FILE *files[2] = {tmpfile(), tmpfile()};
	CHECK(files[0] && files[1]);
	begin(odd, lanes, seed);
	record_rings(files[0], mode, shared);
	record_played(files[1], mode, shared);
	size_t bytes[2];
	uint8_t *chunks[2] = {read_chunks(files[0], &bytes[0]), read_chunks(files[1], &bytes[1])};
	CHECK_U64(bytes[0], bytes[1]);
	CHECK(!memcmp(chunks[0], chunks[1], bytes[0]));
	for (int i = 0; i < 2; i++) {
		free(chunks[i]);
		fclose(files[i]);
	}
}

CASE(exact, "every event, by rings or played, makes the same recording")
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		compare((struct mode){.kind = MODE_EXACT}, seed % 2 ? 40 : 0, FEED_LANES,
			FEED_LANES, seed);
}

CASE(sampled, "so do sampled events, which stand for others")
{
	for (uint64_t seed = 11; seed <= 13; seed++)
		compare((struct mode){.kind = MODE_SAMPLE, .sample_bytes = 4096}, 40, FEED_LANES,
			FEED_LANES, seed);
}

CASE(aggregated, "so do events of which sums are kept alone")
{
	compare((struct mode){.kind = MODE_AGGREGATE}, 40, FEED_LANES, FEED_LANES, 21);
}

CASE(one_lane, "so do those of one thread, where the other lanes have none")
{
	compare((struct mode){.kind = MODE_EXACT}, 30, 1, FEED_LANES, 31);
}

CASE(shared, "so do those of a thread that has no ring and writes to the shared one")
{
	compare((struct mode){.kind = MODE_EXACT}, 0, FEED_LANES, FEED_LANES - 1, 41);
	compare((struct mode){.kind = MODE_EXACT}, 0, FEED_LANES, 0, 42);
}

CASE(few_nodes, "a stack that is not in the source's table is counted, and is the root")
{
	FILE *file = tmpfile();
	CHECK(file);
	begin(0, FEED_LANES, 51);
	played_init(&played, &feed, nodes, 3, HZ, now);
	struct recorder *r = recorder_make(file, (struct mode){.kind = MODE_EXACT}, &played.source);
	while (recorder_is_called(r))
		CHECK(merge_pass(&r->merge, false));
	merge_pass(&r->merge, true);
	CHECK(r->stacks_bad > 1000);
	for (uint32_t i = 0; i < r->tally.site_count; i++)
		CHECK(r->tally.sites[i].stack < 3);
	struct recorder_end end;
	CHECK(!recorder_is_leaving(r, &end)); /* there is nobody who could say so */
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	CHECK(totals.notes & HPW_NOTE_NOT_ATTACHED);
	recorder_destroy(r);
	fclose(file);
}

CASE(silent, "a source that reports nothing has lost what its records say")
{
	FILE *file = tmpfile();
	CHECK(file);
	begin(30, 1, 61);
	played_init(&played, &feed, nodes, FEED_NODES, HZ, now);
	struct event_source_ops ops = *played.source.ops;
	ops.report = NULL;
	ops.thread_name = NULL;
	ops.is_called = NULL;
	played.source.ops = &ops;
	struct recorder *r = recorder_make(file, (struct mode){.kind = MODE_EXACT}, &played.source);
	CHECK(!recorder_is_called(r));
	while (recorder_drain(r))
		recorder_service(r);
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	CHECK(totals.lost > 10);
	CHECK_U64(totals.lost, r->tally.lost);
	CHECK_U64(r->merge.damaged, 0);
	recorder_destroy(r);
	fclose(file);
}

TAP_MAIN
