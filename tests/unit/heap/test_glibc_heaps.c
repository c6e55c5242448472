/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps of glibc's malloc as versions from 2.17 to 2.43 lay them out, synthesised: the one at hand
 * is tested on real programs (e2e/test_heap_truth.py). Each has a main arena and a second one,
 * chunks in use, free ones in bins, in fast bins and in a thread's cache, and blocks with mappings
 * of their own.
 */
#include <elf.h>
#include <signal.h>
#include <stddef.h>

#include "heap/blocks/parallel_walk.h"
#include "heap/heap_scan.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define LIBC 0x7f0000000000ull
#define DATA (LIBC + 0x1000)
#define ARENA (DATA + 0x400)
#define HEAP 0x560000000000ull
#define HEAP_BYTES 0x40000ull
#define LARGE_BYTES 0x48000ull       /* more than a page, and than others take from the break */
#define OTHER_LIBC 0x7f1000000000ull /* a second one (dlmopen) */
#define OTHER_HEAP 0x7e9000000000ull
#define OTHER_BYTES 0x21000ull
#define SECOND 0x7e0000000000ull /* a heap of the second arena: 64 MiB aligned */
#define SECOND_BYTES 0x30000ull
#define MAPPED 0x7e8000000000ull
/* Arenas without heaps, one over the other so that each has its link where others have nothing. */
#define RING 0x7d0000000000ull
#define RING_STEP 0x90ull
#define TLS 0x7f8000000000ull
#define FIRST_BINS 127u
#define PREV_INUSE 1u
#define IS_MMAPPED 2u
#define NOT_MAIN 4u

struct layout {
	const char *versions;
	uint32_t before;      /* bytes of the arena before its bins */
	uint32_t heap_header; /* sizeof(heap_info) */
	bool has_counter;     /* attached_threads, from 2.23 on */
	bool has_fastbins;
	bool safe;      /* links */
	uint32_t cache; /* bytes of the chunk of a thread's cache; 0: there are none */
};

static const struct layout layouts[] = {
	{"2.17 to 2.22", 0x68, 0x20, false, true, false, 0},
	{"2.23 to 2.25", 0x68, 0x20, true, true, false, 0},
	{"2.26", 0x68, 0x20, true, true, false, 0x250},
	{"2.27 to 2.29", 0x70, 0x20, true, true, false, 0x250},
	{"2.28 of RHEL 8", 0x70, 0x20, true, true, true, 0x250},
	{"2.30 to 2.31", 0x70, 0x20, true, true, false, 0x290},
	{"2.32 to 2.34", 0x70, 0x20, true, true, true, 0x290},
	{"2.35 to 2.41", 0x70, 0x30, true, true, true, 0x290},
	{"2.42", 0x70, 0x30, true, true, true, 0x300},
	{"after 2.42", 0x18, 0x30, true, false, true, 0x300},
};

/* Where threads have their pointers, and whether the core tells them. */
struct machine {
	const char *name;
	uint16_t number;
	int cache_at; /* from the thread pointer on: the word that points to its cache */
	bool tells_pointer, tells_files;
};

static const struct machine machines[] = {
	{"x86-64", EM_X86_64, -72, true, true},
	{"x86-64 without thread pointers", EM_X86_64, -72, false, true},
	{"x86-64 without names of files", EM_X86_64, -72, true, false},
	{"aarch64", EM_AARCH64, 72, true, true},
	{"aarch64 as qemu writes it", EM_AARCH64, 72, false, false},
};

struct expected {
	uint64_t address, size;
	enum block_state state;
};

/* What somebody else has in the memory that he took from the program break, amid the main heap. */
enum hole {
	HOLE_NONE,
	HOLE_FREE,   /* a word that looks like a chunk behind a free one, and leads to a real one */
	HOLE_MARKED, /* one that looks like the first one, and leads to what looks like a mark */
	HOLE_BIG,    /* nothing like it; the first one is large, and does not begin with a page */
	HOLE_USED,   /* one that looks like the first one, and leads to a real one */
	HOLE_ODD,    /* the same, and the real ones do not begin with a page */
	HOLE_LARGE,  /* the same, and far behind it */
	HOLE_CHAIN,  /* chunks from its beginning on, which lead to a real one */
	HOLES
};

