/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps of jemalloc, mimalloc and tcmalloc as versions and machines lay them out that are not at
 * hand, or damaged, synthesised: those of Debian's libraries are tested on real programs
 * (e2e/test_heap_truth.py).
 */
#include <elf.h>
#include <signal.h>

#include "allocator_image.h"
#include "heap/heap_scan.h"
#include "lib/tap.h"

/* jemalloc: extent_t, rtree_t, cache_bin_t */

#define ROOT_BYTES (8ull << 18)
#define LEAF_BYTES (8ull << 18)
#define BASE 0x7e0000000000ull
#define LEAF BASE
#define EXTENTS (BASE + LEAF_BYTES + 0x40)
#define PAGES 0x7e4000000000ull /* in the leaf's GiB */
#define SLAB PAGES
#define LARGE (PAGES + 0x10000)
#define IDLE (PAGES + 0x40000)
#define STACKS (PAGES + 0x60000)
#define SLAB_CLASS 3u    /* 48 bytes, 256 of them in three pages */
#define LARGE_CLASS 37u  /* 20 KiB */
#define STACKS_CLASS 35u /* 14 KiB */

struct je_layout {
	const char *versions;
	uint8_t state, class, free_count; /* bits */
};

static const struct je_layout je_layouts[] = {{"5.0", 15, 17, 25}, {"5.1 and 5.2", 16, 18, 26}};

static void make_extent(struct allocator_image *image, const struct je_layout *layout,
	unsigned number, uint64_t address, uint64_t bytes, uint64_t class, uint64_t state,
	uint64_t bits)
{
	uint64_t about = EXTENTS + 128ull * number;
	bool slab = class == SLAB_CLASS;
	core_builder_word(&image->core, about,
		bits | (uint64_t)slab << 12 | state << layout->state | class << layout->class);
	core_builder_word(&image->core, about + 8, address);
	core_builder_word(&image->core, about + 16, bytes | number);
	uint64_t word = class << 48 | about | slab;
	for (uint64_t page = 0; page < bytes / 4096; page++) {
		if (slab || !page || page == bytes / 4096 - 1)
			core_builder_word(
				&image->core, LEAF + 8 * ((address / 4096 + page) & 0x3ffff), word);
	}
}

static void make_slab(struct allocator_image *image, const struct je_layout *layout)
{
	uint64_t is_free = 0;
	make_extent(image, layout, 0, SLAB, 0x3000, SLAB_CLASS, 0, 200ull << layout->free_count);
	for (unsigned i = 0; i < 256; i++) {
		bool free_one = i >= 56;
		is_free |= (uint64_t)free_one << i % 64;
		if (i % 64 == 63) {
			core_builder_word(&image->core, EXTENTS + 64 + 8 * (i / 64), is_free);
			is_free = 0;
		}
		allocator_image_expect(image, SLAB + 48ull * i, 48,
			free_one     ? BLOCK_FREE
			: i % 8 == 1 ? BLOCK_CACHED
				     : BLOCK_USED);
	}
}

/* Of 36 sizes; what is kept of one of them is a slab's. */
static void make_stacks(struct allocator_image *image)
{
	uint64_t bins = TLS + 0x200, end = STACKS;
	for (unsigned i = 0; i < 36; i++) {
		uint64_t kept = i == 3 ? 7 : 0;
		end += 8ull * 20;
		core_builder_word(
			&image->core, bins + 24 * i, kept << 32 | (i == 5 ? UINT32_MAX : 0));
		core_builder_word(&image->core, bins + 24 * i + 16, end);
		for (uint64_t k = 0; k < kept; k++)
			core_builder_word(&image->core, end - 8 * (k + 1), SLAB + 48 * (8 * k + 1));
	}
}

CASE(jemalloc, "heaps of jemalloc before 5.3: slabs, large extents, what threads keep")
{
	for (size_t i = 0; i < sizeof(je_layouts) / sizeof(je_layouts[0]); i++) {
		const struct je_layout *layout = &je_layouts[i];
		struct allocator_image *image = allocator_image_begin();
		printf("# %s\n", layout->versions);
		core_builder_add(&image->core, BASE, 4ull << 20, PF_R | PF_W, NULL, 0);
		core_builder_add(&image->core, PAGES, 0x80000, PF_R | PF_W, NULL, 0);
		struct core_piece *head = core_builder_add(
			&image->core, LIBRARY, 0x1000, PF_R, "/lib/libjemalloc.so.2", 0);
		core_builder_module(head, 0x1000 + ROOT_BYTES + 0x10000);
		core_builder_add(&image->core, LIBRARY + 0x1000, ROOT_BYTES + 0x10000, PF_R | PF_W,
			"/lib/libjemalloc.so.2", 0x1000);
		core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
		core_builder_word(&image->core, LIBRARY + 0x1000 + 0x40 + 8 * (PAGES >> 30), LEAF);
		make_slab(image, layout);
		make_extent(image, layout, 1, LARGE, 0x6000, LARGE_CLASS, 0, 0);
		allocator_image_expect(image, LARGE, 20480, BLOCK_USED);
		make_extent(image, layout, 2, IDLE, 0x8000, 235, 1, 0);
		make_extent(image, layout, 3, STACKS, 0x4000, STACKS_CLASS, 0, 0);
		allocator_image_expect(image, STACKS, 14336, BLOCK_OWN);
		make_stacks(image);
		allocator_image_check(image, HEAP_JEMALLOC);
	}
}

