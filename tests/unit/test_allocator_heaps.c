/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps of jemalloc, mimalloc and musl as versions and machines lay them out that are not at hand,
 * or damaged, synthesised: those of Debian's libraries are tested on real programs
 * (e2e/test_heap_truth.py).
 */
#include <elf.h>

#include "heap/survey.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define LIBRARY 0x7f0000000000ull
#define TLS 0x7f8000000000ull
#define TLS_BYTES 0x2000ull
#define THREAD (TLS + TLS_BYTES - 0x800)

struct expected {
	uint64_t address, size;
	enum block_state state;
};

struct image {
	struct core_builder core;
	struct expected blocks[512];
	size_t count;
	const char *damage[4]; /* in order */
	size_t damaged;
};

static void expect(struct image *image, uint64_t address, uint64_t size, enum block_state state)
{
	image->blocks[image->count++] = (struct expected){address, size, state};
}

static struct error *take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct image *image = context;
	(void)bytes, (void)len;
	for (size_t i = 0; i < image->count; i++) {
		struct expected *e = &image->blocks[i];
		if (e->address != block->address)
			continue;
		CHECK_U64(block->size, e->size);
		CHECK_U64(block->state, e->state);
		e->address = 0; /* told once */
		return NULL;
	}
	CHECK_U64(block->address, 0);
	return NULL;
}

static void check_image(struct image *image, enum heap_maker maker)
{
	struct core_file file;
	struct address_space space;
	struct heap heap;
	core_builder_word(&image->core, THREAD, THREAD);
	image->core.thread_pointers[0] = THREAD;
	image->core.threads = 1;
	CHECK_OK(core_file_open_fd(core_builder_file(&image->core), "core", &file));
	CHECK_OK(address_space_of_core(&file, NULL, &space));
	CHECK_OK(heap_open(&space, &heap));
	for (size_t i = 0; i < heap.areas.len; i++)
		CHECK_U64(heap.areas.data[i].maker, maker);
	struct heap_sink sink = {image, take};
	CHECK_OK(heap_walk(&heap, &sink));
	CHECK_U64(heap.damage.len, image->damaged);
	for (size_t i = 0; i < heap.damage.len && i < image->damaged; i++)
		CHECK_STR(heap.damage.data[i].what, image->damage[i]);
	for (size_t i = 0; i < image->count; i++)
		CHECK_U64(image->blocks[i].address, 0);
	heap_close(&heap);
	address_space_close(&space);
	core_file_close(&file);
	core_builder_deinit(&image->core);
	free(image);
}

static struct image *begin_image(void)
{
	return calloc(1, sizeof(struct image));
}

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

static void make_extent(struct image *image, const struct je_layout *layout, unsigned number,
	uint64_t address, uint64_t bytes, uint64_t class, uint64_t state, uint64_t bits)
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

static void make_slab(struct image *image, const struct je_layout *layout)
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
		expect(image, SLAB + 48ull * i, 48,
			free_one     ? BLOCK_FREE
			: i % 8 == 1 ? BLOCK_CACHED
				     : BLOCK_USED);
	}
}

/* Of 36 sizes; what is kept of one of them is a slab's. */
static void make_stacks(struct image *image)
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
		struct image *image = begin_image();
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
		expect(image, LARGE, 20480, BLOCK_USED);
		make_extent(image, layout, 2, IDLE, 0x8000, 235, 1, 0);
		make_extent(image, layout, 3, STACKS, 0x4000, STACKS_CLASS, 0, 0);
		expect(image, STACKS, 14336, BLOCK_OWN);
		make_stacks(image);
		check_image(image, HEAP_JEMALLOC);
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

struct mi_layout {
	const char *versions;
	unsigned table; /* word of the segment */
	bool thread_first;
	unsigned words, free_list, own, used, bytes, first, keys, others, heap; /* of an entry */
	unsigned lead;        /* bytes before a page's first block */
	unsigned keys_behind; /* in the heap, words behind the thread's number */
};