/* What an image has beyond what all have. */
struct extra {
	enum hole hole;
	unsigned fast; /* so many more chunks in one fast bin */
	/* So many lists of the thread's cache have a block that is not counted, or count one that
	 * is not in it. */
	unsigned uncounted, overcounted;
	uint64_t far;     /* so far behind stands the arena in libc's data: at multiples of 8 */
	unsigned arenas;  /* so many more in the ring, before the second: of other threads */
	unsigned caches;  /* of further threads, in the main heap */
	bool has_other;   /* there is a second libc, whose malloc has memory */
	bool is_broken;   /* its ring of arenas does not close */
	bool has_seeming; /* the program's blocks with addresses where a cache has its lists */
	uint64_t missing; /* so far into the main heap is a page that the core does not have */
	/* So much more has malloc got for the main arena, and for the second one. */
	uint64_t lost, lost_second;
};

struct image {
	const struct layout *layout;
	const struct machine *machine;
	struct core_builder core;
	struct expected blocks[16384];
	size_t count;
	uint64_t at;   /* next chunk */
	uint64_t bins; /* of the arena whose chunks are made */
	uint64_t flag;
	uint64_t cache; /* user address of the thread's cache; 0: none */
	bool before_free;
	struct extra extra;
};

static uint64_t protect(const struct image *image, uint64_t place, uint64_t value)
{
	return image->layout->safe ? place >> 12 ^ value : value;
}

static void expect(struct image *image, uint64_t size, enum block_state state)
{
	image->blocks[image->count++] = (struct expected){image->at + 16, size - 8, state};
}

static void make_chunk(struct image *image, uint64_t size, enum block_state state)
{
	uint64_t flags =
		(state == BLOCK_FREE ? 0 : image->flag) | (image->before_free ? 0 : PREV_INUSE);
	core_builder_word(&image->core, image->at + 8, size | flags);
	expect(image, size, state);
	image->before_free = state == BLOCK_FREE;
	if (state == BLOCK_FREE)
		core_builder_word(&image->core, image->at + size, size);
	image->at += size;
}

/* At the head of the unsorted bin's ring. */
static void make_free(struct image *image, uint64_t size)
{
	uint64_t head = image->bins - 16, first = core_builder_read(&image->core, image->bins);
	core_builder_word(&image->core, image->at + 16, first);
	core_builder_word(&image->core, image->at + 24, head);
	core_builder_word(&image->core, image->bins, image->at);
	core_builder_word(&image->core, first + 24, image->at);
	make_chunk(image, size, BLOCK_FREE);
}

static void make_fast(struct image *image, uint64_t size)
{
	uint64_t bin = image->bins - 0x60 + 8 * (size / 16 - 2);
	uint64_t first = core_builder_read(&image->core, bin), place = image->at + 16;
	core_builder_word(&image->core, place, protect(image, place, first));
	core_builder_word(&image->core, bin, image->at);
	make_chunk(image, size, BLOCK_CACHED);
}

/* Of the thread's cache: counts of one or two bytes, or of what may still come. */
static void count_cached(struct image *image, uint64_t size)
{
	uint32_t index = (uint32_t)(size / 16 - 2);
	uint64_t count = image->cache + (image->layout->cache == 0x250 ? index : 2 * index);
	uint64_t word = core_builder_read(&image->core, count & ~7ull);
	uint64_t one = 1ull << 8 * (count & 7);
	word += image->layout->cache == 0x300 ? -one : one;
	core_builder_word(&image->core, count & ~7ull, word);
}

/* In the thread's cache, not counted yet. */
static void list_cached(struct image *image, uint64_t size)
{
	uint32_t chunk = image->layout->cache, index = (uint32_t)(size / 16 - 2);
	uint64_t lists = image->cache + (chunk == 0x250 ? 64 : chunk == 0x290 ? 128 : 152);
	uint64_t place = image->at + 16, list = lists + 8 * index;
	uint64_t first = core_builder_read(&image->core, list);
	core_builder_word(&image->core, place, protect(image, place, first));
	core_builder_word(&image->core, list, place);
	make_chunk(image, size, BLOCK_CACHED);
}

static void make_cached(struct image *image, uint64_t size)
{
	count_cached(image, size);
	list_cached(image, size);
}

/* In lists that have nothing else. */
static void make_between(struct image *image)
{
	const struct extra *extra = &image->extra;
	uint64_t size = 0x200;
	for (unsigned i = 0; i < extra->uncounted; i++, size += 16)
		list_cached(image, size);
	for (unsigned i = 0; i < extra->overcounted; i++, size += 16)
		count_cached(image, size);
	make_chunk(image, 0x40, BLOCK_USED);
}

