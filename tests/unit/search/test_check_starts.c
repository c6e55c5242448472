/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks came after the start of a check. */
#include "capture/leaks/check_starts.h"
#include "lib/tap.h"

#define CHECKS 1024u

static struct tally tally;
static struct tally_thread threads[3];
static struct check_starts starts;

static void begin(void)
{
	tally = (struct tally){.threads = threads, .thread_count = 2};
	threads[0].allocations = 5;
	threads[1].allocations = 0;
	check_starts_init(&starts);
}

CASE(numbers, "a block counts by the number of allocations that its thread had made")
{
	begin();
	check_starts_add(&starts, 7, &tally);
	threads[0].allocations = 9;
	const struct check_start *start = check_starts_find(&starts, 7);
	CHECK(start && !check_start_precedes(start, 0, 4) && check_start_precedes(start, 0, 5));
	CHECK(check_start_precedes(start, 1, 0) && check_start_precedes(start, 2, 0));
	check_starts_deinit(&starts);
}

CASE(several, "checks begin and end in any order; one that begins again begins anew")
{
	begin();
	check_starts_add(&starts, 1, &tally);
	check_starts_add(&starts, 2, &tally);
	threads[0].allocations = 6;
	check_starts_add(&starts, 1, &tally);
	CHECK(!check_start_precedes(check_starts_find(&starts, 1), 0, 5));
	CHECK(check_start_precedes(check_starts_find(&starts, 2), 0, 5));
	check_starts_remove(&starts, 2);
	check_starts_remove(&starts, 3);
	CHECK(check_starts_find(&starts, 1) && !check_starts_find(&starts, 2));
	check_starts_deinit(&starts);
}

CASE(many, "there is an end to the checks that are remembered")
{
	begin();
	for (uint64_t id = 1; id <= CHECKS + 1; id++)
		check_starts_add(&starts, id, &tally);
	CHECK(check_starts_find(&starts, CHECKS) && !check_starts_find(&starts, CHECKS + 1));
	check_starts_remove(&starts, 1);
	check_starts_add(&starts, CHECKS + 1, &tally);
	CHECK(check_starts_find(&starts, CHECKS + 1));
	check_starts_deinit(&starts);
}

TAP_MAIN
