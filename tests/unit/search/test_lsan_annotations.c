/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program says to ignore, while blocks come and go. */
#include "capture/leaks/lsan_annotations.h"
#include "lib/tap.h"

#define ADDRESS 0x10000000ull

static struct live_table live;
static struct lsan_annotations annotations;
static uint64_t numbers[4]; /* allocations of each thread */

static void start(void)
{
	live_table_init(&live);
	lsan_annotations_init(&annotations);
}

static void stop(void)
{
	lsan_annotations_deinit(&annotations);
	live_table_deinit(&live);
}

static void allocate(uint32_t thread, uint64_t address, uint64_t size)
{
	const struct live_entry block = {.address = address,
		.size = size,
		.thread = thread,
		.number = numbers[thread]++,
		.site = 1};
	CHECK(live_table_add(&live, &block) == LIVE_ADDED);
}

static void give_back(uint64_t address)
{
	struct live_entry block;
	CHECK(live_table_take(&live, address, &block));
}

static void tell(uint32_t thread, enum hw_annotation what, uint64_t address, uint64_t bytes)
{
	CHECK(lsan_annotations_add(
		&annotations, &live, thread, numbers[thread], what, address, bytes));
}

static size_t found(uint64_t *ret_first)
{
	struct kept_addresses addresses;
	kept_addresses_init(&addresses);
	CHECK(lsan_annotations_find_kept(&annotations, &live, &addresses));
	size_t count = addresses.len;
	*ret_first = count ? addresses.data[0] : 0;
	kept_addresses_deinit(&addresses);
	return count;
}

static void check_found(size_t count, uint64_t first)
{
	uint64_t address;
	CHECK_U64(found(&address), count);
	CHECK_U64(address, first);
}

CASE(by_name, "a block is ignored by any of its bytes, and by none of its neighbours'")
{
	start();
	allocate(0, ADDRESS, 100);
	allocate(0, ADDRESS + 5 * 4096, 3 * 4096);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS - 1, 0);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS + 100, 0);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS + 8 * 4096, 0);
	check_found(0, 0);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS + 8 * 4096 - 1, 0);
	check_found(1, ADDRESS + 5 * 4096);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS, 0);
	uint64_t first;
	CHECK_U64(found(&first), 2);
	stop();
}

CASE(no_longer, "a block that is no longer ignored is as any other")
{
	start();
	allocate(0, ADDRESS, 100);
	allocate(1, ADDRESS + 4096, 100);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS, 0);
	tell(0, HW_ANNOTATE_IGNORE, ADDRESS + 4096, 0);
	tell(1, HW_ANNOTATE_IGNORE_END, ADDRESS + 99, 0);
	check_found(1, ADDRESS + 4096);
	tell(1, HW_ANNOTATE_IGNORE_END, ADDRESS, 0);       /* it is none */
	tell(1, HW_ANNOTATE_IGNORE_END, ADDRESS + 100, 0); /* likewise */
	check_found(1, ADDRESS + 4096);
	stop();
}

CASE(given_out_again,
	"an ignored block that is freed drops out, though its address is given out again")
{
	start();
	for (int i = 0; i < 100000; i++) {
		allocate(1, ADDRESS, 64);
		tell(0, HW_ANNOTATE_IGNORE, ADDRESS, 0);
		give_back(ADDRESS);
	}
	CHECK(annotations.blocks.len < 5000); /* they do not pile up */
	allocate(1, ADDRESS, 64);
	check_found(0, 0);
	stop();
}

CASE(disabled_thread, "what a thread allocates while it is disabled is ignored, and nothing else")
{
	start();
	allocate(0, ADDRESS, 10);
	tell(0, HW_ANNOTATE_DISABLE, 0, 0);
	allocate(1, ADDRESS + 16, 10);
	allocate(0, ADDRESS + 32, 10);
	tell(0, HW_ANNOTATE_ENABLE, 0, 0);
	allocate(0, ADDRESS + 48, 10);
	tell(1, HW_ANNOTATE_ENABLE, 0, 0); /* it was not */
	check_found(1, ADDRESS + 32);
	stop();
}

CASE(again_and_again,
	"a thread that disables a million times with nothing in between costs nothing")
{
	start();
	for (int i = 0; i < 1000000; i++) {
		tell(2, HW_ANNOTATE_DISABLE, 0, 0);
		tell(2, HW_ANNOTATE_ENABLE, 0, 0);
	}
	CHECK_U64(annotations.spans.len, 1);
	allocate(2, ADDRESS, 10);
	check_found(0, 0);
	tell(2, HW_ANNOTATE_DISABLE, 0, 0);
	allocate(2, ADDRESS + 16, 10);
	tell(2, HW_ANNOTATE_ENABLE, 0, 0);
	tell(2, HW_ANNOTATE_DISABLE, 0, 0);
	allocate(2, ADDRESS + 32, 10);
	CHECK_U64(annotations.spans.len, 2);
	uint64_t first;
	CHECK_U64(found(&first), 2);
	stop();
}

CASE(thread_ends,
	"a thread that takes over the row of a disabled one that has ended is not disabled")
{
	start();
	tell(3, HW_ANNOTATE_DISABLE, 0, 0);
	allocate(3, ADDRESS, 10);
	lsan_annotations_thread_end(&annotations, 3, numbers[3]);
	allocate(3, ADDRESS + 16, 10);
	check_found(1, ADDRESS);
	stop();
}

CASE(regions, "a root region counts as often as it was registered; nonsense is none")
{
	start();
	tell(0, HW_ANNOTATE_ROOT, ADDRESS, 4096);
	tell(0, HW_ANNOTATE_ROOT, ADDRESS, 4096);
	tell(0, HW_ANNOTATE_ROOT_END, ADDRESS, 4095);
	CHECK_U64(annotations.roots.len, 2);
	tell(1, HW_ANNOTATE_ROOT_END, ADDRESS, 4096);
	CHECK_U64(annotations.roots.len, 1);
	tell(0, HW_ANNOTATE_ROOT, ADDRESS, 0);
	tell(0, HW_ANNOTATE_ROOT_END, ADDRESS + 1, 1);
	tell(0, (enum hw_annotation)200, ADDRESS, 1);
	CHECK_U64(annotations.roots.len, 1);
	tell(0, HW_ANNOTATE_ROOT, UINT64_MAX - 10, 100);
	CHECK_U64(annotations.roots.data[1].end, UINT64_MAX);
	stop();
}

TAP_MAIN