static void make_chunks(struct image *image, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t small = 32 + 16 * (i % 6);
		make_chunk(image, small, BLOCK_USED);
		if (i % 5 == 0)
			make_free(image, 0x420 + 16 * (i % 9));
		if (i % 5 == 1 && image->layout->has_fastbins)
			make_fast(image, small);
		if (i % 5 == 2 && image->cache)
			make_cached(image, small);
		make_chunk(image, 0x50 + 16 * (i % 20), BLOCK_USED);
	}
}

static void make_arena(struct image *image, uint64_t arena, uint64_t next, uint64_t system)
{
	struct core_builder *core = &image->core;
	image->bins = arena + image->layout->before;
	for (unsigned i = 0; i < FIRST_BINS; i++) {
		core_builder_word(core, image->bins + 16 * i, image->bins + 16 * i - 16);
		core_builder_word(core, image->bins + 16 * i + 8, image->bins + 16 * i - 16);
	}
	core_builder_word(core, image->bins + 0x800, next);
	if (image->layout->has_counter)
		core_builder_word(core, image->bins + 0x810, 1);
	core_builder_word(core, image->bins + (image->layout->has_counter ? 0x818 : 0x810), system);
}

static void make_top(struct image *image, uint64_t end)
{
	core_builder_word(&image->core, image->bins - 16, image->at);
	core_builder_word(&image->core, image->at + 8,
		(end - image->at) | (image->before_free ? 0 : PREV_INUSE));
}

/* From 2.42 on counts are of what may still come: of 76 lists. */
static void make_room(struct image *image)
{
	for (uint64_t at = 0; image->layout->cache == 0x300 && at < 152; at += 8)
		core_builder_word(&image->core, image->cache + at, 0x0010001000100010ull);
}

static void make_cache(struct image *image)
{
	if (!image->layout->cache)
		return;
	image->cache = image->at + 16;
	make_room(image);
	make_chunk(image, image->layout->cache, BLOCK_OWN);
	core_builder_word(
		&image->core, TLS + 0x800 + (uint64_t)image->machine->cache_at, image->cache);
	/* The program's own, of that size and all zeros, and nearer to the thread pointer. */
	core_builder_word(&image->core, TLS + 0x800 + (uint64_t)(image->machine->cache_at / 9),
		image->at + 16);
	make_chunk(image, image->layout->cache, BLOCK_USED);
}

/* Each with a block. */
static void make_caches(struct image *image)
{
	for (unsigned i = 0; i < image->extra.caches; i++) {
		image->cache = image->at + 16;
		make_room(image);
		make_chunk(image, image->layout->cache, BLOCK_OWN);
		make_cached(image, 32);
	}
}

/* One as it comes, and one that was aligned: the mapping begins with a head that is stale. */
static void make_mapped(struct image *image)
{
	core_builder_word(&image->core, MAPPED + 8, 0x5000 | IS_MMAPPED);
	image->at = MAPPED;
	expect(image, 0x5000 - 8, BLOCK_USED);
	uint64_t base = MAPPED + 0x5000, chunk = base + 0x1000 - 16;
	core_builder_word(&image->core, base + 8, 0x4000 | IS_MMAPPED);
	core_builder_word(&image->core, chunk, chunk - base);
	core_builder_word(&image->core, chunk + 8, (0x4000 - (chunk - base)) | IS_MMAPPED);
	image->at = chunk;
	expect(image, 0x4000 - (chunk - base) - 8, BLOCK_USED);
}