static const struct mi_layout mi_layouts[] = {
	{"2.0.0 to 2.0.5", 33, true, 10, 2, 4, 3, 0, 0, 0, 5, 6, 0, 0},
	{"2.0.7", 34, true, 10, 2, 4, 3, 0, 0, 0, 5, 6, 128, 0},
	{"2.0.7, secure", 34, true, 12, 2, 6, 5, 0, 0, 3, 7, 8, 128, 2},
	{"2.0.9", 36, false, 10, 2, 4, 3, 0, 0, 0, 5, 6, 384, 0},
	{"2.0.9, secure", 36, false, 12, 2, 4, 3, 0, 0, 5, 7, 8, 384, 3},
	{"2.1.0 to 2.1.2", 36, false, 10, 2, 4, 3, 0, 0, 0, 5, 6, 192, 0},
	{"2.1.4 and later", 36, false, 12, 2, 3, 4, 5, 6, 0, 7, 8, 192, 0},
	{"2.1.4 and later, secure", 36, false, 14, 2, 3, 4, 5, 6, 7, 9, 10, 192, 3},
};

static const uint64_t keys[2] = {0x1234567890abcdefull, 0xfedcba0987654321ull};

/* How a link stands in memory; `end` stands for none. */
static uint64_t encode(const struct mi_layout *layout, uint64_t to, uint64_t end)
{
	uint64_t x = (to ? to : end) ^ keys[1];
	unsigned by = keys[0] & 63;
	return layout->keys ? (x << by | x >> (64 - by)) + keys[0] : to;
}

static uint64_t make_entry(struct image *image, const struct mi_layout *layout, unsigned slice,
	uint64_t slices, uint64_t bytes, uint64_t given, uint64_t room, uint64_t used)
{
	uint64_t about = SEGMENT + 8ull * (layout->table + slice * layout->words);
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

static void make_small(struct image *image, const struct mi_layout *layout)
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
		expect(image, first + i * BLOCK, BLOCK,
			i == 2 || i == 4 || i == 6 ? BLOCK_FREE
			: i >= 8                   ? BLOCK_CACHED
						   : BLOCK_USED);
	expect(image, first + GIVEN * BLOCK, (room - GIVEN) * BLOCK, BLOCK_FREE);
	/* The last one was freed by another thread while the page was full. */
	core_builder_word(&image->core, OWNER + 8, first + 9 * BLOCK);
	core_builder_word(&image->core, OWNER + 16, THREAD);
	core_builder_word(&image->core, first + 9 * BLOCK, encode(layout, 0, OWNER));
	for (unsigned i = 0; layout->keys && i < 2; i++)
		core_builder_word(
			&image->core, OWNER + 16 + 8 * (layout->keys_behind + i), keys[i]);
}

CASE(mimalloc, "heaps of mimalloc 2: pages of small and large blocks, what others freed")
{
	for (size_t i = 0; i < sizeof(mi_layouts) / sizeof(mi_layouts[0]); i++) {
		const struct mi_layout *layout = &mi_layouts[i];
		struct image *image = begin_image();
		printf("# %s\n", layout->versions);
		core_builder_add(&image->core, SEGMENT, 8 * SLICE, PF_R | PF_W, NULL, 0);
		core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
		uint64_t head = SEGMENT + 8ull * layout->table;
		core_builder_word(&image->core, head - 40, SLICES);
		core_builder_word(&image->core, head - 32, 1);
		core_builder_word(&image->core, head - (layout->thread_first ? 8 : 16), SLICES);
		core_builder_word(&image->core, head - (layout->thread_first ? 16 : 8), THREAD);
		make_entry(image, layout, 0, 1, SLICE, 0, 0, 0);
		make_small(image, layout);
		uint64_t about = make_entry(image, layout, 2, 3, 3 * SLICE, 1, 1, 1);
		if (layout->first)
			core_builder_word(&image->core, about + 8 * layout->first, BIG);
		expect(image, BIG, 3 * SLICE, BLOCK_USED);
		/* A page that is just being made, one that is given back, free slices. */
		make_entry(image, layout, 5, 2, 2 * SLICE, 0, 0, 0);
		make_entry(image, layout, 7, 1, 1, 0, 0, 0);
		make_entry(image, layout, 8, SLICES - 8, 0, 0, 0, 0);
		check_image(image, HEAP_MIMALLOC);
	}
}