/* mimalloc: mi_segment_t, mi_page_t, mi_heap_t */

#define SEGMENT 0x7d0000000000ull
#define SLICE 0x10000ull
#define SLICES 512u
#define SMALL (SEGMENT + SLICE)
#define BIG (SEGMENT + 2 * SLICE)
#define OWNER (TLS + 0x100)
#define BLOCK 64u
#define GIVEN 10u
#define COOKIE_KEY 0x5bd1e995a3c59ac3ull

struct mi_layout {
	const char *versions;
	unsigned table; /* word of the segment */
	bool thread_first;
	unsigned words, free_list, own, used, bytes, first, keys, others, heap; /* of an entry */
	unsigned lead;       /* bytes before a page's first block */
	unsigned keys_after; /* in the heap, words behind the thread's number */
	uint64_t after;      /* SEGMENT: how far */
};

static const struct mi_layout mi_layouts[] = {
	{"2.0.0 to 2.0.5", 33, true, 10, 2, 4, 3, 0, 0, 0, 5, 6, 0, 0, 0},
	{"2.0.7", 34, true, 10, 2, 4, 3, 0, 0, 0, 5, 6, 128, 0, 0},
	{"2.0.7, secure", 34, true, 12, 2, 6, 5, 0, 0, 3, 7, 8, 128, 2, 0},
	{"2.0.9", 36, false, 10, 2, 4, 3, 0, 0, 0, 5, 6, 384, 0, 0},
	{"2.0.9, secure", 36, false, 12, 2, 4, 3, 0, 0, 5, 7, 8, 384, 3, 0},
	{"2.1.0 to 2.1.2", 36, false, 10, 2, 4, 3, 0, 0, 0, 5, 6, 192, 0, 0},
	{"2.1.4 and later", 36, false, 12, 2, 3, 4, 5, 6, 0, 7, 8, 192, 0, 0},
	{"2.1.4 and later, secure", 36, false, 14, 2, 3, 4, 5, 6, 7, 9, 10, 192, 3, 0},
};

static const uint64_t keys[2] = {0x1234567890abcdefull, 0xfedcba0987654321ull};

/* How a link stands in memory; `end` stands for none. */
static uint64_t encode(const struct mi_layout *layout, uint64_t to, uint64_t end)
{
	uint64_t x = (to ? to : end) ^ keys[1];
	unsigned by = keys[0] & 63;
	return layout->keys ? (x << by | x >> (64 - by)) + keys[0] : to;
}

static uint64_t make_entry(struct allocator_image *image, const struct mi_layout *layout,
	unsigned slice, uint64_t slices, uint64_t bytes, uint64_t given, uint64_t room,
	uint64_t used)
{
	uint64_t about = SEGMENT + layout->after + 8ull * (layout->table + slice * layout->words);
	uint64_t last = about + 8 * (slices - 1) * layout->words;
	core_builder_word(&image->core, about, slices);
	if (slices > 1)
		core_builder_word(&image->core, last, (last - about) << 32);
	core_builder_word(&image->core, about + 8, given << 16 | room << 32);
	core_builder_word(
		&image->core, about + 8 * layout->used, layout->bytes ? used : used | bytes << 32);
	if (layout->bytes)
		core_builder_word(&image->core, about + 8 * layout->bytes, bytes);
	for (unsigned i = 0; layout->keys && i < 2; i++)
		core_builder_word(&image->core, about + 8 * (layout->keys + i), keys[i]);
	return about;
}

