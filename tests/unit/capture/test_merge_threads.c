/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose the words in rings are: threads that have one, share one, come late, end, and leave it to
 * others; rings of each size. */
#include "capture/leaks/paused_target.h"
#include "unit/merge_story.h"

CASE(shared, "the shared ring: each record behind the name of its thread")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_FREE(0xa0) | STAMPED, 20);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(201), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(100), W_ALLOC(0xc0) | STAMPED, W_SIZED(1, 3), 40);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_ALLOC(0xd0) | STAMPED, W_SIZED(1, 4), 50);
	check_pass("T0:100 0+a0:1 T1:200 1-a0 T2:201 2+b0:2 0+c0:3 1+d0:4");
	check_drained(HW_RING_SHARED);
	/* Then one of them gets a ring of its own, and stays who it is. */
	image_claim(shm, 1, 200);
	image_put(shm, 1, W_FREE(0xd0) | STAMPED, 60);
	check_pass("1-d0");
	story_end();
}

CASE(shared_nameless, "a record in the shared ring that is nobody's is dropped and counted")
{
	story_begin(HZ);
	image_put(shm, HW_RING_SHARED, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	image_put(shm, HW_RING_SHARED, W_REALLOC(0xc0) | STAMPED, W_SIZED(1, 2), 0xb0, 40, 50);
	check_pass("");
	CHECK_U64(merge.dropped, 2);
	CHECK_U64(merge.events, 2);
	check_drained(HW_RING_SHARED);
	story_end();
}

CASE(no_more_threads, "threads beyond the limit are dropped and counted, in any ring")
{
	story_begin(HZ);
	report.no_threads = true;
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_FREE(0xa0) | STAMPED, 20);
	check_pass("");
	CHECK_U64(merge.dropped, 2);
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_STR(report.line, "");
	CHECK_U64(merge.threads.len, 0);
	story_end();
}

CASE(ended_unread,
	"a thread that got a ring late and ended is itself until the ring's words are told")
{
	story_begin(HZ);
	uint32_t dead = 200;
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	check_pass("T0:200 0+b0:2");
	image_claim(shm, 0, 200);
	image_put(shm, 0, W_FREE(0xb0) | STAMPED, 40);
	merge_reclaim(&merge, all_but_one_live, &dead);
	check_pass("0-b0");
	report.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(report.line, "0.");
	CHECK_U64(merge.threads.len, 0);
	story_end();
}

CASE(same_id, "a thread id that is used again is another thread, though the first one's ring is "
	      "not free yet")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_claim(shm, 1, 100);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 20);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(100), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	check_pass("T1:100 1-a0 1+b0:2");
	report.line[0] = '\0';
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_STR(report.line, "0. 1.");
	story_end();
}

CASE(many_ringless, "hundreds of threads without a ring end together")
{
	story_begin(HZ);
	for (uint32_t i = 0; i < 300; i++)
		image_put(shm, HW_RING_SHARED, W_FOREIGN(100 + i), W_FREE(0x10) | STAMPED, 1 + i);
	merge_pass(&merge, false);
	CHECK_U64(merge.threads.len, 300);
	report.line[0] = '\0';
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_U64(merge.threads.len, 0);
	CHECK(strlen(report.line) > 300 * strlen("0. "));
	story_end();
}

CASE(moving, "a realloc in the shared ring: others' events come between its beginning and its end")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_MOVING(0xa0) | STAMPED, 20);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 3), 30);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_REALLOC(0xb0) | STAMPED, W_SIZED(2, 2),
		0xa0, 40, 40);
	check_pass("T0:100 0+a0:1 T1:200 1~a0 0+a0:3 1-a0 1+b0:2");
	CHECK_U64(merge.events, 3);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_MOVING(0xb0)); /* never without a stamp */
	check_pass("");
	CHECK_U64(merge.damaged, 1);
	story_end();
}

/* Rings are handed out from the first on: those between must have been in use. */
static void claim_up_to(uint32_t ring)
{
	for (uint32_t i = 0; i < ring; i += 15)
		image_claim(shm, i, 1000 + i);
	image_claim(shm, ring, 100);
	check_pass("");
}