/* An end mark, somebody else's memory, and the first chunks behind that. */
static void make_hole(struct image *image)
{
	static const uint64_t heads[HOLES] = {[HOLE_FREE] = 0,
		[HOLE_MARKED] = PREV_INUSE,
		[HOLE_USED] = PREV_INUSE,
		[HOLE_ODD] = PREV_INUSE,
		[HOLE_LARGE] = PREV_INUSE,
		[HOLE_CHAIN] = PREV_INUSE};
	enum hole hole = image->extra.hole;
	bool is_odd = hole == HOLE_BIG || hole >= HOLE_ODD;
	uint64_t end = (image->at + 0x1fff) & ~0xfffull;
	uint64_t head = end + (hole == HOLE_CHAIN ? 0 : 0x340);
	uint64_t start = end + (is_odd ? 0x2350 : 0x2000), real = start + 0x160;
	start += hole == HOLE_LARGE ? LARGE_BYTES : 0;
	real += hole == HOLE_LARGE ? LARGE_BYTES : 0;
	make_chunk(image, end - 0x20 - image->at, BLOCK_USED);
	core_builder_word(&image->core, end - 0x20 + 8, 0x10 | PREV_INUSE);
	core_builder_word(&image->core, end - 0x10 + 8, 0x10 | PREV_INUSE);
	if (hole != HOLE_BIG)
		core_builder_word(&image->core, head + 8,
			(hole == HOLE_MARKED ? 0x200 : real - head) | heads[hole]);
	if (hole == HOLE_MARKED)
		core_builder_word(&image->core, head + 0x208, 0x13);
	image->at = start;
	if (hole == HOLE_BIG)
		make_chunk(image, LARGE_BYTES, BLOCK_USED);
	make_chunk(image, 0x100, BLOCK_USED);
	make_chunk(image, 0x60, BLOCK_USED);
	for (unsigned i = 0; i < 30; i++)
		make_chunk(image, 0x40, BLOCK_USED);
}

/* The main arena of a second libc, and its memory. */
static void make_other(struct image *image)
{
	uint64_t arena = OTHER_LIBC + 0x1400;
	make_arena(image, arena, image->extra.is_broken ? 8 : arena, OTHER_BYTES);
	image->at = OTHER_HEAP;
	image->flag = 0;
	image->cache = 0;
	image->before_free = false;
	size_t count = image->count;
	make_chunks(image, 60);
	make_top(image, OTHER_HEAP + OTHER_BYTES);
	image->count = image->extra.is_broken ? count : image->count;
}

/* Each with the address of the block before it, in the list of its size. */
static void make_seeming(struct image *image)
{
	for (uint64_t more = 0; image->extra.has_seeming && more < 32; more += 16) {
		uint64_t before = image->at + 16, size = 0x60;
		make_chunk(image, size, BLOCK_USED);
		core_builder_word(&image->core, image->at + 16 + 152 + 8 * (size / 16 - 2), before);
		make_chunk(image, image->layout->cache + more, BLOCK_USED);
	}
}

/* In one piece, or with a page of its own. */
static void add_heap(struct core_builder *core, uint64_t bytes, uint64_t page)
{
	const uint32_t rw = PF_R | PF_W;
	uint64_t after = page ? page + 0x1000 : 0;
	if (page)
		core_builder_add(core, HEAP, page, rw, NULL, 0);
	if (page)
		core_builder_add(core, HEAP + page, 0x1000, rw, NULL, 0);
	core_builder_add(core, HEAP + after, bytes - after, rw, NULL, 0);
}

static void lose_page(struct core_builder *core, uint64_t start)
{
	for (unsigned i = 0; i < core->count; i++) {
		if (core->pieces[i].start == start) {
			free(core->pieces[i].data);
			core->pieces[i].data = NULL;
		}
	}
}

static void make_image(
	struct image *image, const struct layout *layout, const struct machine *machine)
{
	const uint32_t rw = PF_R | PF_W;
	uint64_t second = SECOND + layout->heap_header;
	*image = (struct image){.layout = layout, .machine = machine, .extra = image->extra};
	struct core_builder *core = &image->core;
	core->machine = machine->number;
	core->without_files = !machine->tells_files;
	const struct extra *extra = &image->extra;
	const uint64_t heap_bytes =
			       HEAP_BYTES + extra->caches * 0x1000ull + (extra->hole ? 0x8000 : 0) +
			       (extra->hole == HOLE_LARGE || extra->hole == HOLE_BIG ? LARGE_BYTES
										     : 0),
		       arena = ARENA + extra->far;
	add_heap(core, heap_bytes, extra->missing);
	core_builder_add(core, RING, RING_STEP * extra->arenas + 0x1000, rw, NULL, 0);
	core_builder_add(core, SECOND, SECOND_BYTES, rw, NULL, 0);
	core_builder_add(core, MAPPED, 0xa000, rw, NULL, 0);
	if (extra->has_other)
		core_builder_add(core, OTHER_HEAP, OTHER_BYTES, rw, NULL, 0);
	core_builder_module(core_builder_add(core, LIBC, 0x1000, PF_R, "/lib/libc.so.6", 0),
		0x4000 + extra->far);
	core_builder_add(core, DATA, 0x2000 + extra->far, rw, "/lib/libc.so.6", 0x1000);
	if (extra->has_other) {
		core_builder_module(
			core_builder_add(core, OTHER_LIBC, 0x1000, PF_R, "/lib/libc.so.6", 0),
			0x4000);
		core_builder_add(core, OTHER_LIBC + 0x1000, 0x2000, rw, "/lib/libc.so.6", 0x1000);
	}
	core_builder_add(core, TLS, 0x2000, rw, NULL, 0);
	core_builder_bytes(core, LIBC + offsetof(Elf64_Ehdr, e_machine), &machine->number, 2);
	core->thread_pointers[core->threads++] = machine->tells_pointer ? TLS + 0x800 : 0;