/* musl's mallocng: struct malloc_context, meta_area, meta, group */

#define NG_AREA 0x7c0000000000ull
#define NG_SLOTTED 0x7c0000010000ull
#define NG_HUGE 0x7c0000100000ull
#define NG_HUGE_PAGES 1024u
#define NG_DATA (LIBRARY + 0x1000)
#define NG_CONTEXT (NG_DATA + 0x120)
#define NG_GIFT (NG_DATA + 0xe00)
#define NG_SECRET 0x5cd3cc9df2d6070cull

static void ng_byte(struct image *image, uint64_t address, uint8_t value)
{
	core_builder_bytes(&image->core, address, &value, 1);
}

/* The description of a group, and the group's head. */
static void ng_describe(struct image *image, unsigned number, uint64_t group, uint32_t avail,
	uint32_t freed, unsigned last, unsigned class, uint64_t pages)
{
	uint64_t about = NG_AREA + 24 + 40ull * number;
	core_builder_word(&image->core, about + 16, group);
	core_builder_word(&image->core, about + 24, avail | (uint64_t)freed << 32);
	core_builder_word(&image->core, about + 32, last | 1u << 5 | class << 6 | pages << 12);
	core_builder_word(&image->core, group, about);
	core_builder_word(&image->core, group + 8, last);
}

/* The header of a block that is `units` into its slot, as enframe() writes it, with `spare` bytes
 * at the slot's end. */
static void ng_block(struct image *image, uint64_t group, unsigned slot, uint64_t stride,
	uint64_t units, uint32_t spare)
{
	uint64_t start = group + 16 + slot * stride, block = start + 16 * units;
	uint64_t end = start + stride - 4, far = (block - group - 16) / 16;
	uint8_t moved[3] = {0xe0, (uint8_t)units, (uint8_t)(units >> 8)};
	uint8_t header[3] = {
		(uint8_t)(slot | (spare < 5 ? spare : 5) << 5), (uint8_t)far, (uint8_t)(far >> 8)};
	if (units)
		core_builder_bytes(&image->core, start - 3, moved, 3);
	if (far > 0xffff) {
		core_builder_bytes(&image->core, block - 8, &far, 4);
		ng_byte(image, block - 4, 1);
		header[1] = header[2] = 0;
	}
	core_builder_bytes(&image->core, block - 3, header, 3);
	if (spare >= 5)
		core_builder_bytes(&image->core, end - 4, &spare, 4);
	expect(image, block, end - block - spare, BLOCK_USED);
}

/* Sixteen slots of 496 bytes; the fifth is a group itself. */
static void make_ng_groups(struct image *image)
{
	const uint64_t stride = 31 * 16, inner = NG_SLOTTED + 16 + 4 * stride;
	ng_describe(image, 0, NG_SLOTTED, 1u << 2, 0xff88, 15, 15, 2);
	ng_block(image, NG_SLOTTED, 0, stride, 0, 0);
	ng_block(image, NG_SLOTTED, 1, stride, 3, 300);
	ng_byte(image, inner - 3, 4 | 6 << 5);
	uint16_t units = 4 * 31;
	core_builder_bytes(&image->core, inner - 2, &units, 2);
	/* One that a thread is just being given. */
	ng_byte(image, NG_SLOTTED + 16 + 5 * stride - 3, 0xff);
	expect(image, NG_SLOTTED + 16 + 5 * stride, stride - 4, BLOCK_USED);
	ng_block(image, NG_SLOTTED, 6, stride, 0, 2);
	for (unsigned i = 2; i < 16; i++) {
		if (i < 4 || i > 6)
			expect(image, NG_SLOTTED + 16 + i * stride, stride - 4, BLOCK_FREE);
	}
	ng_describe(image, 1, inner, 0x3f0, 1u << 3, 9, 2, 0);
	ng_block(image, inner, 0, 48, 0, 0);
	ng_block(image, inner, 1, 48, 1, 28);
	ng_block(image, inner, 2, 48, 0, 4);
	for (unsigned i = 3; i < 10; i++)
		expect(image, inner + 16 + 48 * i, 44, BLOCK_FREE);
}

