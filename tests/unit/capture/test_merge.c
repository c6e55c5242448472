/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which the merge tells what is in rings, and what it makes of nonsense. */
#include "unit/merge_story.h"

CASE(forks, "a fork is told at its stamp, is no event, and what follows is no earlier")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, HW_R_TIME, 1000);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(7, 24));
	image_put(shm, 0, HW_R_FORK | STAMPED, 2000);
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(8, 1));
	check_pass("T0:100 0+a0:24 0<2000 0+b0:1");
	CHECK_U64(report.stamp, 2000);
	CHECK_U64(merge.events, 2);
	check_drained(0);
	image_put(shm, 0, HW_R_FORK); /* without a stamp it is nonsense */
	check_pass("");
	CHECK_U64(merge.damaged, 1);
	story_end();
}

static void on_stack(void *context, uint32_t thread, uint64_t bytes)
{
	CHECK(context == &report);
	tell("%u/%" PRIu64, thread, bytes);
}

static void check_stacks(const char *expected)
{
	report.line[0] = 0;
	merge_each_stack(&merge, on_stack, &report);
	CHECK_STR(report.line, expected);
}

CASE(stacks, "a stack is as deep as the events that were told, not as those that are still to come")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	struct hw_ring *ring = image_ring(shm, 0);
	ring->stack_top = 0x7000;
	image_put(shm, 0, HW_R_TIME, 1000);
	image_put(shm, 0, HW_R_STACK | 0x6000 << 8, W_ALLOC(0xa0) | STAMPED, W_SIZED(7, 24), 1001);
	image_put(shm, 0, W_ALLOC(0xb0) | STAMPED, W_SIZED(7, 1), 1002);
	image_put(shm, 1, W_ALLOC(0xc0) | STAMPED, W_SIZED(7, 2), 1003);
	image_ring(shm, 1)->busy = 1; /* nothing after its last event can be told yet */
	image_put(shm, 0, HW_R_STACK | 0x2000 << 8, W_ALLOC(0xd0) | STAMPED, W_SIZED(7, 3), 1004);
	check_pass("T0:100 0+a0:24 0+b0:1 T1:101 1+c0:2");
	uint64_t asked = ring->stack_asked;
	check_stacks("0/4096");
	CHECK(ring->stack_asked != asked);
	check_stacks("");
	image_ring(shm, 1)->busy = 0;
	check_pass("0+d0:3");
	check_stacks("0/20480");
	image_put(shm, 0, HW_R_STACK); /* no stack is there */
	image_put(shm, 0, W_ALLOC(0xe0) | STAMPED, W_SIZED(7, 4), 1005);
	check_pass("0+e0:4");
	check_stacks("");
	CHECK_U64(merge.damaged, 0);
	story_end();
}

/* The words of a mark with that name, as long as is claimed; the last one is the stamp. */
static size_t mark_words(uint64_t *words, const char *name, uint64_t claimed, uint64_t stamp)
{
	size_t count = (size_t)(claimed + 7) / 8;
	memset(words, 0, (count + 2) * sizeof(*words));
	words[0] = W_MARK(claimed) | STAMPED;
	memcpy(words + 1, name, strlen(name) < claimed ? strlen(name) : claimed);
	words[count + 1] = stamp;
	return count + 2;
}

CASE(marks, "marks of all lengths stand where they were set, are no events, and end at a NUL")
{
	char name[HW_MARK_NAME_MAX + 1] = "", expected[2 * HW_MARK_NAME_MAX];
	story_begin(HZ);
	image_claim(shm, 0, 100);
	for (size_t bytes = 1; bytes <= HW_MARK_NAME_MAX; bytes++) {
		uint64_t words[HW_R_WORDS_LONGEST], stamp = 1000 + bytes;
		name[bytes - 1] = (char)('a' + bytes % 26);
		image_put(shm, 0, W_ALLOC(0xa0 + bytes), W_SIZED(7, bytes));
		image_put_words(shm, 0, words, mark_words(words, name, bytes, stamp));
		snprintf(expected, sizeof(expected), "%s0+%zx:%zu 0@%s",
			bytes == 1 ? "T0:100 " : "", 0xa0 + bytes, bytes, name);
		check_pass(expected);
		CHECK_U64(report.stamp, stamp);
		check_drained(0);
	}
	CHECK_U64(merge.events, HW_MARK_NAME_MAX);
	uint64_t words[HW_R_WORDS_LONGEST];
	image_put_words(shm, 0, words, mark_words(words, "", 200, 2000)); /* of zeros: no name */
	image_put_words(shm, 0, words, mark_words(words, "two", 200, 2000));
	check_pass("0@two");
	CHECK_U64(merge.damaged, 0);
	story_end();
}

