/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of blocks beyond what is told apart. */
#include <elf.h>

#include "heap/scan/shapes.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define HEAP 0x560000000000ull
#define PATTERNS 64u

struct opened {
	struct core_file file;
	struct address_space space;
};

static void opened_open(struct opened *o)
{
	struct core_builder core = {.count = 0};
	core_builder_add(&core, HEAP, 0x1000, PF_R | PF_W, NULL, 0);
	CHECK_OK(core_file_open_fd(core_builder_file(&core), "core", &o->file));
	CHECK_OK(address_space_of_core(&o->file, NULL, &o->space));
	core_builder_deinit(&core);
}

static void opened_close(struct opened *o)
{
	address_space_close(&o->space);
	core_file_close(&o->file);
}

/* A block of eight words, which has pointers where a pattern has bits. Returns its class. */
static uint32_t add(struct heap_shapes *classes, uint64_t size, unsigned pattern)
{
	uint64_t words[8] = {0};
	const struct heap_block block = {.address = HEAP + 16, .size = size, .state = BLOCK_USED};
	for (unsigned i = 0; i < 8; i++)
		words[i] = pattern >> i & 1 ? HEAP + 0x100 : 0;
	const uint8_t *bytes = (const void *)words;
	struct word_bits bits = heap_class_words(&block, bytes, sizeof(words));
	uint32_t class;
	CHECK_OK(heap_shapes_add(classes, &block, bytes, &bits, &class));
	return class;
}

/* All blocks are counted once, and of further ones nothing but the size is claimed. */
static void check(const struct heap_shapes *classes, size_t most, uint64_t blocks)
{
	uint64_t counted = 0, bytes = 0;
	CHECK(heap_shapes_are_full(classes));
	CHECK_U64(classes->classes.len, most + 2);
	for (size_t i = 0; i < classes->classes.len; i++) {
		const struct heap_shape *class = &classes->classes.data[i];
		CHECK(i < most || !class->key.pointers);
		CHECK(i < most || class->blocks > 1);
		counted += class->blocks;
		bytes += class->bytes;
	}
	CHECK_U64(counted, blocks);
	CHECK_U64(bytes, blocks / 2 * (64 + 72));
}

CASE(full, "beyond so many classes blocks are told apart by their sizes alone, and none is lost")
{
	enum { MOST = 21 };
	struct opened o;
	struct heap_shapes classes;
	opened_open(&o);
	CHECK_OK(heap_shapes_open(&o.space, POINTERS_ALIGNED, &classes));
	classes.most = MOST;
	/* Both sizes have a class without pointers among the first ones, which others would join.
	 */
	for (unsigned pattern = 1; pattern < PATTERNS; pattern++) {
		add(&classes, 64, pattern);
		add(&classes, 72, pattern);
	}
	CHECK_U64(add(&classes, 64, 1), 0);
	CHECK_U64(add(&classes, 72, 1), 1);
	check(&classes, MOST, 2 * PATTERNS);
	heap_shapes_close(&classes);
	opened_close(&o);
}

CASE(joined, "so are those of two halves of a heap")
{
	enum { MOST = 40 };
	struct opened o;
	struct heap_shapes classes, after;
	uint32_t numbers[2 * PATTERNS];
	opened_open(&o);
	CHECK_OK(heap_shapes_open(&o.space, POINTERS_ALIGNED, &classes));
	CHECK_OK(heap_shapes_open(&o.space, POINTERS_ALIGNED, &after));
	classes.most = after.most = MOST;
	for (unsigned pattern = 1; pattern <= MOST / 4; pattern++) {
		add(&classes, 64, pattern);
		add(&classes, 72, pattern);
	}
	CHECK(!heap_shapes_are_full(&classes));
	for (unsigned pattern = 2; pattern < PATTERNS; pattern++) {
		add(&after, 64, pattern);
		add(&after, 72, pattern);
	}
	CHECK_OK(heap_shapes_append(&classes, &after, numbers));
	for (uint32_t i = 0; i < after.classes.len; i++) {
		const struct heap_shape *was = &after.classes.data[i];
		const struct heap_shape *is = &classes.classes.data[numbers[i]];
		CHECK_U64(is->key.size, was->key.size);
		CHECK(!is->key.pointers || is->key.pointers == was->key.pointers);
	}
	check(&classes, MOST, 2 * (MOST / 4 + PATTERNS - 2));
	heap_shapes_close(&classes);
	heap_shapes_close(&after);
	opened_close(&o);
}

TAP_MAIN