CASE(laps, "a ring of many laps: pads at the ends, every record once and in order")
{
	const uint32_t ring = HW_RINGS_LARGE + HW_RINGS_MEDIUM;
	story_begin(HZ);
	claim_up_to(ring);
	const uint64_t words = hw_ring_words(ring);
	uint64_t serial = 0, checked = 0;
	for (unsigned round = 0; round < 5000; round++) {
		for (unsigned i = 0; i < 1 + round % 5; i++) {
			uint64_t head = image_ring(shm, ring)->head;
			uint64_t record[] = {W_ALLOC(0x10), W_SIZED(3, HW_R_SIZE_BIG), ++serial};
			size_t count = serial % 3 ? 2 : 3;
			if (count == 2)
				record[1] = W_SIZED(3, serial);
			if ((head & (words - 1)) + count > words) {
				*image_word(shm, ring, head) = HW_R_PAD;
				image_ring(shm, ring)->head = (head | (words - 1)) + 1;
			}
			image_put_words(shm, ring, record, count);
		}
		char expected[512] = "";
		for (size_t used = 0; checked < serial; used = strlen(expected)) {
			checked++;
			snprintf(expected + used, sizeof(expected) - used, "%s0+10:%" PRIu64,
				checked == 1 ? "T0:100 "
				: used       ? " "
					     : "",
				checked);
		}
		check_pass(expected);
		check_drained(ring);
	}
	CHECK(image_ring(shm, ring)->head > 8 * words);
	CHECK_U64(merge.damaged, 0);
	story_end();
}

CASE(far_rings, "rings of each size are looked at, and only those that could be in use")
{
	story_begin(HZ);
	image_claim(shm, HW_RING_SHARED - 1, 100);
	image_put(shm, HW_RING_SHARED - 1, W_ALLOC(0xa0), W_SIZED(1, 1));
	check_pass("");
	for (uint32_t i = 0; i < HW_RING_SHARED; i++)
		image_claim(shm, i, 1000 + i);
	check_pass("T0:1511 0+a0:1");
	CHECK_U64(merge.lane_count, HW_RING_SHARED);
	story_end();
}

CASE(reuse, "a ring of an ended thread goes to a new one")
{
	story_begin(HZ);
	uint32_t dead = 100;
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_put(shm, 0, W_FREE(0xa0) | STAMPED, 20);
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_ACTIVE); /* not all of it was told */
	check_pass("0-a0");
	report.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(report.line, "0.");
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_FREE);
	CHECK_U64(image_ring(shm, 1)->state, HW_RING_ACTIVE);

	/* The new one has the ring and has not said its name: it must not lose it again. */
	image_ring(shm, 0)->state = HW_RING_ACTIVE;
	check_pass("");
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_ACTIVE);
	image_claim(shm, 0, 102);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 2), 30);
	check_pass("T1:102 1+a0:2");
	story_end();
}

CASE(reuse_shared, "an ended thread's ring is free before its words in the shared ring are told")
{
	story_begin(HZ);
	uint32_t dead = 100;
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_put(shm, HW_RING_SHARED, W_FOREIGN(100), W_FREE(0xa0) | STAMPED, 20);
	report.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(report.line, "");
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_FREE);
	check_pass("0-a0");
	report.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(report.line, "0.");
	story_end();
}

CASE(busy, "a thread in the middle of an event is seen, in a ring of its own and in the shared one")
{
	struct hw_shm *one = image_create();
	CHECK(!target_is_busy(one));
	image_ring(one, 0)->busy = 1;
	CHECK(!target_is_busy(one)); /* left over: nobody has that ring */
	image_claim(one, 0, 100);
	CHECK(target_is_busy(one));
	image_ring(one, 0)->busy = 0;
	CHECK(!target_is_busy(one));
	image_ring(one, HW_RING_SHARED)->busy = 1;
	CHECK(target_is_busy(one));
	image_destroy(one);
}

CASE(ring_wanted, "threads that found no ring learn that there is one")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	shm->ring_wanted = 1;
	CHECK(event_source_lanes_wanted(&rings.source));
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK(!event_source_lanes_wanted(&rings.source));
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_FREE);
	CHECK_U64(shm->rings_freed, 1);
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_U64(shm->rings_freed, 1);
	story_end();
}

CASE(progress, "room is given back during a long pass, and progress says so")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	for (uint64_t i = 0; i < 10000; i++)
		image_put(shm, 0, W_FREE(0x10));
	uint64_t before = shm->progress;
	CHECK_U64(merge_pass(&merge, false), 10000);
	CHECK(shm->progress >= before + 3);
	check_drained(0);
	CHECK_U64(merge_pass(&merge, false), 0);
	CHECK_U64(merge.events, 10000);
	story_end();
}

TAP_MAIN