CASE(marks_shared, "a mark in the shared ring is of the thread that is named before it")
{
	uint64_t words[HW_R_WORDS_LONGEST];
	story_begin(HZ);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200));
	image_put_words(shm, HW_RING_SHARED, words, mark_words(words, "handler's", 9, 30));
	image_put(shm, HW_RING_SHARED, W_FOREIGN(201), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 40);
	check_pass("T0:200 0@handler's T1:201 1+b0:2");
	story_end();
}

CASE(marks_cut, "a mark that is not all there ends its ring")
{
	uint64_t words[HW_R_WORDS_LONGEST];
	size_t count = mark_words(words, "name", HW_MARK_NAME_MAX, 9);
	for (size_t there = 1; there < count; there++) {
		story_begin(HZ);
		image_claim(shm, 0, 100);
		image_put_words(shm, 0, words, there);
		check_pass("");
		CHECK_U64(merge.damaged, 1);
		story_end();
	}
}

CASE(one_thread, "one thread without stamps: the order of its ring")
{
	story_begin(HZ);
	check_pass("");
	image_claim(shm, 0, 100);
	image_put(shm, 0, HW_R_TIME, 1000);
	image_put(shm, 0, W_ALLOC(0xa0) + HW_CALLOC, W_SIZED(7, 24));
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(8, 1));
	image_put(shm, 0, HW_R_FREE_SAME_FRAME + HW_DELETE_ARRAY + (0xa0 << 8));
	check_pass("T0:100 0+a0:24 0+b0:1 0-a0");
	CHECK(report.same_frame);
	CHECK_U64(report.free_kind, HW_DELETE_ARRAY);
	CHECK_U64(report.stamp, 1000);
	CHECK_U64(report.stack, 8);
	check_drained(0);
	image_put(shm, 0, HW_R_FAILED | HW_NEW << 8, 9, 1ull << 40);
	check_pass("0!1099511627776");
	CHECK_U64(report.kind, HW_NEW);
	CHECK_U64(report.stack, 9);
	check_pass("");
	CHECK_U64(merge.events, 4);
	CHECK_U64(merge.damaged, 0);
	story_end();
}

CASE(order, "stamps decide between rings")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_claim(shm, 2, 102);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	image_put(shm, 0, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 40);
	image_put(shm, 0, W_FREE(0xb0) | STAMPED, 50);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 20);
	image_put(shm, 1, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 3), 60);
	image_put(shm, 2, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 4), 30);
	check_pass("T0:100 0+a0:1 T1:101 1-a0 T2:102 2+a0:4 0+b0:2 0-b0 1+b0:3");
	for (uint32_t i = 0; i < 3; i++)
		check_drained(i);
	story_end();
}

CASE(then_stamped, "a thread that was alone, and then was not")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, HW_R_TIME, 10);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(1, 2));
	image_put(shm, 0, W_FREE(0xb0) | STAMPED, 30);
	image_claim(shm, 1, 101);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 20);
	image_put(shm, 1, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 3), 40);
	check_pass("T0:100 0+a0:1 0+b0:2 T1:101 1-a0 0-b0 1+b0:3");
	story_end();
}

CASE(busy, "a ring that is busy holds the others back until it tells")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_ring(shm, 1)->busy = 0x7ffc0000;
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("");
	CHECK_U64(image_ring(shm, 0)->tail, 0);
	CHECK_U64(shm->progress, 1); /* who waits for room is to go on waiting */
	shm->stalled_at = shm->progress + 1;
	check_pass("");
	CHECK_U64(shm->progress, 1); /* but not who has given up */
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 5);
	check_pass("T0:101 0-a0");
	image_ring(shm, 1)->busy = 0;
	check_pass("T1:100 1+a0:1");
	story_end();
}