	make_arena(image, arena, extra->arenas ? RING : second, heap_bytes + extra->lost);
	for (unsigned i = 0; i < extra->arenas; i++)
		core_builder_word(core, RING + i * RING_STEP + layout->before + 0x800,
			i + 1 < extra->arenas ? RING + (i + 1) * RING_STEP : second);
	image->at = HEAP;
	make_cache(image);
	make_chunks(image, 150);
	if (image->extra.hole)
		make_hole(image);
	for (unsigned i = 0; i < image->extra.fast; i++)
		make_fast(image, 32);
	make_between(image);
	make_caches(image);
	make_seeming(image);
	make_top(image, HEAP + heap_bytes);

	core_builder_word(core, SECOND, second);
	core_builder_word(core, SECOND + 16, SECOND_BYTES);
	core_builder_word(core, SECOND + 24, SECOND_BYTES);
	make_arena(image, second, arena, SECOND_BYTES + extra->lost_second);
	image->at = (image->bins + 0x818 + 16 - (layout->has_counter ? 0 : 8) + 15) & ~15ull;
	image->flag = NOT_MAIN;
	image->cache = 0;
	image->before_free = false;
	make_chunks(image, 100);
	make_top(image, SECOND + SECOND_BYTES);
	make_mapped(image);
	if (extra->has_other)
		make_other(image);
	if (extra->missing)
		lose_page(core, HEAP + extra->missing);
}

struct comparing {
	struct image *image;
	size_t right;
	size_t next; /* they come in the order in which most were made */
};

static struct error *take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct comparing *c = context;
	(void)bytes, (void)len;
	for (size_t n = 0; n < c->image->count; n++) {
		size_t i = (c->next + n) % c->image->count;
		const struct expected *e = &c->image->blocks[i];
		if (e->address != block->address)
			continue;
		c->next = i + 1;
		CHECK_U64(block->size, e->size);
		CHECK_U64(block->state, e->state);
		c->right++;
		return NULL;
	}
	CHECK_U64(block->address, 0);
	return NULL;
}

/* The blocks that one half has. */
struct half {
	struct comparing comparing;
	uint64_t first, last;
};

static struct error *take_half(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct half *half = context;
	CHECK(block->address > half->last);
	half->first = half->first ? half->first : block->address;
	half->last = block->address;
	return take(&half->comparing, block, bytes, len);
}

/* Two threads find what one finds. */
static void check_halves(struct image *image, struct heap *heap)
{
	struct half first = {{image, 0, 0}, 0, 0}, second = first;
	struct heap_sink sinks[2] = {{&first, take_half}, {&second, take_half}};
	bool halved;
	CHECK_OK(heap_walk_parallel(heap, 0, &sinks[0], &sinks[1], &halved));
	CHECK(halved);
	CHECK(first.comparing.right && second.comparing.right);
	CHECK(second.first > first.last);
	CHECK_U64(first.comparing.right + second.comparing.right, image->count);
	first = (struct half){{image, 0, 0}, 0, 0};
	CHECK_OK(heap_walk_parallel(heap, UINT64_MAX, &sinks[0], &sinks[1], &halved));
	CHECK(!halved);
	CHECK_U64(first.comparing.right, image->count);
}

/* A heap that was read from an image. */
struct opened {
	struct image *image;
	struct core_file file;
	struct address_space space;
	struct heap heap;
};

static struct image *image_create(
	const struct layout *layout, const struct machine *machine, struct extra extra)
{
	struct image *image = calloc(1, sizeof(*image));
	image->extra = extra;
	make_image(image, layout, machine);
	return image;
}

