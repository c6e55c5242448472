/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rings made by hand, and the order in which the merge tells what is in them. A line of steps:
 * T0:100 thread 0 starts, its id is 100; 0+a0:24 it allocates 24 bytes at 0xa0; 0-a0 it frees them;
 * 0!24 its call for 24 bytes fails; 0?3 it lost 3 events; 0<7 it
 * forks at stamp 7; 0@load it marks that moment; 0~a0 it begins to resize a block; 0. it ends.
 */
#ifndef TESTS_UNIT_MERGE_STORY_H
#define TESTS_UNIT_MERGE_STORY_H

#include <stdarg.h>

#include "capture/recorder/merge.h"
#include "capture/recorder/ring_source.h"
#include "unit/ring_image.h"

#define HZ 1000000000u
/* A program that is seen busy twice has been so for long. */
#define HZ_IMPATIENT 1u
#define STAMPED HW_R_STAMPED

/* What was told: the line, and of the last step what the line does not say. */
static struct story {
	char line[8192];
	uint32_t threads;
	enum hw_alloc_kind kind;
	enum hw_free_kind free_kind;
	bool same_frame;
	uint32_t stack;
	uint64_t stamp;
	bool no_threads;
} report;

static struct ring_source rings;
static struct merge merge;
static struct hw_shm *shm;

__attribute__((format(printf, 1, 2))) static inline void tell(const char *format, ...)
{
	size_t used = strlen(report.line);
	va_list args;
	va_start(args, format);
	if (used && used < sizeof(report.line) - 1)
		report.line[used++] = ' ';
	vsnprintf(report.line + used, sizeof(report.line) - used, format, args);
	va_end(args);
}

static inline uint32_t on_thread(void *context, uint32_t tid, uint64_t stamp)
{
	CHECK(context == &report);
	(void)stamp;
	if (report.no_threads)
		return MERGE_NO_THREAD;
	tell("T%u:%u", report.threads, tid);
	return report.threads++;
}

static inline void on_thread_end(void *context, uint32_t thread, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads);
	(void)stamp;
	tell("%u.", thread);
}

static inline void on_alloc(void *context, uint32_t thread, enum hw_alloc_kind kind,
	uint64_t address, uint32_t stack, uint64_t size, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads);
	report.kind = kind;
	report.stack = stack;
	report.stamp = stamp;
	tell("%u+%" PRIx64 ":%" PRIu64, thread, address, size);
}

static inline void on_free(void *context, uint32_t thread, enum hw_free_kind kind, bool same_frame,
	uint64_t address, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads);
	report.free_kind = kind;
	report.same_frame = same_frame;
	report.stamp = stamp;
	tell("%u-%" PRIx64, thread, address);
}

static inline void on_failed(void *context, uint32_t thread, enum hw_alloc_kind kind,
	uint32_t stack, uint64_t size, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads);
	report.kind = kind;
	report.stack = stack;
	report.stamp = stamp;
	tell("%u!%" PRIu64, thread, size);
}

static inline void on_lost(void *context, uint32_t thread, uint64_t count, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads);
	report.stamp = stamp;
	tell("%u?%" PRIu64, thread, count);
}

static inline void on_moving(void *context, uint32_t thread, uint64_t address)
{
	CHECK(context == &report && thread < report.threads);
	tell("%u~%" PRIx64, thread, address);
}

static inline void on_fork(void *context, uint32_t thread, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads);
	report.stamp = stamp;
	tell("%u<%" PRIu64, thread, stamp);
}

static inline void on_mark(
	void *context, uint32_t thread, const char *name, size_t bytes, uint64_t stamp)
{
	CHECK(context == &report && thread < report.threads && bytes && bytes <= HW_MARK_NAME_MAX);
	report.stamp = stamp;
	tell("%u@%.*s", thread, (int)bytes, name);
}

/* Fresh rings and a merge of them. */
static inline void story_begin(uint64_t hz)
{
	static const struct merge_sink sink = {.context = &report,
		.on_thread = on_thread,
		.on_thread_end = on_thread_end,
		.on_alloc = on_alloc,
		.on_free = on_free,
		.on_failed = on_failed,
		.on_moving = on_moving,
		.on_lost = on_lost,
		.on_fork = on_fork,
		.on_mark = on_mark};
	memset(&report, 0, sizeof(report));
	shm = image_create();
	ring_source_init(&rings, shm, hz);
	merge_init(&merge, &rings.source, &sink);
}

static inline void story_end(void)
{
	merge_deinit(&merge);
	image_destroy(shm);
}

/* One pass tells exactly this, and gives the room back. */
static inline void check_pass(const char *expected)
{
	report.line[0] = '\0';
	merge_pass(&merge, false);
	CHECK_STR(report.line, expected);
}

static inline void check_drained(uint32_t ring)
{
	CHECK_U64(image_ring(shm, ring)->tail, image_ring(shm, ring)->head);
}

/* For merge_reclaim(); context of the other one: the thread that does not live. */
static inline bool nobody_lives(void *context, uint32_t tid)
{
	(void)context;
	(void)tid;
	return false;
}

static inline bool all_but_one_live(void *context, uint32_t tid)
{
	return tid != *(const uint32_t *)context;
}

#define STAMPED HW_R_STAMPED

#endif
