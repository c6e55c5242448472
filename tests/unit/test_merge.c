/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rings made by hand, and the order in which the merge tells what is in them. A line of steps:
 * T0:100 thread 0 starts, its id is 100; 0+a0:24 it allocates 24 bytes at 0xa0; 0-a0 it frees them;
 * 0!24 its call for 24 bytes fails; 0?3 it lost 3 events; 0<7 it
 * forks at stamp 7; 0@load it marks that moment; 0~a0 it begins to resize a block; 0. it ends.
 */
#include <stdarg.h>
#include <unistd.h>

#include "capture/merge.h"
#include "ring_image.h"

#define HZ 1000000000u
/* A program that is seen busy twice has been so for long. */
#define HZ_IMPATIENT 1u

static struct story {
	char line[8192];
	uint32_t threads;
	enum hw_alloc_kind kind;
	enum hw_free_kind free_kind;
	bool same_frame;
	uint32_t stack;
	uint64_t stamp;
	bool no_threads;
} told;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	size_t used = strlen(told.line);
	va_list args;
	va_start(args, format);
	if (used && used < sizeof(told.line) - 1)
		told.line[used++] = ' ';
	vsnprintf(told.line + used, sizeof(told.line) - used, format, args);
	va_end(args);
}

static uint32_t on_thread(void *context, uint32_t tid, uint64_t stamp)
{
	CHECK(context == &told);
	(void)stamp;
	if (told.no_threads)
		return MERGE_NO_THREAD;
	tell("T%u:%u", told.threads, tid);
	return told.threads++;
}

static void on_thread_end(void *context, uint32_t thread, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads);
	(void)stamp;
	tell("%u.", thread);
}

static void on_alloc(void *context, uint32_t thread, enum hw_alloc_kind kind, uint64_t address,
	uint32_t stack, uint64_t size, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads);
	told.kind = kind;
	told.stack = stack;
	told.stamp = stamp;
	tell("%u+%" PRIx64 ":%" PRIu64, thread, address, size);
}

static void on_free(void *context, uint32_t thread, enum hw_free_kind kind, bool same_frame,
	uint64_t address, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads);
	told.free_kind = kind;
	told.same_frame = same_frame;
	told.stamp = stamp;
	tell("%u-%" PRIx64, thread, address);
}

static void on_failed(void *context, uint32_t thread, enum hw_alloc_kind kind, uint32_t stack,
	uint64_t size, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads);
	told.kind = kind;
	told.stack = stack;
	told.stamp = stamp;
	tell("%u!%" PRIu64, thread, size);
}

static void on_lost(void *context, uint32_t thread, uint64_t count, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads);
	told.stamp = stamp;
	tell("%u?%" PRIu64, thread, count);
}

static void on_moving(void *context, uint32_t thread, uint64_t address)
{
	CHECK(context == &told && thread < told.threads);
	tell("%u~%" PRIx64, thread, address);
}

static void on_fork(void *context, uint32_t thread, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads);
	told.stamp = stamp;
	tell("%u<%" PRIu64, thread, stamp);
}

static void on_mark(void *context, uint32_t thread, const char *name, size_t bytes, uint64_t stamp)
{
	CHECK(context == &told && thread < told.threads && bytes && bytes <= HW_MARK_NAME_MAX);
	told.stamp = stamp;
	tell("%u@%.*s", thread, (int)bytes, name);
}

static struct merge merge;
static struct hw_shm *shm;

static void setup(uint64_t hz)
{
	static const struct merge_sink sink = {.context = &told,
		.on_thread = on_thread,
		.on_thread_end = on_thread_end,
		.on_alloc = on_alloc,
		.on_free = on_free,
		.on_failed = on_failed,
		.on_moving = on_moving,
		.on_lost = on_lost,
		.on_fork = on_fork,
		.on_mark = on_mark};
	memset(&told, 0, sizeof(told));
	shm = image_create();
	merge_init(&merge, shm, hz, &sink);
}

