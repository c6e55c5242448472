/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which memory is an allocator's: glibc's marks as they should be, and almost so. */
#include "unit/leak_target.h"

static struct address_ranges heaps, metadata;

static void find(void)
{
	address_ranges_init(&heaps);
	address_ranges_init(&metadata);
	CHECK_OK(leak_heaps_find(&place, &heaps, &metadata));
}

static void forget(void)
{
	address_ranges_deinit(&heaps);
	address_ranges_deinit(&metadata);
}

static void check_range(const struct address_ranges *ranges, size_t i, uint64_t start, uint64_t end)
{
	CHECK(i < ranges->len);
	CHECK_U64(ranges->data[i].start - base, start);
	CHECK_U64(ranges->data[i].end - base, end);
}

/* Finds heaps; there is one, and it is this. */
static void check_heap(uint64_t start, uint64_t end)
{
	find();
	CHECK_U64(heaps.len, 1);
	check_range(&heaps, 0, start, end);
	forget();
}

static void set(uint64_t offset, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t four[4] = {a, b, c, d};
	memcpy(words(offset), four, sizeof(four));
}

CASE(arenas, "an arena's heap names its arena, stands at 64 MiB and has a size that makes sense")
{
	place_init();
	add_map(0, 128 * MIB, "");
	add_libc(130 * MIB, 4096);
	const uint64_t at = 64 * MIB, self = base + at;
	set(at, self + 0x30, 0, 0x21000, 0x21000);
	check_heap(at, at + 0x21000);
	set(at, self + 0x20, 0, 0x22000, 0x21000); /* up to glibc 2.34 */
	check_heap(at, at + 0x22000);
	set(at, base + 0x30, base, 64 * MIB, 64 * MIB); /* of an arena that stands elsewhere */
	check_heap(at, at + 64 * MIB);
	const uint64_t wrong[][4] = {{0, 0, 0x21000, 0x21000}, {self + 0x38, 0, 0x21000, 0x21000},
		{self + 0x30, 0, 0, 0x21000}, {self + 0x30, 0, 0x21008, 0x21008},
		{self + 0x30, 0, 64 * MIB + 4096, 0x21000}, {self + 0x30, 0, 0x21000, 64 * MIB + 1},
		{base + 0x30, 0, 0x21000, 0x21000}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(words(at), wrong[i], sizeof(wrong[i]));
		find();
		CHECK_U64(heaps.len, 0);
		forget();
	}
	place_deinit();
}

CASE(mapped_block,
	"a block with a mapping of its own has a header; where that is wrong, all of it is heap")
{
	place_init();
	add_map(0, 1 * MIB, "");
	add_libc(2 * MIB, 4096);
	add_block(0x5010, 0x2000);
	words(0x5000)[0] = 0;
	words(0x5000)[1] = 0x3000 | 2;
	check_heap(0x5000, 0x8000);
	const uint64_t wrong[][2] = {{0, 0x3000}, {0, 0x3008 | 2}, {8, 0x3000 | 2},
		{0x10000, 0x3000 | 2}, {0, (2 * MIB) | 2}, {UINT64_MAX - 7, 0x3000 | 2}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(words(0x5000), wrong[i], sizeof(wrong[i]));
		check_heap(0, 1 * MIB);
	}
	place_deinit();
	place_init();
	add_map(0, 1 * MIB, "");
	add_libc(2 * MIB, 4096);
	add_block(0x6010, 0x1000); /* aligned: what stands before it is in its chunk */
	words(0x6000)[0] = 0x1000;
	words(0x6000)[1] = 0x2000 | 2;
	check_heap(0x5000, 0x8000);
	place_deinit();
}

/* [0x0, 0x1000) glibc's, up to two fences; [0x3000, 0x5000) again, with the top. */
static void make_break(void)
{
	add_map(0, 0x5000, "[heap]");
	add_libc(2 * MIB, 4096);
	words(0)[1] = 0xfe0 | 1;
	words(0xfe0)[1] = 0x10 | 1;
	words(0xff0)[1] = 0x10 | 1;
	words(0x3000)[1] = 0x100 | 1;
	words(0x3100)[1] = 0x1f00 | 1;
	add_block(0x10, 0x100);
	add_block(0x3010, 0xf0);
}