static void make_small(struct allocator_image *image, const struct mi_layout *layout)
{
	uint64_t first = SMALL + layout->lead, room = (SLICE - layout->lead) / BLOCK;
	uint64_t about = make_entry(image, layout, 1, 1, BLOCK, GIVEN, room, GIVEN - 3);
	const uint64_t free_two[] = {first + 2 * BLOCK, first + 4 * BLOCK};
	core_builder_word(&image->core, about + 8 * layout->free_list, free_two[0]);
	core_builder_word(&image->core, free_two[0], encode(layout, free_two[1], about));
	core_builder_word(&image->core, free_two[1], encode(layout, 0, about));
	core_builder_word(&image->core, about + 8 * layout->own, first + 6 * BLOCK);
	core_builder_word(&image->core, first + 6 * BLOCK, encode(layout, 0, about));
	core_builder_word(&image->core, about + 8 * layout->others, (first + 8 * BLOCK) | 1);
	core_builder_word(&image->core, first + 8 * BLOCK, encode(layout, 0, about));
	core_builder_word(&image->core, about + 8 * layout->heap, OWNER);
	if (layout->first)
		core_builder_word(&image->core, about + 8 * layout->first, first);
	for (unsigned i = 0; i < GIVEN; i++)
		allocator_image_expect(image, first + i * BLOCK, BLOCK,
			i == 2 || i == 4 || i == 6 ? BLOCK_FREE
			: i >= 8                   ? BLOCK_CACHED
						   : BLOCK_USED);
	allocator_image_expect(image, first + GIVEN * BLOCK, (room - GIVEN) * BLOCK, BLOCK_FREE);
	/* The last one was freed by another thread while the page was full. */
	core_builder_word(&image->core, OWNER + 8, first + 9 * BLOCK);
	core_builder_word(&image->core, OWNER + 16, THREAD);
	core_builder_word(&image->core, first + 9 * BLOCK, encode(layout, 0, OWNER));
	for (unsigned i = 0; layout->keys && i < 2; i++)
		core_builder_word(&image->core, OWNER + 16 + 8 * (layout->keys_after + i), keys[i]);
}

static void make_head(struct allocator_image *image, const struct mi_layout *layout,
	uint64_t thread, uint64_t cookie_key)
{
	uint64_t segment = SEGMENT + layout->after, head = segment + 8ull * layout->table;
	core_builder_add(&image->core, segment, 8 * SLICE, PF_R | PF_W, NULL, 0);
	core_builder_word(&image->core, head - 48, segment ^ cookie_key);
	core_builder_word(&image->core, head - 40, SLICES);
	core_builder_word(&image->core, head - 32, 1);
	core_builder_word(&image->core, head - (layout->thread_first ? 8 : 16), SLICES);
	core_builder_word(&image->core, head - (layout->thread_first ? 16 : 8), thread);
	make_entry(image, layout, 0, 1, SLICE, 0, 0, 0);
}

static void make_big(struct allocator_image *image, const struct mi_layout *layout)
{
	uint64_t about = make_entry(image, layout, 2, 3, 3 * SLICE, 1, 1, 1);
	if (layout->first)
		core_builder_word(&image->core, about + 8 * layout->first, BIG + layout->after);
}

static struct allocator_image *begin_segment(const struct mi_layout *layout)
{
	struct allocator_image *image = allocator_image_begin();
	printf("# %s\n", layout->versions);
	core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
	make_head(image, layout, THREAD, COOKIE_KEY);
	make_small(image, layout);
	make_big(image, layout);
	/* A page that is just being made, one that is given back, free slices. */
	make_entry(image, layout, 5, 2, 2 * SLICE, 0, 0, 0);
	make_entry(image, layout, 7, 1, 1, 0, 0, 0);
	make_entry(image, layout, 8, SLICES - 8, 0, 0, 0, 0);
	return image;
}

/* The first word of an entry: how many slices, and how far behind the first one it stands. */
static void change_entry(struct allocator_image *image, const struct mi_layout *layout,
	unsigned slice, uint64_t word)
{
	core_builder_word(&image->core,
		SEGMENT + layout->after + 8ull * (layout->table + slice * layout->words), word);
}

static void expect_damage(struct allocator_image *image)
{
	image->damage[image->damaged++] =
		"parts of a segment's table make no sense, so blocks may be missing";
}

#define MI_LAYOUTS (sizeof(mi_layouts) / sizeof(mi_layouts[0]))

CASE(mimalloc, "heaps of mimalloc 2: pages of small and large blocks, what others freed")
{
	for (size_t i = 0; i < MI_LAYOUTS; i++) {
		struct allocator_image *image = begin_segment(&mi_layouts[i]);
		allocator_image_expect(image, BIG, 3 * SLICE, BLOCK_USED);
		allocator_image_check(image, HEAP_MIMALLOC);
	}
}