static void teardown(void)
{
	merge_deinit(&merge);
	image_destroy(shm);
}

/* One pass tells exactly this, and gives the room back. */
static void check_pass(const char *expected)
{
	told.line[0] = '\0';
	merge_pass(&merge, false);
	CHECK_STR(told.line, expected);
}

static void check_drained(uint32_t ring)
{
	CHECK_U64(image_ring(shm, ring)->tail, image_ring(shm, ring)->head);
}

static bool nobody_lives(void *context, uint32_t tid)
{
	(void)context;
	(void)tid;
	return false;
}

static bool all_but_one_live(void *context, uint32_t tid)
{
	return tid != *(const uint32_t *)context;
}

#define STAMPED HW_R_STAMPED

CASE(forks, "a fork is told at its stamp, is no event, and what follows is no earlier")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, HW_R_TIME, 1000);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(7, 24));
	image_put(shm, 0, HW_R_FORK | STAMPED, 2000);
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(8, 1));
	check_pass("T0:100 0+a0:24 0<2000 0+b0:1");
	CHECK_U64(told.stamp, 2000);
	CHECK_U64(merge.events, 2);
	check_drained(0);
	image_put(shm, 0, HW_R_FORK); /* without a stamp it is nonsense */
	check_pass("");
	CHECK_U64(merge.damaged, 1);
	teardown();
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
	setup(HZ);
	image_claim(shm, 0, 100);
	for (size_t bytes = 1; bytes <= HW_MARK_NAME_MAX; bytes++) {
		uint64_t words[HW_R_WORDS_LONGEST], stamp = 1000 + bytes;
		name[bytes - 1] = (char)('a' + bytes % 26);
		image_put(shm, 0, W_ALLOC(0xa0 + bytes), W_SIZED(7, bytes));
		image_put_words(shm, 0, words, mark_words(words, name, bytes, stamp));
		snprintf(expected, sizeof(expected), "%s0+%zx:%zu 0@%s",
			bytes == 1 ? "T0:100 " : "", 0xa0 + bytes, bytes, name);
		check_pass(expected);
		CHECK_U64(told.stamp, stamp);
		check_drained(0);
	}
	CHECK_U64(merge.events, HW_MARK_NAME_MAX);
	uint64_t words[HW_R_WORDS_LONGEST];
	image_put_words(shm, 0, words, mark_words(words, "", 200, 2000)); /* of zeros: no name */
	image_put_words(shm, 0, words, mark_words(words, "two", 200, 2000));
	check_pass("0@two");
	CHECK_U64(merge.damaged, 0);
	teardown();
}

CASE(marks_shared, "a mark in the shared ring is of the thread that is named before it")
{
	uint64_t words[HW_R_WORDS_LONGEST];
	setup(HZ);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200));
	image_put_words(shm, HW_RING_SHARED, words, mark_words(words, "handler's", 9, 30));
	image_put(shm, HW_RING_SHARED, W_FOREIGN(201), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 40);
	check_pass("T0:200 0@handler's T1:201 1+b0:2");
	teardown();
}

CASE(marks_cut, "a mark that is not all there ends its ring")
{
	uint64_t words[HW_R_WORDS_LONGEST];
	size_t count = mark_words(words, "name", HW_MARK_NAME_MAX, 9);
	for (size_t there = 1; there < count; there++) {
		setup(HZ);
		image_claim(shm, 0, 100);
		image_put_words(shm, 0, words, there);
		check_pass("");
		CHECK_U64(merge.damaged, 1);
		teardown();
	}
}

