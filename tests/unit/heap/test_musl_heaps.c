/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heaps of musl's two allocators, also damaged ones, synthesised (test_allocator_heaps.c). */
#include <elf.h>

#include "allocator_image.h"
#include "heap/heap_scan.h"
#include "lib/tap.h"

/* musl's mallocng: struct malloc_context, meta_area, meta, group */

#define NG_AREA 0x7c0000000000ull
#define NG_SLOTTED 0x7c0000010000ull
#define NG_HUGE 0x7c0000100000ull
#define NG_HUGE_PAGES 1024u
#define NG_DATA (LIBRARY + 0x1000)
#define NG_CONTEXT (NG_DATA + 0x120)
#define NG_GIFT (NG_DATA + 0xe00)
#define NG_SECRET 0x5cd3cc9df2d6070cull

static void ng_byte(struct allocator_image *image, uint64_t address, uint8_t value)
{
	core_builder_bytes(&image->core, address, &value, 1);
}

/* The description of a group, and the group's head. */
static void ng_describe(struct allocator_image *image, unsigned number, uint64_t group,
	uint32_t avail, uint32_t freed, unsigned last, unsigned class, uint64_t pages)
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
static void ng_block(struct allocator_image *image, uint64_t group, unsigned slot, uint64_t stride,
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
	allocator_image_expect(image, block, end - block - spare, BLOCK_USED);
}

/* Sixteen slots of 496 bytes; the fifth is a group itself. */
static void make_ng_groups(struct allocator_image *image)
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
	allocator_image_expect(image, NG_SLOTTED + 16 + 5 * stride, stride - 4, BLOCK_USED);
	ng_block(image, NG_SLOTTED, 6, stride, 0, 2);
	for (unsigned i = 2; i < 16; i++) {
		if (i < 4 || i > 6)
			allocator_image_expect(
				image, NG_SLOTTED + 16 + i * stride, stride - 4, BLOCK_FREE);
	}
	ng_describe(image, 1, inner, 0x3f0, 1u << 3, 9, 2, 0);
	ng_block(image, inner, 0, 48, 0, 0);
	ng_block(image, inner, 1, 48, 1, 28);
	ng_block(image, inner, 2, 48, 0, 4);
	for (unsigned i = 3; i < 10; i++)
		allocator_image_expect(image, inner + 16 + 48 * i, 44, BLOCK_FREE);
}

static void make_ng(struct allocator_image *image, unsigned page_word)
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
	allocator_image_expect(image, NG_GIFT + 16, 60, BLOCK_FREE);
}

static struct allocator_image *begin_ng(unsigned page_word)
{
	struct allocator_image *image = allocator_image_begin();
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
		allocator_image_check(begin_ng(i), HEAP_MALLOCNG);
	}
}

CASE(mallocng_damage, "mallocng: what was written beyond its end, or over a header")
{
	struct allocator_image *image = begin_ng(0);
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
	allocator_image_check(image, HEAP_MALLOCNG);
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
static uint64_t old_chunk(struct allocator_image *image, uint64_t at, uint64_t bytes, bool used)
{
	core_builder_word(&image->core, at + 8, bytes | used);
	core_builder_word(&image->core, at + bytes, bytes | used);
	allocator_image_expect(image, at + 16, bytes - 16, used ? BLOCK_USED : BLOCK_FREE);
	return at + bytes;
}

/* Puts free chunks into a ring. */
static void old_bin(
	struct allocator_image *image, unsigned number, const uint64_t *chunks, unsigned count)
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

static void make_old_run(struct allocator_image *image)
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
static void make_old_mappings(struct allocator_image *image)
{
	uint64_t at = OLD_MAPPING, length = 0x40000;
	for (unsigned i = 0; i < 2; i++, at += length) {
		core_builder_word(&image->core, at + 16, 16);
		core_builder_word(&image->core, at + 24, length - 16);
	}
	allocator_image_expect(image, OLD_MAPPING + 32, length - 32, BLOCK_USED);
	uint64_t block = OLD_MAPPING + length + 0x10000, extra = 0x10000 - 16;
	core_builder_word(&image->core, block - 16, extra);
	core_builder_word(&image->core, block - 8, length - extra);
	allocator_image_expect(image, block, length - 0x10000, BLOCK_USED);
}

static struct allocator_image *begin_old(void)
{
	struct allocator_image *image = allocator_image_begin();
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
	allocator_image_check(begin_old(), HEAP_OLDMALLOC);
}

CASE(oldmalloc_damage, "oldmalloc: chunks that were written over are passed over, and no more")
{
	struct allocator_image *image = begin_old();
	/* The tenth block's end, and the two headers behind it. */
	uint64_t at = image->blocks[9].address + image->blocks[9].size, junk[4];
	memset(junk, 'x', sizeof(junk));
	core_builder_bytes(&image->core, at, junk, 16);
	image->blocks[10] = image->blocks[--image->count];
	image->damage[0] = "a chunk's size before and after it disagree";
	image->damaged = 1;
	allocator_image_check(image, HEAP_OLDMALLOC);
}

TAP_MAIN