static void opened_open(struct image *image, struct opened *o)
{
	o->image = image;
	CHECK_OK(core_file_open_fd(core_builder_file(&image->core), "core", &o->file));
	CHECK_OK(address_space_of_core(&o->file, NULL, &o->space));
	CHECK_OK(heap_open(&o->space, &o->heap));
}

static void opened_close(struct opened *o)
{
	heap_close(&o->heap);
	address_space_close(&o->space);
	core_file_close(&o->file);
	core_builder_deinit(&o->image->core);
	free(o->image);
}

/* Returns how often memory was read for lists of free blocks, and how many they have. */
static uint64_t check_layout(const struct layout *layout, const struct machine *machine,
	struct extra extra, size_t *ret_cached)
{
	struct opened o;
	opened_open(image_create(layout, machine, extra), &o);
	struct comparing comparing = {o.image, 0, 0};
	struct heap_sink sink = {&comparing, take};
	CHECK_OK(heap_walk(&o.heap, &sink));
	CHECK_U64(comparing.right, o.image->count);
	check_halves(o.image, &o.heap);
	uint64_t reads = o.heap.glibc.list_reads;
	*ret_cached = o.heap.glibc.cached.len;
	opened_close(&o);
	return reads;
}

CASE(all_layouts, "every layout of glibc's heap is read: each chunk with its size and state")
{
	for (size_t k = 0; k < sizeof(machines) / sizeof(machines[0]); k++) {
		for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
			printf("# %s, %s\n", machines[k].name, layouts[i].versions);
			fflush(stdout);
			size_t cached;
			check_layout(&layouts[i], &machines[k], (struct extra){0}, &cached);
		}
	}
}

CASE(long_lists, "lists of free blocks are not read by a word at a time")
{
	size_t without, with;
	uint64_t few = check_layout(&layouts[7], &machines[0], (struct extra){0}, &without);
	uint64_t many =
		check_layout(&layouts[7], &machines[0], (struct extra){.fast = 3000}, &with);
	CHECK_U64(with - without, 3000);
	CHECK(many - few < 3000 / 16);
}

CASE(between_stores, "a thread that stands between a list and its count has its cache all the same")
{
	static const struct extra extras[] = {{.uncounted = 1}, {.overcounted = 1}};
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].cache != 0x250 && layouts[i].cache != 0x290)
			continue;
		size_t without, with;
		check_layout(&layouts[i], &machines[0], (struct extra){0}, &without);
		for (unsigned k = 0; k < 2; k++) {
			check_layout(&layouts[i], &machines[0], extras[k], &with);
			CHECK_U64(with - without, extras[k].uncounted);
		}
	}
}

CASE(not_between, "what differs from its counts in two places is no thread's cache")
{
	static const struct extra extras[] = {
		{.uncounted = 2}, {.overcounted = 2}, {.uncounted = 1, .overcounted = 1}};
	for (unsigned k = 0; k < 3; k++) {
		struct opened o;
		opened_open(image_create(&layouts[7], &machines[0], extras[k]), &o);
		for (size_t i = 0; i < o.heap.glibc.caches.len; i++)
			CHECK(o.heap.glibc.caches.data[i].address != HEAP + 16);
		opened_close(&o);
	}
}

/* The place of a list of the thread's cache, of layouts[7]. */
static uint64_t list_place(const struct opened *o, uint64_t size)
{
	return o->heap.glibc.caches.data[0].address + 128 + 8 * (size / 16 - 2);
}

static bool is_damaged(const struct heap *heap, const char *what)
{
	for (size_t i = 0; i < heap->damage.len; i++) {
		if (!strcmp(heap->damage.data[i].what, what))
			return true;
	}
	return false;
}

CASE(far_arena, "the arena is found wherever in libc's data it stands")
{
	for (uint64_t far = (1 << 20) - 0x1000; far <= 1 << 20; far += 0xc8) {
		size_t cached;
		check_layout(&layouts[7], &machines[0], (struct extra){.far = far}, &cached);
	}
}

CASE(many_arenas, "a ring of more than 65,536 arenas is followed to its end")
{
	size_t cached;
	check_layout(&layouts[7], &machines[0], (struct extra){.arenas = 65600}, &cached);
}