CASE(one_thread, "one thread without stamps: the order of its ring")
{
	setup(HZ);
	check_pass("");
	image_claim(shm, 0, 100);
	image_put(shm, 0, HW_R_TIME, 1000);
	image_put(shm, 0, W_ALLOC(0xa0) + HW_CALLOC, W_SIZED(7, 24));
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(8, 1));
	image_put(shm, 0, HW_R_FREE_SAME_FRAME + HW_DELETE_ARRAY + (0xa0 << 8));
	check_pass("T0:100 0+a0:24 0+b0:1 0-a0");
	CHECK(told.same_frame);
	CHECK_U64(told.free_kind, HW_DELETE_ARRAY);
	CHECK_U64(told.stamp, 1000);
	CHECK_U64(told.stack, 8);
	check_drained(0);
	image_put(shm, 0, HW_R_FAILED | HW_NEW << 8, 9, 1ull << 40);
	check_pass("0!1099511627776");
	CHECK_U64(told.kind, HW_NEW);
	CHECK_U64(told.stack, 9);
	check_pass("");
	CHECK_U64(merge.events, 4);
	CHECK_U64(merge.damaged, 0);
	teardown();
}

CASE(order, "stamps decide between rings")
{
	setup(HZ);
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
	teardown();
}

CASE(then_stamped, "a thread that was alone, and then was not")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, HW_R_TIME, 10);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(1, 2));
	image_put(shm, 0, W_FREE(0xb0) | STAMPED, 30);
	image_claim(shm, 1, 101);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 20);
	image_put(shm, 1, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 3), 40);
	check_pass("T0:100 0+a0:1 0+b0:2 T1:101 1-a0 0-b0 1+b0:3");
	teardown();
}

CASE(busy, "a ring that is busy holds the others back until it tells")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_ring(shm, 1)->busy = 0x7ffc0000;
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("");
	CHECK_U64(image_ring(shm, 0)->tail, 0);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 5);
	check_pass("T0:101 0-a0");
	image_ring(shm, 1)->busy = 0;
	check_pass("T1:100 1+a0:1");
	teardown();
}

CASE(busy_bound, "what a busy ring brings is later than when it was last seen idle")
{
	setup(HZ);
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
	told.line[0] = '\0';
	while (!told.line[0])
		merge_pass(&merge, false); /* until the stamp is a margin ago */
	CHECK_STR(told.line, "1-a0");
	teardown();
}

CASE(stuck, "a ring that stays busy without moving does not hold the others for ever")
{
	setup(HZ_IMPATIENT);
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_ring(shm, 1)->busy = 0x7ffc0000;
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("");
	check_pass("T0:100 0+a0:1");
	/* It comes back after all. */
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 5);
	check_pass("T1:101 1-a0");
	teardown();
}

CASE(realloc_halves, "a realloc is two steps, and other threads' may lie between")
{
	setup(HZ);
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
	CHECK_U64(told.kind, HW_REALLOC);
	CHECK_U64(told.stack, 5);
	CHECK_U64(merge.events, 6);
	check_drained(0);
	teardown();
}

CASE(realloc_changed, "a realloc that becomes something else between its halves ends its ring")
{
	setup(HZ);
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
	teardown();
}

CASE(sizes, "sizes of all sizes")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 0));
	image_put(shm, 0, W_ALLOC(0xb0), W_SIZED(1, HW_R_SIZE_BIG - 1));
	image_put(shm, 0, W_ALLOC(0xc0), W_SIZED(1, HW_R_SIZE_BIG), HW_R_SIZE_BIG);
	image_put(
		shm, 0, W_ALLOC(0xd0) | STAMPED, W_SIZED(UINT32_MAX, HW_R_SIZE_BIG), UINT64_MAX, 9);
	check_pass("T0:100 0+a0:0 0+b0:4294967294 0+c0:4294967295 0+d0:18446744073709551615");
	CHECK_U64(told.stack, UINT32_MAX);
	CHECK_U64(told.stamp, 9);
	teardown();
}

CASE(lost, "lost events are told where they are missing, and are no events")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
	image_put(shm, 0, W_LOST(77));
	image_put(shm, 0, W_FREE(0xa0));
	check_pass("T0:100 0+a0:1 0?77 0-a0");
	CHECK_U64(merge.events, 2);
	teardown();
}

