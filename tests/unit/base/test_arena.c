/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include "base/cleanup.h"
#include "lib/tap.h"

CASE(arena_keeps, "allocations are apart, aligned and stay as they were written")
{
	enum { COUNT = 3000 };
	_cleanup_(arena_deinit) struct arena arena;
	arena_init(&arena);
	unsigned char *parts[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		/* Some larger than any block. */
		size_t size = i % 701 == 700 ? (size_t)3 << 20 : i % 97;
		parts[i] = arena_alloc(&arena, size);
		CHECK(parts[i] && (uintptr_t)parts[i] % 16 == 0);
		memset(parts[i], (int)(i % 251), size);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		size_t size = i % 701 == 700 ? (size_t)3 << 20 : i % 97;
		for (size_t j = 0; j < size; j++)
			CHECK(parts[i][j] == i % 251);
	}
}

CASE(arena_large_first, "a large first request leaves small ones in usual blocks")
{
	_cleanup_(arena_deinit) struct arena arena;
	arena_init(&arena);
	CHECK(arena_alloc(&arena, 1 << 20));
	char *a = arena_alloc(&arena, 16), *b = arena_alloc(&arena, 16);
	CHECK(b == a + 16);
	CHECK(arena_alloc(&arena, 1 << 20));
	CHECK(arena_alloc(&arena, 16) == b + 16);
}

CASE(arena_strings, "copied strings end where told")
{
	_cleanup_(arena_deinit) struct arena arena;
	arena_init(&arena);
	CHECK_STR(arena_strdup(&arena, ""), "");
	CHECK_STR(arena_strdup(&arena, "whole"), "whole");
	CHECK_STR(arena_strndup(&arena, "whole", 3), "who");
	CHECK_STR(arena_strndup(&arena, "wh\0le", 5), "wh");
}

CASE(arena_absurd, "a size that no machine has is refused")
{
	_cleanup_(arena_deinit) struct arena arena;
	arena_init(&arena);
	/* Hidden from the compiler, which would warn. */
	volatile size_t size = SIZE_MAX;
	CHECK(!arena_alloc(&arena, size));
	size = SIZE_MAX - 40;
	CHECK(!arena_alloc(&arena, size));
	CHECK(arena_alloc(&arena, 1));
}

TAP_MAIN