CASE(many_caches, "caches of more than 4,096 threads are told by their look alone")
{
	size_t without, with;
	check_layout(&layouts[7], &machines[1], (struct extra){0}, &without);
	check_layout(&layouts[7], &machines[1], (struct extra){.caches = 4200}, &with);
	CHECK_U64(with - without, 4200);
}

CASE(lost, "memory that malloc has got for an arena, and that is nowhere, is said to be missing")
{
	static const struct extra extras[] = {
		{.lost = 0}, {.lost = 0x3000}, {.lost_second = 0x5000}};
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		for (unsigned k = 0; k < 3; k++) {
			struct opened o;
			opened_open(image_create(&layouts[i], &machines[0], extras[k]), &o);
			uint64_t bytes = 0;
			for (size_t n = 0; n < o.heap.damage.len; n++)
				bytes += o.heap.damage.data[n].bytes;
			CHECK_U64(o.heap.damage.len, k != 0);
			CHECK_U64(bytes, extras[k].lost + extras[k].lost_second);
			opened_close(&o);
		}
	}
}

#define UNCLEAR                                                                                    \
	"where chunks go on behind memory that somebody else took from the program break can be "  \
	"read in several ways: blocks may be missing, or be none"

static struct error *pass(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	(void)context, (void)block, (void)bytes, (void)len;
	return NULL;
}

CASE(behind_holes,
	"what somebody else has amid the heap hides no chunks, or it is said that it may")
{
	const struct heap_sink sink = {NULL, pass};
	for (enum hole hole = HOLE_NONE + 1; hole < HOLES; hole++) {
		const struct extra extra = {.hole = hole};
		size_t cached;
		if (hole < HOLE_ODD)
			check_layout(&layouts[7], &machines[0], extra, &cached);
		struct opened o;
		opened_open(image_create(&layouts[7], &machines[0], extra), &o);
		CHECK_OK(heap_walk(&o.heap, &sink));
		CHECK_U64(is_damaged(&o.heap, UNCLEAR), hole >= HOLE_USED);
		opened_close(&o);
	}
}

#define NO_END "a thread's list of free blocks does not end"

CASE(circle, "a thread's list that leads back to its beginning is left, and said")
{
	struct opened sound, o;
	opened_open(image_create(&layouts[7], &machines[0], (struct extra){0}), &sound);
	CHECK(!is_damaged(&sound.heap, NO_END));
	size_t length = 0;
	struct image *image = image_create(&layouts[7], &machines[0], (struct extra){0});
	uint64_t at = core_builder_read(&image->core, list_place(&sound, 32)), first = at, next;
	for (; (next = at >> 12 ^ core_builder_read(&image->core, at)); at = next)
		length++;
	CHECK(length);
	core_builder_word(&image->core, at, at >> 12 ^ first);
	opened_open(image, &o);
	CHECK(is_damaged(&o.heap, NO_END));
	/* Some of it more than once, but not for ever. */
	CHECK(o.heap.glibc.cached.len >= sound.heap.glibc.cached.len);
	CHECK(o.heap.glibc.cached.len <= sound.heap.glibc.cached.len + 3 * length);
	opened_close(&o);
	opened_close(&sound);
}

CASE(missing_page,
	"a thread's cache that leads to memory which the core does not have is one, and said")
{
	const struct extra extra = {.missing = 0x8000};
	struct opened sound, o;
	opened_open(image_create(&layouts[7], &machines[0], (struct extra){0}), &sound);
	struct image *image = image_create(&layouts[7], &machines[0], extra);
	uint64_t list = list_place(&sound, 0x300), count = list_place(&sound, 32) - 128 + 2 * 46;
	core_builder_word(&image->core, list, HEAP + extra.missing + 0x100);
	core_builder_word(&image->core, count & ~7ull,
		core_builder_read(&image->core, count & ~7ull) | 1ull << 8 * (count & 7));
	opened_open(image, &o);
	CHECK_U64(o.heap.glibc.caches.len, 1);
	CHECK(o.heap.glibc.cached.len > 0);
	CHECK(is_damaged(&o.heap, NO_END));
	opened_close(&o);
	opened_close(&sound);
}