CASE(shared, "the shared ring: each record behind the name of its thread")
{
	setup(HZ);
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
	teardown();
}

CASE(shared_nameless, "a record in the shared ring that is nobody's is dropped and counted")
{
	setup(HZ);
	image_put(shm, HW_RING_SHARED, W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	image_put(shm, HW_RING_SHARED, W_REALLOC(0xc0) | STAMPED, W_SIZED(1, 2), 0xb0, 40, 50);
	check_pass("");
	CHECK_U64(merge.dropped, 2);
	CHECK_U64(merge.events, 2);
	check_drained(HW_RING_SHARED);
	teardown();
}

CASE(no_more_threads, "threads beyond the limit are dropped and counted, in any ring")
{
	setup(HZ);
	told.no_threads = true;
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0), W_SIZED(1, 1));
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_FREE(0xa0) | STAMPED, 20);
	check_pass("");
	CHECK_U64(merge.dropped, 2);
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_STR(told.line, "");
	CHECK_U64(merge.threads.len, 0);
	teardown();
}

CASE(ended_unread,
	"a thread that got a ring late and ended is itself until the ring's words are told")
{
	setup(HZ);
	uint32_t dead = 200;
	image_put(shm, HW_RING_SHARED, W_FOREIGN(200), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	check_pass("T0:200 0+b0:2");
	image_claim(shm, 0, 200);
	image_put(shm, 0, W_FREE(0xb0) | STAMPED, 40);
	merge_reclaim(&merge, all_but_one_live, &dead);
	check_pass("0-b0");
	told.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(told.line, "0.");
	CHECK_U64(merge.threads.len, 0);
	teardown();
}

CASE(same_id, "a thread id that is used again is another thread, though the first one's ring is "
	      "not free yet")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_claim(shm, 1, 100);
	image_put(shm, 1, W_FREE(0xa0) | STAMPED, 20);
	image_put(shm, HW_RING_SHARED, W_FOREIGN(100), W_ALLOC(0xb0) | STAMPED, W_SIZED(1, 2), 30);
	check_pass("T1:100 1-a0 1+b0:2");
	told.line[0] = '\0';
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_STR(told.line, "0. 1.");
	teardown();
}

CASE(many_ringless, "hundreds of threads without a ring end together")
{
	setup(HZ);
	for (uint32_t i = 0; i < 300; i++)
		image_put(shm, HW_RING_SHARED, W_FOREIGN(100 + i), W_FREE(0x10) | STAMPED, 1 + i);
	merge_pass(&merge, false);
	CHECK_U64(merge.threads.len, 300);
	told.line[0] = '\0';
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_U64(merge.threads.len, 0);
	CHECK(strlen(told.line) > 300 * strlen("0. "));
	teardown();
}

CASE(moving, "a realloc in the shared ring: others' events come between its beginning and its end")
{
	setup(HZ);
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
	teardown();
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
	setup(HZ);
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
	teardown();
}

CASE(far_rings, "rings of each size are looked at, and only those that could be in use")
{
	setup(HZ);
	image_claim(shm, HW_RING_SHARED - 1, 100);
	image_put(shm, HW_RING_SHARED - 1, W_ALLOC(0xa0), W_SIZED(1, 1));
	check_pass("");
	for (uint32_t i = 0; i < HW_RING_SHARED; i++)
		image_claim(shm, i, 1000 + i);
	check_pass("T0:1511 0+a0:1");
	CHECK_U64(merge.lane_count, HW_RING_SHARED);
	teardown();
}

CASE(reuse, "a ring of an ended thread goes to a new one")
{
	setup(HZ);
	uint32_t dead = 100;
	image_claim(shm, 0, 100);
	image_claim(shm, 1, 101);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_put(shm, 0, W_FREE(0xa0) | STAMPED, 20);
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_ACTIVE); /* not all of it was told */
	check_pass("0-a0");
	told.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(told.line, "0.");
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
	teardown();
}

