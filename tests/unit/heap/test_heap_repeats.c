/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/types.h"
#include "lib/tap.h"

static void add(struct heap_shapes *classes, uint64_t size, uint64_t pointers, uint64_t nulls)
{
	struct heap_shape class = {.key = {.size = size, .pointers = pointers},
		.nulls = nulls,
		.blocks = 1,
		.bytes = size,
		.group = (uint32_t)classes->classes.len};
	CHECK(heap_shape_vec_push(&classes->classes, class));
}

/* What the blocks of a class are called when nothing else is known of them. */
static const char *name_of(const struct heap_types *types, uint32_t class)
{
	return types->types.data[types->of_shape[class]].name;
}

/* Bits 0, words, 2 * words… */
static uint64_t each(unsigned words)
{
	uint64_t bits = 0;
	for (unsigned i = 0; i < 64; i += words)
		bits |= 1ull << i;
	return bits;
}

static void check_names(struct heap_shapes *classes, const char *const *names)
{
	struct heap_types types;
	CHECK_OK(heap_types_open(classes, &types));
	CHECK_OK(heap_types_finish(&types, classes));
	for (uint32_t i = 0; i < classes->classes.len; i++)
		CHECK_STR(name_of(&types, i), names[i]);
	heap_types_close(&types);
	heap_shape_vec_deinit(&classes->classes);
}

CASE(arrays, "arrays are told by their elements, whichever of them are NULL or numbers")
{
	struct heap_shapes classes = {.space = NULL};
	add(&classes, 4096, each(3) | each(3) << 2, 0);
	add(&classes, 4096, (each(3) | each(3) << 2) & 0xf0f0f0f0f0f0f0ff, 0);
	add(&classes, 4096, each(3) & 0xffffff00ffffffff, 0);
	add(&classes, 4096, each(5) << 4, 0);
	add(&classes, 4072, each(3), 0);
	/* Too few to say so. */
	add(&classes, 4096, 1, 0);
	static const char *const names[] = {"4096 bytes, pointers at 0 16 of every 24",
		"4096 bytes, pointers at 0 16 of every 24",
		"4096 bytes, pointers at 0 16 of every 24",
		"4096 bytes, pointers at 32 of every 40", "4072 bytes, pointers at 0 of every 24",
		"4096 bytes, pointers at 0"};
	check_names(&classes, names);
}

CASE(tables, "tables of pointers and NULL are alike")
{
	struct heap_shapes classes = {.space = NULL};
	uint64_t some = 0x123456789abcdef0, others = 0xfedcba9876543210;
	add(&classes, 1024, some, ~some);
	add(&classes, 1024, others, ~others);
	/* Other words are numbers. */
	add(&classes, 1040, 0x8000000000000fff, 0);
	static const char *const names[] = {"1024 bytes, pointers throughout",
		"1024 bytes, pointers throughout",
		"1040 bytes, pointers at 0 8 16 24 32 40 48 56 64 72 80 88 504"};
	check_names(&classes, names);
}

CASE(structures, "a few members at equal distances make no array")
{
	struct heap_shapes classes = {.space = NULL};
	add(&classes, 64, 0x55, 0);
	add(&classes, 64, 0xff, 0);
	add(&classes, 96, 0xfff, 0);
	static const char *const names[] = {"64 bytes, pointers at 0 16 32 48",
		"64 bytes, pointers at 0 8 16 24 32 40 48 56",
		"96 bytes, pointers at 0 8 16 24 32 40 48 56 64 72 80 88"};
	check_names(&classes, names);
}

TAP_MAIN
