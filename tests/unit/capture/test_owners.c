/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which ring has the latest event of an address, and when an event needs no stamp for it. */
#include <stdlib.h>

#include "lib/tap.h"
#include "runtime/core/owners.h"
#include "runtime/core/ring.h"

#define ADDRESS 0x7f1234567890ull
/* Another granule at the same place. */
#define SPAN (1ull << (4 + RT_OWNER_PLACE_BITS))

static uint32_t owners[RT_OWNER_PLACES];

static uint64_t same_place(uint64_t address)
{
	for (uint64_t other = address + SPAN - (address & (SPAN - 1)), end = other + SPAN;
		other < end; other += 16) {
		if (rt_owner_place(other) == rt_owner_place(address))
			return other;
	}
	tap_fail("no granule meets %" PRIx64, address);
	return 0;
}

CASE(turns, "an address is a ring's until another ring has an event of it")
{
	memset(owners, 0, sizeof(owners));
	CHECK(rt_owner_take(owners, ADDRESS, 0)); /* there was none before it */
	CHECK(rt_owner_take(owners, ADDRESS, 0));
	CHECK(!rt_owner_take(owners, ADDRESS, 1));
	CHECK(rt_owner_take(owners, ADDRESS, 1));
	CHECK(!rt_owner_take(owners, ADDRESS, 0));
	CHECK(rt_owner_take(owners, ADDRESS + 16, 1));
	CHECK(rt_owner_take(owners, ADDRESS, 0));
}

CASE(forgotten, "what is not known of an address is no ring's")
{
	memset(owners, 0, sizeof(owners));
	CHECK(rt_owner_take(owners, ADDRESS, 2));
	rt_owner_forget(owners, ADDRESS);
	CHECK(!rt_owner_take(owners, ADDRESS, 2));
	rt_owner_forget(owners, 0); /* of a failed call */
	CHECK(!rt_owner_take(owners, 0, 2));
}

CASE(replaced, "a granule at the same place takes it over, and never passes for the other one")
{
	memset(owners, 0, sizeof(owners));
	uint64_t other = same_place(ADDRESS);
	CHECK(other != ADDRESS);
	CHECK(rt_owner_take(owners, ADDRESS, 3));
	CHECK(!rt_owner_take(owners, other, 3));
	CHECK(!rt_owner_take(owners, ADDRESS, 3));
	rt_owner_forget(owners, other);
	CHECK(!rt_owner_take(owners, ADDRESS, 3));
}

CASE(nobodys, "two blocks of one granule, addresses too large and rings too many own nothing")
{
	memset(owners, 0, sizeof(owners));
	const uint64_t large = 1ull << RT_OWNER_ADDRESS_BITS | 0x1000;
	for (int i = 0; i < 2; i++) {
		CHECK(!rt_owner_take(owners, ADDRESS | 8, 0));
		CHECK(!rt_owner_take(owners, large, 0));
		CHECK(!rt_owner_take(owners, 0x2000, RT_OWNER_NONE));
	}
	CHECK(!rt_owner_take(owners, ADDRESS, 0));
	CHECK(rt_owner_take(owners, 0x1000, 0));
	CHECK(!rt_owner_take(owners, 0x2000, RT_OWNER_NONE - 1));
	CHECK(rt_owner_take(owners, 0x2000, RT_OWNER_NONE - 1));
}

CASE(names, "an entry names one granule and one ring")
{
	const uint64_t last = (1ull << RT_OWNER_ADDRESS_BITS) - 16;
	CHECK(rt_owner_entry(last, RT_OWNER_NONE) == UINT32_MAX);
	CHECK(rt_owner_entry(0, 0) != 0);
	CHECK(rt_owner_entry(SPAN, 0) != rt_owner_entry(0, RT_OWNER_NONE));
	CHECK(rt_owner_place(last) < RT_OWNER_PLACES);
}

CASE(stamps, "an owned event gets a stamp every few words, and when all are asked for one")
{
	struct rt_thread t = {.turn = 0};
	CHECK(rt_stamps_block(&t, true, 0)); /* the first one */
	CHECK(!rt_stamps_block(&t, true, 0));
	CHECK(rt_stamps_block(&t, false, 0));
	t.head += RT_STAMP_EVERY - 1;
	CHECK(!rt_stamps_block(&t, true, 0));
	t.head++;
	CHECK(rt_stamps_block(&t, true, 0));
	CHECK(rt_stamps_block(&t, true, 1));
	CHECK(!rt_stamps_block(&t, true, 1));
	t.stamp_due = 0;
	CHECK(rt_stamps_block(&t, true, 1));
}

TAP_MAIN