CASE(mimalloc_claimed, "a page of mimalloc's that a thread just claims hides no other page")
{
	for (size_t i = 0; i < MI_LAYOUTS; i++) {
		struct allocator_image *image = begin_segment(&mi_layouts[i]);
		allocator_image_expect(image, BIG, 3 * SLICE, BLOCK_USED);
		change_entry(image, &mi_layouts[i], 6, 0); /* does not lead back to 5 yet */
		expect_damage(image);
		allocator_image_check(image, HEAP_MIMALLOC);
	}
}

CASE(mimalloc_amid,
	"where a thread has a segment of mimalloc's at hand, damage of its table may be a change")
{
	const struct mi_layout *layout = &mi_layouts[0];
	uint64_t entry = SEGMENT + layout->after + 8ull * (layout->table + 5 * layout->words);
	const struct {
		uint64_t at_hand;
		uint16_t signal;
		bool is_mid_update;
	} threads[] = {
		{SEGMENT, 0, true},
		{entry, SIGSTOP, true},
		{entry + 8, 0, false},
		{0, 0, false},
		{SEGMENT, SIGSEGV, false},
	};
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		struct allocator_image *image = begin_segment(layout);
		allocator_image_expect(image, BIG, 3 * SLICE, BLOCK_USED);
		change_entry(image, layout, 6, 0);
		expect_damage(image);
		image->core.rbxs[0] = threads[i].at_hand;
		image->core.signals[0] = threads[i].signal;
		image->is_mid_update = threads[i].is_mid_update;
		allocator_image_check(image, HEAP_MIMALLOC);
	}
}

CASE(mimalloc_split, "free slices of mimalloc's that a thread just splits hide no page")
{
	for (size_t i = 0; i < MI_LAYOUTS; i++) {
		struct allocator_image *image = begin_segment(&mi_layouts[i]);
		allocator_image_expect(image, BIG, 3 * SLICE, BLOCK_USED);
		change_entry(image, &mi_layouts[i], 7, SLICES - 7); /* of which 8 is split off */
		expect_damage(image);
		allocator_image_check(image, HEAP_MIMALLOC);
	}
}

CASE(mimalloc_broken, "a page of mimalloc's whose entry makes no sense hides no other page")
{
	for (size_t i = 0; i < MI_LAYOUTS; i++) {
		struct allocator_image *image = begin_segment(&mi_layouts[i]);
		change_entry(image, &mi_layouts[i], 2, 4); /* instead of 3: BIG is missing */
		expect_damage(image);
		allocator_image_check(image, HEAP_MIMALLOC);
	}
}

/* A segment without an owner, in which free slices are just split. */
static struct allocator_image *begin_two(const struct mi_layout *layout, uint64_t cookie_key)
{
	struct allocator_image *image = begin_segment(layout);
	struct mi_layout other = *layout;
	other.after = SLICES * SLICE;
	allocator_image_expect(image, BIG, 3 * SLICE, BLOCK_USED);
	make_head(image, &other, 0, cookie_key);
	make_entry(image, &other, 1, 1, 0, 0, 0, 0);
	make_big(image, &other);
	make_entry(image, &other, 5, SLICES - 5, 0, 0, 0, 0);
	change_entry(image, &other, 1, 0);
	return image;
}

CASE(mimalloc_cookie,
	"a table that makes no sense in places is one with the process's cookie alone")
{
	for (size_t i = 0; i < MI_LAYOUTS; i++) {
		struct allocator_image *image = begin_two(&mi_layouts[i], COOKIE_KEY);
		allocator_image_expect(image, BIG + SLICES * SLICE, 3 * SLICE, BLOCK_USED);
		expect_damage(image);
		allocator_image_check(image, HEAP_MIMALLOC);
		allocator_image_check(begin_two(&mi_layouts[i], COOKIE_KEY + 1), HEAP_MIMALLOC);
	}
}

/* gperftools' tcmalloc: SizeMap, PageMap2, Span */

#define TC_PAGES 0x7c4000000000ull
#define TC_LEAF 0x7c0000000000ull
#define TC_SPANS 0x7b0000000000ull
#define TC_CLASSES 40u
#define TC_CLASS 36u
#define TC_BLOCK 560u

/* Sizes go up by 16, and end with 256 KiB. */
static void make_tc_sizes(struct allocator_image *image, uint64_t at)
{
	for (uint32_t i = 1; i < TC_CLASSES; i++) {
		uint32_t size = i == 1 ? 8 : i + 1 < TC_CLASSES ? 16 * (i - 1) : 256u << 10;
		core_builder_bytes(&image->core, at + 4ull * i, &size, 4);
	}
}

