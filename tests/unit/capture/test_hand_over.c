/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorder hands the rings over to the next one, as at a change of the mode. The callback of its
 * waits is the program: what it does there, it does after the change was published.
 */
#include <stdio.h>
#include <unistd.h>

#include "capture/recorder/recorder.h"
#include "lib/tap.h"
#include "unit/ring_image.h"

#define HZ 1000000000u
#define SECOND_NS 1000000000ull
#define NOBODY INT32_MAX /* no process has that id */

static struct clock_pair now;
static struct event_source_ops ops;
static unsigned calls;

static uint64_t stamp_now(struct event_source *source)
{
	(void)source;
	return now.tsc;
}

static struct clock_pair clock_now(struct event_source *source)
{
	(void)source;
	return now;
}

static void time_passes(uint64_t ns)
{
	now.ns += ns;
	now.tsc += ns;
}

static struct recorder *recorder_make(struct recorder *before)
{
	FILE *file = tmpfile();
	CHECK(file);
	const struct recorder_start start = {.pid = NOBODY,
		.target_pid = NOBODY,
		.tsc_hz = HZ,
		.before = before,
		.before_file = before ? "before" : NULL,
		.mode = {.kind = before ? MODE_SAMPLE : MODE_EXACT, .sample_bytes = before ? 1 : 0},
		.began = now,
		.file = dup(fileno(file)),
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	fclose(file);
	ops = *r->source->ops;
	ops.stamp = stamp_now;
	ops.clock = clock_now;
	r->source->ops = &ops;
	return r;
}

static struct recorder *recorder_begin(void)
{
	now = (struct clock_pair){.tsc = 1000 * SECOND_NS, .ns = SECOND_NS};
	calls = 0;
	return recorder_make(NULL);
}

static uint64_t allocations(struct recorder *r, enum hpw_exit_kind how)
{
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = how}, &totals);
	CHECK(!totals.write_error && !totals.lost);
	return totals.allocations;
}

static void put_block(struct hw_shm *shm, uint32_t ring, uint64_t address)
{
	time_passes(1000);
	image_put(shm, ring, W_ALLOC(address) | HW_R_STAMPED, W_SIZED(0, 24), now.tsc);
}

/* The thread of the ring has seen the change. */
static void see_change(struct hw_shm *shm, uint32_t ring)
{
	struct hw_ring *r = image_ring(shm, ring);
	r->began = r->head;
	r->generation = hw_generation_next(r->generation, shm->mode_changes);
}

/* Ring 0 goes on as before for an event and sees the change then; ring 1 was in an event, and ends
 * it later; ring 2 rests. */
static void go_over(void *context)
{
	struct hw_shm *shm = context;
	CHECK_U64(shm->mode_changes, 1);
	time_passes(SECOND_NS / 1000);
	if (calls == 0) {
		put_block(shm, 0, 0x2000);
		see_change(shm, 0);
		put_block(shm, 0, 0x3000);
		image_claim(shm, 3, 103); /* a thread begins, and has not looked */
		put_block(shm, 3, 0x9000);
	}
	if (calls == 3) {
		put_block(shm, 1, 0x5000);
		image_ring(shm, 1)->busy = 0;
		see_change(shm, 3);
		put_block(shm, 3, 0xa000);
	}
	calls++;
}

CASE(all_once, "all that threads do before they see a change is in the recording before, the rest "
	       "in the next")
{
	struct recorder *r = recorder_begin();
	struct hw_shm *shm = r->shm;
	for (uint32_t ring = 0; ring < 3; ring++)
		image_claim(shm, ring, 100 + ring);
	put_block(shm, 0, 0x1000);
	put_block(shm, 1, 0x4000);
	put_block(shm, 2, 0x6000);
	image_ring(shm, 1)->busy = 1;
	struct recorder *next = recorder_make(r);
	const struct recorder_meanwhile meanwhile = {go_over, shm};
	recorder_hand_over(r, next, &meanwhile);
	CHECK(calls > 3);
	CHECK_U64(allocations(r, HPW_EXIT_MODE), 6);
	recorder_destroy(r);
	shm = next->shm;
	/* Ring 1 wakes, has seen it, and works. Ring 2 had looked long before. */
	see_change(shm, 1);
	put_block(shm, 1, 0x7000);
	put_block(shm, 2, 0x8000);
	image_put(shm, 2, W_FREE(0x8000) | HW_R_STAMPED, now.tsc);
	see_change(shm, 2);
	put_block(shm, 2, 0xb000);
	time_passes(SECOND_NS);
	recorder_drain(next);
	CHECK_U64(next->merge.missed, 2);
	CHECK_U64(next->merge.damaged, 0);
	CHECK_U64(allocations(next, HPW_EXIT_STATUS), 4);
	recorder_destroy(next);
}

