/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks in the middle of a realloc: each thread's latest first, known to the books or not. */
#include "capture/recorder/moving.h"
#include "lib/tap.h"

static struct live_table live;
static struct moving moving;

static void setup(void)
{
	live_table_init(&live);
	moving_init(&moving);
	for (uint64_t i = 1; i <= 4; i++) {
		const struct live_entry block = {
			.address = i * 0x1000, .size = i, .number = 10 * i, .site = 7};
		CHECK(live_table_add(&live, &block) == LIVE_ADDED);
	}
}

static void teardown(void)
{
	moving_deinit(&moving);
	live_table_deinit(&live);
}

CASE(place, "the place is free at once, and the block comes back as it was")
{
	setup();
	struct live_entry found;
	struct moving_block moved;
	CHECK(moving_begin(&moving, &live, 5, 0x2000));
	CHECK(!live_table_find(&live, 0x2000, &found));
	CHECK(moving_end(&moving, 5, 0x2000, &moved));
	CHECK(moved.known && moved.block.size == 2 && moved.block.number == 20);
	CHECK(!moving_end(&moving, 5, 0x2000, &moved));
	teardown();
}

CASE(latest,
	"a handler's realloc inside another one ends first; other threads' are their own affair")
{
	setup();
	struct moving_block moved;
	CHECK(moving_begin(&moving, &live, 5, 0x1000));
	CHECK(moving_begin(&moving, &live, 6, 0x2000));
	CHECK(moving_begin(&moving, &live, 5, 0x3000));
	CHECK(!moving_end(&moving, 7, 0, &moved));
	CHECK(!moving_end(&moving, 6, 0x1000, &moved));
	CHECK(moving_end(&moving, 5, 0, &moved));
	CHECK_U64(moved.block.address, 0x3000);
	CHECK(moving_end(&moving, 5, 0, &moved));
	CHECK_U64(moved.block.address, 0x1000);
	CHECK(moving_end(&moving, 6, 0x2000, &moved));
	CHECK_U64(moving.len, 0);
	uint32_t thread;
	CHECK(!moving_any(&moving, &thread));
	teardown();
}

CASE(deep, "more of one thread's than there is room for stay in the books")
{
	setup();
	uint32_t thread = 0;
	struct live_entry found;
	for (unsigned i = 0; i < MOVING_DEPTH; i++)
		CHECK(moving_begin(&moving, &live, 5, 0x1000));
	CHECK(!moving_begin(&moving, &live, 5, 0x2000));
	CHECK(live_table_find(&live, 0x2000, &found));
	CHECK(moving_any(&moving, &thread) && thread == 5);
	teardown();
}

CASE(unknown, "a block that nobody knew does not become another one that was given its place")
{
	setup();
	struct moving_block moved;
	const struct live_entry other = {.address = 0x9000, .size = 9};
	CHECK(moving_begin(&moving, &live, 5, 0x9000));
	CHECK(live_table_add(&live, &other) == LIVE_ADDED);
	CHECK(moving_end(&moving, 5, 0x9000, &moved));
	CHECK(!moved.known);
	CHECK_U64(live.blocks, 5);
	teardown();
}

TAP_MAIN