static void make_ng(struct image *image, unsigned page_word)
{
	core_builder_word(&image->core, NG_AREA, NG_SECRET);
	core_builder_word(&image->core, NG_AREA + 16, 101);
	make_ng_groups(image);
	ng_describe(image, 5, NG_HUGE, 0, 0, 0, 63, NG_HUGE_PAGES);
	ng_block(image, NG_HUGE, 0, NG_HUGE_PAGES * 4096ull - 16, 0x1fffe, 1000);
	if (page_word > 1)
		return;
	core_builder_word(&image->core, NG_CONTEXT, NG_SECRET);
	if (page_word)
		core_builder_word(&image->core, NG_CONTEXT + 8, 65536);
	core_builder_word(&image->core, NG_CONTEXT + 8 + 8 * page_word, 1 | 77ull << 32);
	core_builder_word(&image->core, NG_CONTEXT + 56 + 8 * page_word, NG_AREA);
	/* What the dynamic linker has given away of a module's data. */
	ng_describe(image, 9, NG_GIFT, 0, 1, 0, 3, 0);
	expect(image, NG_GIFT + 16, 60, BLOCK_FREE);
}

static struct image *begin_ng(unsigned page_word)
{
	struct image *image = begin_image();
	core_builder_add(&image->core, NG_AREA, 0x1000, PF_R | PF_W, NULL, 0);
	core_builder_add(&image->core, NG_SLOTTED, 0x2000, PF_R | PF_W, NULL, 0);
	core_builder_add(&image->core, NG_HUGE, NG_HUGE_PAGES * 4096ull, PF_R | PF_W, NULL, 0);
	struct core_piece *head =
		core_builder_add(&image->core, LIBRARY, 0x1000, PF_R, "/lib/libng.so.1", 0);
	core_builder_module(head, 0x2000);
	core_builder_add(&image->core, NG_DATA, 0x1000, PF_R | PF_W, "/lib/libng.so.1", 0x1000);
	core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
	make_ng(image, page_word);
	return image;
}

CASE(mallocng, "heaps of musl's mallocng: groups in groups, what is moved in its slot, gifts")
{
	static const char *const ways[] = {
		"pages of one size", "pages whose size is asked for", "without libc's data"};
	for (unsigned i = 0; i < 3; i++) {
		printf("# %s\n", ways[i]);
		check_image(begin_ng(i), HEAP_MALLOCNG);
	}
}

CASE(mallocng_damage, "mallocng: what was written beyond its end, or over a header")
{
	struct image *image = begin_ng(0);
	const uint64_t stride = 31 * 16;
	/* The byte behind the second one's, the header before the seventh one. */
	ng_byte(image, NG_SLOTTED + 16 + 2 * stride - 4 - 300, 'x');
	ng_byte(image, NG_SLOTTED + 16 + 6 * stride - 3, 'x');
	image->damage[0] = "a block was written beyond its end";
	image->damage[1] = "a block's header was overwritten";
	image->damaged = 2;
	for (size_t i = 0; i < image->count; i++) {
		if (image->blocks[i].address == NG_SLOTTED + 16 + 6 * stride)
			image->blocks[i].size += 2;
	}
	check_image(image, HEAP_MALLOCNG);
}

/* Go's spans: runtime.mheap, mspan */

#define GO_DATA (LIBRARY + 0x1000)
#define GO_LIST (GO_DATA + 0x318)
#define GO_SPANS 0x7d0000000000ull
#define GO_ABOUT (GO_SPANS + 0x1000)
#define GO_BITS (GO_SPANS + 0x3000)
#define GO_ARENA 0x7e0000000000ull

/* Offsets of the versions. */
static const struct go_layout {
	const char *versions;
	unsigned elements, bits, count, class, size;
	bool is_short; /* numbers of elements have two bytes */
} go_layouts[] = {
	{"1.12 to 1.20", 56, 72, 96, 98, 104, false},
	{"1.21", 56, 72, 104, 106, 112, false},
	{"from 1.22 on", 50, 64, 96, 98, 104, true},
};