static void stay_busy(void *context)
{
	(void)context;
	calls++;
	time_passes(SECOND_NS);
}

CASE(stuck, "a thread that never ends its event delays a change for some seconds, and what it "
	    "leaves is counted")
{
	struct recorder *r = recorder_begin();
	image_claim(r->shm, 0, 100);
	put_block(r->shm, 0, 0x1000);
	image_ring(r->shm, 0)->busy = 1;
	struct recorder *next = recorder_make(r);
	recorder_hand_over(r, next, &(struct recorder_meanwhile){stay_busy, NULL});
	CHECK(calls >= 2 && calls < 10);
	CHECK_U64(allocations(r, HPW_EXIT_MODE), 1);
	recorder_destroy(r);
	put_block(next->shm, 0, 0x2000);
	image_ring(next->shm, 0)->busy = 0;
	see_change(next->shm, 0);
	put_block(next->shm, 0, 0x3000);
	time_passes(SECOND_NS);
	recorder_drain(next);
	CHECK_U64(next->merge.missed, 1);
	CHECK_U64(allocations(next, HPW_EXIT_STATUS), 1);
	recorder_destroy(next);
}

/* Always in an event, and always another one: it holds up what others do. */
static void saturate(void *context)
{
	struct recorder *r = context;
	struct hw_ring *ring = image_ring(r->shm, 0);
	/* The stamp is from before the request: taken then, and written only now. */
	image_put(r->shm, 0, W_ALLOC(0x10000 + 0x100 * calls++) | HW_R_STAMPED, W_SIZED(0, 24),
		1000 * SECOND_NS + 2000 + calls);
	ring->busy = calls + 1;
	time_passes(SECOND_NS);
}

CASE(too_much, "a recorder that does not catch up says so in time, and does in the end")
{
	struct recorder *r = recorder_begin();
	image_claim(r->shm, 0, 100);
	put_block(r->shm, 0, 0x1000);
	image_ring(r->shm, 0)->busy = 1;
	image_claim(r->shm, 1, 101);
	time_passes(SECOND_NS);
	CHECK(!recorder_take_all(r, &(struct recorder_meanwhile){saturate, r}));
	CHECK(calls >= 5 && calls < 20);
	image_ring(r->shm, 0)->busy = 0;
	CHECK(recorder_take_all(r, &(struct recorder_meanwhile){stay_busy, NULL}));
	recorder_destroy(r);
}

static void resize(void *context)
{
	struct hw_shm *shm = context;
	time_passes(1000);
	if (calls++ == 0) {
		/* Thread 101 sees the change and frees 0x1000; 100 had looked, and gets that place.
		 */
		see_change(shm, 1);
		image_put(shm, 1, W_FREE(0x1000) | HW_R_STAMPED, now.tsc);
		image_put(shm, 0, W_REALLOC(0x1000) | HW_R_STAMPED, W_SIZED(0, 40), 0x2000, now.tsc,
			now.tsc + 1);
		image_ring(shm, 0)->busy = 0;
	}
}

CASE(resized, "a block that is given out again by a realloc from before the change is no disorder")
{
	struct recorder *r = recorder_begin();
	image_claim(r->shm, 0, 100);
	image_claim(r->shm, 1, 101);
	put_block(r->shm, 0, 0x1000);
	put_block(r->shm, 0, 0x2000);
	image_ring(r->shm, 0)->busy = 1;
	struct recorder *next = recorder_make(r);
	recorder_hand_over(r, next, &(struct recorder_meanwhile){resize, r->shm});
	CHECK_U64(r->live.blocks, 1);
	CHECK_U64(r->tally.repairs, 0);
	CHECK_U64(allocations(r, HPW_EXIT_MODE), 3);
	recorder_destroy(r);
	time_passes(SECOND_NS);
	recorder_drain(next);
	CHECK_U64(next->merge.missed, 0);
	CHECK_U64(next->stopped_frees, 1);
	recorder_destroy(next);
}

CASE(nonsense, "words that make no sense are counted as one event at least")
{
	struct recorder *r = recorder_begin();
	image_claim(r->shm, 0, 100);
	struct recorder *next = recorder_make(r);
	recorder_hand_over(r, next, NULL);
	recorder_destroy(r);
	image_put(next->shm, 0, 0x7e, 0x7e);
	recorder_drain(next);
	CHECK_U64(next->merge.missed, 1);
	image_ring(next->shm, 0)->head = 1ull << 60;
	recorder_drain(next);
	CHECK_U64(next->merge.missed, 2);
	recorder_destroy(next);
}

TAP_MAIN