CASE(reuse_shared, "an ended thread's ring is free before its words in the shared ring are told")
{
	setup(HZ);
	uint32_t dead = 100;
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	image_put(shm, HW_RING_SHARED, W_FOREIGN(100), W_FREE(0xa0) | STAMPED, 20);
	told.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(told.line, "");
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_FREE);
	check_pass("0-a0");
	told.line[0] = '\0';
	merge_reclaim(&merge, all_but_one_live, &dead);
	CHECK_STR(told.line, "0.");
	teardown();
}

CASE(ring_wanted, "threads that found no ring learn that there is one")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), 10);
	check_pass("T0:100 0+a0:1");
	shm->ring_wanted = 1;
	CHECK(merge_ring_wanted(&merge));
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK(!merge_ring_wanted(&merge));
	CHECK_U64(image_ring(shm, 0)->state, HW_RING_FREE);
	CHECK_U64(shm->rings_freed, 1);
	merge_reclaim(&merge, nobody_lives, NULL);
	CHECK_U64(shm->rings_freed, 1);
	teardown();
}

CASE(progress, "room is given back during a long pass, and progress says so")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	for (uint64_t i = 0; i < 10000; i++)
		image_put(shm, 0, W_FREE(0x10));
	uint64_t before = shm->progress;
	CHECK_U64(merge_pass(&merge, false), 10000);
	CHECK(shm->progress >= before + 3);
	check_drained(0);
	CHECK_U64(merge_pass(&merge, false), 0);
	CHECK_U64(merge.events, 10000);
	teardown();
}

CASE(nonsense, "nonsense ends its ring, not the others")
{
	static const uint64_t nonsense[] = {0, 0x08, 0x15, 0x1d, 0x30, 0x7f, 0xff, 0x07, W_ALLOC(0),
		W_REALLOC(0), UINT64_MAX, W_MARK(5), W_MARK(0) | STAMPED, W_MARK(256) | STAMPED,
		W_MARK(1ull << 55) | STAMPED, W_MARK(255) | STAMPED};
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		setup(HZ);
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
		teardown();
	}
}

CASE(cut, "a record that is not all there ends its ring")
{
	static const uint64_t record[] = {
		W_REALLOC(0xa0) | STAMPED, W_SIZED(1, HW_R_SIZE_BIG), 1ull << 33, 0xb0, 10, 20};
	for (size_t words = 1; words < 6; words++) {
		setup(HZ);
		image_claim(shm, 0, 100);
		image_put_words(shm, 0, record, words);
		check_pass("");
		CHECK_U64(merge.damaged, 1);
		teardown();
	}
}

CASE(mad_heads, "heads that jump anywhere")
{
	static const uint64_t heads[] = {
		UINT64_MAX, 1ull << 63, HW_RING_WORDS_LARGE + 1, 1ull << 32};
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		setup(HZ);
		image_claim(shm, 0, 100);
		image_ring(shm, 0)->head = heads[i];
		check_pass("");
		CHECK_U64(merge.damaged, 1);
		image_ring(shm, 0)->head = 5;
		check_pass("");
		image_ring(shm, 0)->tail = 12345; /* ours: what it says does not matter */
		check_pass("");
		teardown();
	}
}

CASE(future, "what is later than the pass waits, even for nobody: a new ring may come between")
{
	setup(HZ);
	image_claim(shm, 0, 100);
	image_put(shm, 0, W_ALLOC(0xa0) | STAMPED, W_SIZED(1, 1), UINT64_MAX);
	image_put(shm, 0, W_FREE(0xa0) | STAMPED, 7);
	check_pass("");
	told.line[0] = '\0';
	image_ring(shm, 0)->busy = 1;
	merge_pass(&merge, true);
	CHECK_STR(told.line, "T0:100 0+a0:1 0-a0");
	check_drained(0);
	teardown();
}

TAP_MAIN