CASE(busy_bound, "what a busy ring brings is later than when it was last seen idle")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_put(shm, 1, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 1), 5);
	check_pass("T0:101 0+b0:1");
	image_ring(shm, 1)->busy = 0x7ffc0000;
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T1:100 1+a0:1"); /* long before */
	uint64_t stamp = __builtin_ia32_rdtsc();
	image_put(shm, 0, W_FREE(0xa0) | STAMPED, stamp);
	check_pass("");
	image_ring(shm, 1)->busy = 0;
	report.line[0] = '\0';
	while (!report.line[0])
		merge_pass(&merge, false); /* until the stamp is a margin ago */
	CHECK_STR(report.line, "1-a0");
	story_end();
}

CASE(stuck, "a ring that stays busy without moving does not hold the others for ever")
{
	story_begin(HZ_IMPATIENT);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_ring(shm, 1)->busy = 0x7ffc0000;
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("");
	uint64_t progress = shm->progress;
	check_pass("T0:100 0+a0:1");
	CHECK_U64(shm->progress, progress + 1); /* room was made */
	check_pass("");
	CHECK_U64(shm->progress, progress + 1); /* and nothing is waited for */
	/* It comes back after all. */
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 5);
	check_pass("T1:101 1-a0");
	story_end();
}

CASE(realloc_halves, "a realloc is two steps, and other threads' may lie between")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	image_put(shm, 0, W_REALLOC(0xb0) | STAMPED, W_SIZED(2, 2), 0xa0, 20, 40);
	image_put(shm, 0, W_FREE(0xb0) | STAMPED, 60);
	image_put(shm, 1, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 3), 30);
	image_put(shm, 1, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 4), 70);
	check_pass("T0:100 0+a0:1 0-a0 T1:101 1+a0:3 0+b0:2 0-b0 1+b0:4");
	CHECK_U64(merge.events, 5);
	image_put(shm, 0, W_REALLOC(0xc0), W_SIZED(5, HW_R_SIZE_BIG), 1ull << 33, 0xa0);
	check_pass("0-a0 0+c0:8589934592");
	CHECK_U64(report.kind, HW_REALLOC);
	CHECK_U64(report.stack, 5);
	CHECK_U64(merge.events, 6);
	check_drained(0);
	story_end();
}

CASE(realloc_changed, "a realloc that becomes something else between its halves ends its ring")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_ring(shm, 1)->busy = 0x7ffc0000;
	image_put(shm, 0, W_REALLOC(0xb0) | STAMPED, W_SIZED(2, 2), 0xa0, 20, 40);
	image_put(shm, 1, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 3), 30);
	check_pass("T0:100 0-a0 T1:101 1+a0:3");
	*image_word(shm, 0, 0) = W_ALLOC(0xc0);
	image_ring(shm, 1)->busy = 0;
	check_pass("");
	CHECK_U64(merge.damaged, 1);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 50);
	check_pass("1-a0");
	story_end();
}

CASE(sizes, "sizes of all sizes")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 0));
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(1, HW_R_SIZE_BIG - 1));
	image_put(shm, 0, W_ALLOC(0xc0), W_SIZED(1, HW_R_SIZE_BIG), HW_R_SIZE_BIG);
	image_put(
		shm, 0, W_ALLOC(0xd0) | STAMPED, W_SIZED(UINT32_MAX, HW_R_SIZE_BIG), UINT64_MAX, 9);
	check_pass("T0:100 0+a0:0 0+b0:4294967294 0+c0:4294967295 0+d0:18446744073709551615");
	CHECK_U64(report.stack, UINT32_MAX);
	CHECK_U64(report.stamp, 9);
	story_end();
}

CASE(lost, "lost events are told where they are missing, and are no events")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
	image_put(shm, 0, W_LOST(77));
	image_put(shm, 0, W_FREE(0xa0));
	check_pass("T0:100 0+a0:1 0?77 0-a0");
	CHECK_U64(merge.events, 2);
	story_end();
}

CASE(nonsense, "nonsense ends its ring, not the others")
{
	static const uint64_t nonsense[] = {0, 0x08, 0x17, 0x1f, 0x33, 0x7f, 0xff, 0x07, W_ALLOC(0),
		W_REALLOC(0), UINT64_MAX, W_MARK(5), W_MARK(0) | STAMPED, W_MARK(256) | STAMPED,
		W_MARK(1ull << 55) | STAMPED, W_MARK(255) | STAMPED};
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		story_begin(HZ);
		image_claim(shm, 0, 100);
		image_claim(shm, 1, 101);
		image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
		image_put(shm, 0, nonsense[i], 0, 0, 0, 0, 0);
		image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(1, 1));
		image_put(shm, 1, W_ALLOC(0xc0) | STAMPED, W_SIZED(1, 2), 10);
		check_pass("T0:100 0+a0:1 T1:101 1+c0:2");
		CHECK_U64(merge.damaged, 1);
		check_drained(0);
		/* Its next owner starts anew. */
		image_put(shm, 0, W_FREE(0xa0));
		check_pass("");
		image_claim(shm, 0, 102);
		check_pass("");
		image_put(shm, 0, W_FREE(0xa0) | STAMPED, 20);
		check_pass("T2:102 2-a0");
		story_end();
	}
}