/* A span of pages, and what its leaf says of it: of all of them, or the first and the last. */
static void make_tc_span(struct allocator_image *image, unsigned bits, unsigned number,
	uint64_t page, uint64_t pages, uint64_t objects, uint64_t about)
{
	uint64_t span = TC_SPANS + 48ull * number, first = (TC_PAGES >> bits) + page;
	uint64_t mask = (1ull << (48 - bits + 1) / 2) - 1;
	core_builder_word(&image->core, span, first);
	core_builder_word(&image->core, span + 8, pages);
	core_builder_word(&image->core, span + 32, objects);
	core_builder_word(&image->core, span + 40, about);
	for (uint64_t i = 0; i < pages; i++)
		core_builder_word(&image->core, TC_LEAF + 8 * ((first + i) & mask), span);
}

static void make_tc(struct allocator_image *image, unsigned bits)
{
	const uint64_t page = 1ull << bits, blocks = page / TC_BLOCK, last = blocks - 1;
	/* Of the small ones the second and the last are free. */
	make_tc_span(image, bits, 0, 0, 1, TC_PAGES + TC_BLOCK, TC_CLASS << 16 | (blocks - 2));
	core_builder_word(&image->core, TC_PAGES + TC_BLOCK, TC_PAGES + TC_BLOCK * last);
	for (uint64_t i = 0; i < blocks; i++)
		allocator_image_expect(image, TC_PAGES + TC_BLOCK * i, TC_BLOCK,
			i == 1 || i == last ? BLOCK_FREE : BLOCK_USED);
	make_tc_span(image, bits, 1, 1, 3, 0, 0);
	allocator_image_expect(image, TC_PAGES + page, 3 * page, BLOCK_USED);
	make_tc_span(image, bits, 2, 4, 2, 0, 1 << 24);
}

CASE(tcmalloc, "heaps of tcmalloc with pages of 4 to 256 KiB")
{
	for (unsigned bits = 12; bits <= 18; bits++) {
		struct allocator_image *image = allocator_image_begin();
		unsigned leaf = (48 - bits + 1) / 2, root = 48 - bits - leaf;
		uint64_t data = (8ull << root) + 0x4000;
		printf("# pages of %u KiB\n", 1u << (bits - 10));
		core_builder_add(&image->core, TC_SPANS, 0x1000, PF_R | PF_W, NULL, 0);
		core_builder_add(&image->core, TC_LEAF, 8ull << leaf, PF_R | PF_W, NULL, 0);
		core_builder_add(&image->core, TC_PAGES, 6ull << bits, PF_R | PF_W, NULL, 0);
		struct core_piece *head = core_builder_add(
			&image->core, LIBRARY, 0x1000, PF_R, "/lib/libtcmalloc.so.4", 0);
		core_builder_module(head, 0x1000 + data);
		core_builder_add(&image->core, LIBRARY + 0x1000, data, PF_R | PF_W,
			"/lib/libtcmalloc.so.4", 0x1000);
		core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
		make_tc_sizes(image, LIBRARY + 0x1200);
		core_builder_word(
			&image->core, LIBRARY + 0x3000 + 8 * (TC_PAGES >> bits >> leaf), TC_LEAF);
		make_tc(image, bits);
		allocator_image_check(image, HEAP_TCMALLOC);
	}
}

CASE(seen, "of glibc's rings it is said how many close where too few do")
{
	struct allocator_image *image = allocator_image_begin();
	struct core_file file;
	struct address_space space;
	unsigned right;
	uint64_t at, data = LIBRARY + 0x1000, first = data + 0x200;
	struct core_piece *head =
		core_builder_add(&image->core, LIBRARY, 0x1000, PF_R, "/lib/libc.so.6", 0);
	core_builder_module(head, 0x4000);
	core_builder_add(&image->core, data, 0x3000, PF_R | PF_W, "/lib/libc.so.6", 0x1000);
	for (unsigned i = 0; i < 97; i++) {
		core_builder_word(&image->core, first + 16 * i, first + 16 * i - 16);
		core_builder_word(&image->core, first + 16 * i + 8, first + 16 * i - 16);
	}
	CHECK_OK(core_file_open_fd(core_builder_file(&image->core), "core", &file));
	CHECK_OK(address_space_of_core(&file, NULL, &space));
	CHECK_OK(glibc_bins_seen(&space, &right, &at));
	CHECK_U64(right, 97);
	CHECK_U64(at, first);
	address_space_close(&space);
	core_file_close(&file);
	core_builder_deinit(&image->core);
	free(image);
}

TAP_MAIN
