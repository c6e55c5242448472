/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the collector sleeps. */
#include "capture/collector/pace.h"
#include "format/shm.h"
#include "lib/tap.h"

/* The sleep after many passes that bring the same. */
static uint64_t sleep_of(uint64_t words, bool can_wait)
{
	uint64_t ns = PACE_MIN_NS;
	for (int i = 0; i < 100; i++)
		ns = pace_sleep_ns(ns, words, can_wait);
	return ns;
}

CASE(steady, "the less a pass brings, the longer is the sleep")
{
	CHECK(sleep_of(0, false) == PACE_MAX_NS);
	CHECK(sleep_of(0, true) == PACE_MAX_NS);
	CHECK(sleep_of(1, true) == PACE_MAX_NS);
	CHECK(sleep_of(1, false) == 1200000);
	CHECK(sleep_of(PACE_FEW_WORDS, false) == PACE_MIN_NS);
	CHECK(sleep_of(PACE_SOME_WORDS, true) == PACE_MIN_NS);
	CHECK(sleep_of(PACE_BUSY_WORDS + 1, true) == 0);
}

CASE(changes, "sleeps get longer step by step, and short at once")
{
	CHECK(pace_sleep_ns(0, 0, true) == PACE_MIN_NS);
	CHECK(pace_sleep_ns(PACE_MIN_NS, 5, false) == 2 * PACE_MIN_NS);
	CHECK(pace_sleep_ns(2 * PACE_MIN_NS, PACE_FEW_WORDS, true) == 2 * PACE_MIN_NS);
	CHECK(pace_sleep_ns(PACE_MAX_NS, PACE_FEW_WORDS, true) == PACE_MAX_NS);
	CHECK(pace_sleep_ns(PACE_MAX_NS, 1, false) == PACE_FEW_NS);
	CHECK(pace_sleep_ns(PACE_MAX_NS, PACE_SOME_WORDS, true) == PACE_MIN_NS);
}

CASE(rings, "few words are a part of the smallest ring")
{
	CHECK(4 * PACE_FEW_WORDS <= HW_RING_WORDS_SMALL);
}

TAP_MAIN