CASE(program_break,
	"what a program took by sbrk, between two fences and the next chunk, is its own")
{
	place_init();
	make_break();
	find();
	CHECK_U64(heaps.len, 2);
	check_range(&heaps, 0, 0, 0x1000);
	check_range(&heaps, 1, 0x3000, 0x5000);
	forget();
	words(0x3100)[1] =
		0xf00 | 1; /* the top ends earlier, at a page: what follows is the program's */
	find();
	CHECK_U64(heaps.len, 2);
	check_range(&heaps, 1, 0x3000, 0x4000);
	forget();
	place_deinit();
}

CASE(broken_chain, "where chunks don't lead on, all of the break is heap")
{
	static const uint64_t sizes[] = {0, 7, 0x18, 0x28, 0x10000, UINT64_MAX};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		place_init();
		make_break();
		words(0)[1] = 0x100 | 1;
		words(0x100)[1] = sizes[i];
		check_heap(0, 0x5000);
		place_deinit();
	}
}

CASE(long_chain, "a chain of any length leads to the program's own memory behind it")
{
	const uint64_t bytes = 40 * MIB; /* 1.3 million chunks */
	place_init();
	add_map(0, 64 * MIB, "[heap]");
	add_libc(200 * MIB, 4096);
	for (uint64_t at = 0; at < bytes - 0x20; at += 0x20)
		words(at)[1] = 0x20 | 1;
	words(bytes - 0x20)[1] = words(bytes - 0x10)[1] = 0x10 | 1;
	words(48 * MIB)[1] = (16 * MIB) | 1;
	add_block(0x10, 0x10);
	add_block(48 * MIB + 0x10, 0x10);
	find();
	CHECK_U64(heaps.len, 2);
	check_range(&heaps, 0, 0, bytes);
	check_range(&heaps, 1, 48 * MIB, 64 * MIB);
	forget();
	place_deinit();
}

CASE(endless_chains, "memory that looks like chunks from every page on is gone through once")
{
	const uint64_t bytes = 64 * MIB, next = 0x1000 + bytes;
	place_init();
	make_break();
	target.maps.maps.len = 0;
	live_table_deinit(&live);
	live_table_init(&live);
	add_map(0, next + 0x3000, "[heap]");
	add_libc(200 * MIB, 4096);
	for (uint64_t at = 0x1000; at < next; at += 8)
		*words(at) = 0x20 | 1; /* it ends in a page of zeros */
	words(next + 0x1000)[1] = 0x1000 | 1;
	words(next + 0x2000)[1] = 0x1000 | 1;
	add_block(0x10, 0x100);
	add_block(next + 0x2010, 0xf0);
	find(); /* which takes no minute */
	CHECK_U64(heaps.len, 2);
	check_range(&heaps, 0, 0, 0x1000);
	check_range(&heaps, 1, next + 0x1000, next + 0x3000);
	forget();
	place_deinit();
}

CASE(elsewhere, "a block in no mapping, or in a file's, makes nothing else heap")
{
	place_init();
	add_libc(2 * MIB, 4096);
	struct process_map *file = add_map(4 * MIB, 1 * MIB, "/tmp/data");
	file->inode = 5;
	add_map(6 * MIB, 1 * MIB, "")->shared = true;
	add_block(8 * MIB, 100);
	add_block(4 * MIB + 64, 100);
	add_block(6 * MIB + 64, 100);
	find();
	CHECK_U64(heaps.len, 3);
	for (size_t i = 0; i < heaps.len; i++)
		CHECK_U64(heaps.data[i].end - heaps.data[i].start, 1);
	forget();
	place_deinit();
}

/* `count` empty bins, which point at themselves, in libc's data; one of them has free chunks. */
static void make_bins(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t at = 2 * MIB + 0x1000 + 16ull * i;
		words(at)[0] = words(at)[1] = base + at - 0x10;
	}
	words(2 * MIB + 0x1000 + 160)[0] = base + 0x5100;
	words(2 * MIB + 0x1000 + 160)[1] = base + 0x5200;
}

CASE(main_arena, "libc's own books are told by the rings of bins, all of them")
{
	for (unsigned count = 126; count <= 127; count++) {
		place_init();
		add_map(0, 1 * MIB, "");
		add_libc(2 * MIB, 0x4000);
		add_block(0x5010, 0x2000); /* so that there is a heap */
		make_bins(count);
		find();
		CHECK_U64(metadata.len, count - 126);
		if (count == 127)
			check_range(&metadata, 0, 2 * MIB + 0x1000 - 0x70,
				2 * MIB + 0x1000 - 0x70 + 0x898);
		forget();
		place_deinit();
	}
}

TAP_MAIN