CASE(other_libc, "blocks of a second libc count, or it is said that they are not told")
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		size_t cached;
		check_layout(&layouts[i], &machines[0], (struct extra){.has_other = true}, &cached);
	}
	for (unsigned broken = 0; broken < 2; broken++) {
		struct opened o;
		opened_open(image_create(&layouts[7], &machines[0],
				    (struct extra){.has_other = true, .is_broken = broken != 0}),
			&o);
		CHECK_U64(o.heap.damage.len, broken);
		CHECK_U64(is_damaged(&o.heap,
				  "this process has a second libc (dlmopen) whose malloc has its "
				  "own memory: its blocks are missing, or only some are shown"),
			broken);
		opened_close(&o);
	}
}

CASE(seeming_cache, "a block that has one address where a thread's cache has a list is none")
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		size_t cached;
		if (layouts[i].cache == 0x300)
			check_layout(&layouts[i], &machines[1], (struct extra){.has_seeming = true},
				&cached);
	}
}

CASE(amid_change, "where a thread is in the middle of malloc(), damage may be that, unless it died")
{
	static const struct {
		uint64_t pc, rbx;
		uint16_t signal;
		bool is_mid_update;
	} threads[] = {
		{LIBC + 0x100, ARENA, 0, true},
		{LIBC + 0x100, ARENA + 8, 0, false},
		{HEAP, ARENA, 0, false},
		{LIBC + 0x100, ARENA, SIGSEGV, false},
		{LIBC + 0x100, ARENA, SIGSTOP, true},
	};
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		struct opened o;
		struct image *image =
			image_create(&layouts[7], &machines[0], (struct extra){.lost = 0x3000});
		image->core.pcs[0] = threads[i].pc;
		image->core.rbxs[0] = threads[i].rbx;
		image->core.signals[0] = threads[i].signal;
		opened_open(image, &o);
		CHECK_U64(o.heap.damage.len, 1);
		CHECK_U64(o.heap.damage.data[0].amid, threads[i].is_mid_update);
		opened_close(&o);
	}
}

CASE(missing_cache, "where a thread's cache is in memory that the core does not have, that is said")
{
	struct opened o;
	struct image *image =
		image_create(&layouts[7], &machines[0], (struct extra){.missing = 0x8000});
	core_builder_word(
		&image->core, TLS + 0x800 + (uint64_t)machines[0].cache_at, HEAP + 0x8010);
	core_builder_word(&image->core, TLS + 0x800 + (uint64_t)(machines[0].cache_at / 9), 0);
	opened_open(image, &o);
	CHECK_U64(o.heap.glibc.caches.len, 0);
	CHECK(is_damaged(&o.heap,
		"a thread's cache of free blocks may be in memory that can't be read: these count "
		"as used"));
	opened_close(&o);
}

CASE(lists_joined,
	"lists that all lead to the same blocks take no more room than a heap has blocks")
{
	const struct extra extra = {.fast = 3000};
	struct opened sound, o;
	opened_open(image_create(&layouts[7], &machines[0], extra), &sound);
	struct image *image = image_create(&layouts[7], &machines[0], extra);
	uint64_t bin = ARENA + image->layout->before - 0x60, all = 0;
	uint64_t first = core_builder_read(&image->core, bin) + 16, place = first, next;
	/* Links of fast bins are to chunks; those of caches to what follows their heads. */
	for (unsigned i = 0; i < extra.fast; i++, place = next) {
		next = (place >> 12 ^ core_builder_read(&image->core, place)) + 16;
		core_builder_word(
			&image->core, place, place >> 12 ^ (i + 1 < extra.fast ? next : 0));
	}
	core_builder_word(&image->core, bin, 0);
	for (uint64_t size = 32; size < 32 + 64 * 16; size += 16) {
		uint64_t list = list_place(&sound, size);
		uint64_t count = list_place(&sound, 32) - 128 + 2 * (size / 16 - 2);
		uint64_t word = core_builder_read(&image->core, count & ~7ull);
		core_builder_word(&image->core, list, first);
		core_builder_word(&image->core, count & ~7ull, word | 1ull << 8 * (count & 7));
	}
	opened_open(image, &o);
	for (size_t i = 0; i < o.heap.areas.len; i++)
		all += (o.heap.areas.data[i].end - o.heap.areas.data[i].start) / 32;
	CHECK_U64(o.heap.glibc.caches.len, 1);
	CHECK(o.heap.glibc.cached.len > extra.fast);
	CHECK(all < 64 * extra.fast);
	CHECK(o.heap.glibc.cached.len <= all);
	CHECK(is_damaged(&o.heap, NO_END));
	opened_close(&o);
	opened_close(&sound);
}

TAP_MAIN