/* Describes a span of so many pages; state 1: of elements, 2: of others. */
static uint64_t go_span(struct image *image, const struct go_layout *layout, unsigned number,
	uint64_t start, uint64_t pages, unsigned state)
{
	uint64_t about = GO_ABOUT + 0xa0ull * number;
	uint8_t byte = (uint8_t)state;
	core_builder_word(&image->core, GO_SPANS + 8ull * number, about);
	core_builder_word(&image->core, about + 24, start);
	core_builder_word(&image->core, about + 32, pages);
	core_builder_bytes(&image->core, about + layout->class + 1, &byte, 1);
	return about;
}

static uint64_t go_elements(struct image *image, const struct go_layout *layout, uint64_t about,
	uint16_t elements, uint16_t next, uint8_t class, uint64_t size)
{
	uint64_t start = core_builder_read(&image->core, about + 24);
	uint64_t bits = GO_BITS + (about - GO_ABOUT) / 0xa0 * 64;
	size_t width = layout->is_short ? 2 : 8;
	uint64_t numbers[2] = {next, elements};
	core_builder_bytes(&image->core, about + 48, &numbers[0], width);
	core_builder_bytes(&image->core, about + layout->elements, &numbers[1], width);
	core_builder_word(&image->core, about + layout->bits, bits);
	core_builder_bytes(&image->core, about + layout->count, &next, 2);
	core_builder_bytes(&image->core, about + layout->class, &class, 1);
	core_builder_word(&image->core, about + layout->size, size);
	core_builder_word(&image->core, about + layout->size + 8, start + elements * size);
	return bits;
}

/* Spans of small elements, of a large one, of a stack, and one that is no more. */
static struct image *begin_go(const struct go_layout *layout)
{
	struct image *image = begin_image();
	struct core_piece *head =
		core_builder_add(&image->core, GO_SPANS, 0x4000, PF_R | PF_W, NULL, 0);
	core_builder_add(&image->core, GO_ARENA, 0x20000, PF_R | PF_W, NULL, 0);
	head = core_builder_add(&image->core, LIBRARY, 0x1000, PF_R, "/usr/bin/app", 0);
	core_builder_module(head, 0x2000);
	core_builder_add(&image->core, GO_DATA, 0x1000, PF_R | PF_W, "/usr/bin/app", 0x1000);
	core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
	core_builder_word(&image->core, GO_LIST, GO_SPANS);
	core_builder_word(&image->core, GO_LIST + 8, 4);
	core_builder_word(&image->core, GO_LIST + 16, 100);
	uint64_t small = go_span(image, layout, 0, GO_ARENA + 0x4000, 1, 1);
	core_builder_word(
		&image->core, go_elements(image, layout, small, 5, 2, 2 * 40 + 1, 1536), 1u << 3);
	for (unsigned i = 0; i < 5; i++)
		expect(image, GO_ARENA + 0x4000 + 1536 * i, 1536,
			i < 2 || i == 3 ? BLOCK_USED : BLOCK_FREE);
	uint64_t large = go_span(image, layout, 1, GO_ARENA + 0x6000, 5, 1);
	go_elements(image, layout, large, 1, 1, 0, 5 * 8192);
	expect(image, GO_ARENA + 0x6000, 5ull * 8192, BLOCK_USED);
	go_span(image, layout, 2, GO_ARENA, 1, 2);
	go_span(image, layout, 3, GO_ARENA + 0x4000, 1, 0);
	return image;
}

CASE(go, "heaps of Go: spans of small and large elements, beside those of stacks")
{
	for (size_t i = 0; i < sizeof(go_layouts) / sizeof(go_layouts[0]); i++) {
		printf("# %s\n", go_layouts[i].versions);
		check_image(begin_go(&go_layouts[i]), HEAP_GO);
	}
}