CASE(cut, "a record that is not all there ends its ring")
{
	static const uint64_t record[] = {
		W_REALLOC(0xa0) | STAMPED, W_SIZED(1, HW_R_SIZE_BIG), 1ull << 33, 0xb0, 10, 20};
	for (size_t words = 1; words < 6; words++) {
		story_begin(HZ);
		image_claim(shm, 0, 100);
		image_put_words(shm, 0, record, words);
		check_pass("");
		CHECK_U64(merge.damaged, 1);
		story_end();
	}
}

CASE(mad_heads, "heads that jump anywhere")
{
	static const uint64_t heads[] = {
		UINT64_MAX, 1ull << 63, HW_RING_WORDS_LARGE + 1, 1ull << 32};
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		story_begin(HZ);
		image_claim(shm, 0, 100);
		image_ring(shm, 0)->head = heads[i];
		check_pass("");
		CHECK_U64(merge.damaged, 1);
		image_ring(shm, 0)->head = 5;
		check_pass("");
		image_ring(shm, 0)->tail = 12345; /* ours: what it says does not matter */
		check_pass("");
		story_end();
	}
}

/* The thread of a ring goes on as a new producer, which has seen a change of the mode. */
static void see_change(uint32_t ring, uint32_t changes)
{
	struct hw_ring *r = image_ring(shm, ring);
	r->began = r->head;
	r->generation = hw_generation_next(r->generation, changes);
}

CASE(changed, "after a change of the mode words of before are passed over, and give their room")
{
	static struct merge before;
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_put(shm, 0, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 20);
	before = merge;
	const struct merge_sink sink = merge.sink;
	rings.changes = 1;
	merge_init(&merge, &rings.source, &sink);
	merge_go_on(&merge, &before);
	/* None has seen it. Who is in an event holds nobody up. */
	image_ring(shm, 1)->busy = 1;
	check_pass("");
	check_drained(0);
	image_ring(shm, 1)->busy = 0;
	/* One has, with words of before that are still to be passed over, and a third begins. */
	image_put(shm, 0, W_ALLOC(0xc0) | STAMPED, W_SIZED(1, 3), 30);
	see_change(0, 1);
	image_put(shm, 0, W_FREE(0xa0) | STAMPED, 40);
	image_put(shm, 1, W_FREE(0xb0) | STAMPED, 35);
	image_claim(shm, 2, 102);
	see_change(2, 1);
	image_put(shm, 2, W_ALLOC(0xd0) | STAMPED, W_SIZED(1, 4), 50);
	check_pass("T1:100 1-a0 T2:102 2+d0:4");
	check_drained(0);
	check_drained(1);
	/* What has seen more than there was is of no use here. */
	see_change(1, 2);
	image_put(shm, 1, W_FREE(0xd0) | STAMPED, 60);
	check_pass("");
	CHECK_U64(merge.damaged, 0);
	merge_deinit(&before);
	rings.changes = 0;
	story_end();
}

CASE(changed_meanwhile,
	"a thread that goes on between two looks at its ring is passed over up to there")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	struct hw_ring *r = image_ring(shm, 0);
	r->generation = hw_generation_next(r->generation, 0);
	r->began = 3; /* and the head of that moment is not to be seen yet */
	check_pass("");
	CHECK_U64(merge.damaged, 0);
	CHECK_U64(r->tail, 3);
	story_end();
}

CASE(future, "what is later than the pass waits, even for nobody: a new ring may come between")
{
	story_begin(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), UINT64_MAX);
	image_put(shm, 0, W_FREE(0xa0) | STAMPED, 7);
	check_pass("");
	report.line[0] = '\0';
	image_ring(shm, 0)->busy = 1;
	merge_pass(&merge, true);
	CHECK_STR(report.line, "T0:100 0+a0:1 0-a0");
	check_drained(0);
	story_end();
}

TAP_MAIN