CASE(go_overlap, "Go: a span that lies in another is damage, and is not told")
{
	struct image *image = begin_go(&go_layouts[0]);
	uint64_t about = go_span(image, &go_layouts[0], 3, GO_ARENA + 0x8000, 1, 1);
	go_elements(image, &go_layouts[0], about, 1, 1, 0, 8192);
	image->damage[0] = "spans of Go's lie in each other";
	image->damaged = 1;
	check_image(image, HEAP_GO);
}

/* Words that no span of Go's has. */
CASE(go_damage, "Go: a list with a span that does not agree with itself is none")
{
	static const struct {
		unsigned at;
		uint64_t value;
	} wrong[] = {{24, GO_ARENA + 0x4008}, {24, 0x7d8000000000ull}, {32, 0}, {32, 1ull << 40},
		{48, 6}, {56, 0}, {56, 2000}, {56, UINT64_MAX}, {72, 0}, {104, 0}, {104, 1544},
		{104, UINT64_MAX}, {112, GO_ARENA}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct image *image = begin_go(&go_layouts[0]);
		core_builder_word(&image->core, GO_ABOUT + wrong[i].at, wrong[i].value);
		image->count = 0;
		check_image(image, HEAP_GO);
	}
}

/* musl's older allocator: struct mal, chunk */

#define OLD_BREAK 0x7c0000000000ull
#define OLD_MAPPING 0x7c0000100000ull
#define OLD_DATA (LIBRARY + 0x1000)
#define OLD_BINS (OLD_DATA + 0x108)
#define OLD_GIFT (OLD_DATA + 0xd10)

/* The place that stands for a ring as if it were a chunk. */
static uint64_t old_ring(unsigned number)
{
	return OLD_BINS + 8 + 24ull * number + 8 - 16;
}

/* A chunk; returns the next one. */
static uint64_t old_chunk(struct image *image, uint64_t at, uint64_t bytes, bool used)
{
	core_builder_word(&image->core, at + 8, bytes | used);
	core_builder_word(&image->core, at + bytes, bytes | used);
	expect(image, at + 16, bytes - 16, used ? BLOCK_USED : BLOCK_FREE);
	return at + bytes;
}

/* Puts free chunks into a ring. */
static void old_bin(struct image *image, unsigned number, const uint64_t *chunks, unsigned count)
{
	uint64_t before = old_ring(number);
	for (unsigned i = 0; i <= count; i++) {
		uint64_t at = i < count ? chunks[i] : old_ring(number);
		core_builder_word(&image->core, before + 16, at);
		core_builder_word(&image->core, at + 24, before);
		before = at;
	}
	uint64_t bits = core_builder_read(&image->core, OLD_BINS);
	core_builder_word(&image->core, OLD_BINS, count ? bits | 1ull << number : bits);
}

static void make_old_run(struct image *image)
{
	uint64_t at = OLD_BREAK + 16, is_free[2];
	core_builder_word(&image->core, at, 1);
	for (unsigned i = 0; i < 20; i++) {
		if (i == 3 || i == 17)
			is_free[i == 17] = at;
		at = old_chunk(
			image, at, i == 3 || i == 17 ? 96 : 64 + 32 * (i % 5), i != 3 && i != 17);
	}
	core_builder_word(&image->core, at + 8, 1);
	old_bin(image, 2, is_free, 2);
	old_bin(image, 40, NULL, 0);
}

/* One as it comes, and one that was asked for at a multiple of 64 KiB. */
static void make_old_mappings(struct image *image)
{
	uint64_t at = OLD_MAPPING, length = 0x40000;
	for (unsigned i = 0; i < 2; i++, at += length) {
		core_builder_word(&image->core, at + 16, 16);
		core_builder_word(&image->core, at + 24, length - 16);
	}
	expect(image, OLD_MAPPING + 32, length - 32, BLOCK_USED);
	uint64_t block = OLD_MAPPING + length + 0x10000, extra = 0x10000 - 16;
	core_builder_word(&image->core, block - 16, extra);
	core_builder_word(&image->core, block - 8, length - extra);
	expect(image, block, length - 0x10000, BLOCK_USED);
}

static struct image *begin_old(void)
{
	struct image *image = begin_image();
	core_builder_add(&image->core, OLD_BREAK, 0x1000, PF_R | PF_W, NULL, 0);
	core_builder_add(&image->core, OLD_MAPPING, 0x80000, PF_R | PF_W, NULL, 0);
	struct core_piece *head =
		core_builder_add(&image->core, LIBRARY, 0x1000, PF_R, "/lib/libold.so.1", 0);
	core_builder_module(head, 0x2000);
	core_builder_add(&image->core, OLD_DATA, 0x1000, PF_R | PF_W, "/lib/libold.so.1", 0x1000);
	core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
	make_old_run(image);
	make_old_mappings(image);
	core_builder_word(&image->core, OLD_GIFT, 1);
	uint64_t gift = OLD_GIFT, end = old_chunk(image, gift, 416, false);
	core_builder_word(&image->core, end + 8, 1);
	old_bin(image, 12, &gift, 1);
	return image;
}

CASE(oldmalloc, "heaps of musl's older allocator: runs, mappings, aligned ones, gifts")
{
	check_image(begin_old(), HEAP_OLDMALLOC);
}

CASE(oldmalloc_damage, "oldmalloc: chunks that were written over are passed over, and no more")
{
	struct image *image = begin_old();
	/* The tenth block's end, and the two headers behind it. */
	uint64_t at = image->blocks[9].address + image->blocks[9].size, junk[4];
	memset(junk, 'x', sizeof(junk));
	core_builder_bytes(&image->core, at, junk, 16);
	image->blocks[10] = image->blocks[--image->count];
	image->damage[0] = "a chunk has another size in front of it than at its end";
	image->damaged = 1;
	check_image(image, HEAP_OLDMALLOC);
}

/* gperftools' tcmalloc: SizeMap, PageMap2, Span */

#define TC_PAGES 0x7c4000000000ull
#define TC_LEAF 0x7c0000000000ull
#define TC_SPANS 0x7b0000000000ull
#define TC_CLASSES 40u
#define TC_CLASS 36u
#define TC_BLOCK 560u

/* Sizes go up by 16, and end with 256 KiB. */
static void make_tc_sizes(struct image *image, uint64_t at)
{
	for (uint32_t i = 1; i < TC_CLASSES; i++) {
		uint32_t size = i == 1 ? 8 : i + 1 < TC_CLASSES ? 16 * (i - 1) : 256u << 10;
		core_builder_bytes(&image->core, at + 4ull * i, &size, 4);
	}
}

/* A span of pages, and what its leaf says of it: of all of them, or the first and the last. */
static void make_tc_span(struct image *image, unsigned bits, unsigned number, uint64_t page,
	uint64_t pages, uint64_t objects, uint64_t about)
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

static void make_tc(struct image *image, unsigned bits)
{
	const uint64_t page = 1ull << bits, blocks = page / TC_BLOCK, last = blocks - 1;
	/* Of the small ones the second and the last are free. */
	make_tc_span(image, bits, 0, 0, 1, TC_PAGES + TC_BLOCK, TC_CLASS << 16 | (blocks - 2));
	core_builder_word(&image->core, TC_PAGES + TC_BLOCK, TC_PAGES + TC_BLOCK * last);
	for (uint64_t i = 0; i < blocks; i++)
		expect(image, TC_PAGES + TC_BLOCK * i, TC_BLOCK,
			i == 1 || i == last ? BLOCK_FREE : BLOCK_USED);
	make_tc_span(image, bits, 1, 1, 3, 0, 0);
	expect(image, TC_PAGES + page, 3 * page, BLOCK_USED);
	make_tc_span(image, bits, 2, 4, 2, 0, 1 << 24);
}

CASE(tcmalloc, "heaps of tcmalloc with pages of 4 to 256 KiB")
{
	for (unsigned bits = 12; bits <= 18; bits++) {
		struct image *image = begin_image();
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
		check_image(image, HEAP_TCMALLOC);
	}
}

CASE(seen, "of glibc's rings it is said how many close where too few do")
{
	struct image *image = begin_image();
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
