/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks COUNT [CHANGED]: allocates COUNT blocks that are never freed, each from a stack of its
 * own, 20 frames deep: the tables that reports and comparisons have to go through. Of every
 * hundredth stack CHANGED blocks more.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Functions LEVEL_N for N below 8 on each of 18 levels; three bits of a path choose the next. */
typedef void step_fn(uint64_t path, int blocks);

#define APART __attribute__((noinline, noclone))

static void *volatile last;

#define FUNCTION(level, n, next)                                                                   \
	APART static void level##_##n(uint64_t path, int blocks)                                   \
	{                                                                                          \
		next[path & 7](path >> 3, blocks);                                                 \
		__asm__ volatile("");                                                              \
	}
#define LEVEL(level, next)                                                                         \
	FUNCTION(level, 0, next)                                                                   \
	FUNCTION(level, 1, next)                                                                   \
	FUNCTION(level, 2, next)                                                                   \
	FUNCTION(level, 3, next)                                                                   \
	FUNCTION(level, 4, next)                                                                   \
	FUNCTION(level, 5, next)                                                                   \
	FUNCTION(level, 6, next)                                                                   \
	FUNCTION(level, 7, next)                                                                   \
	static step_fn *const level##_all[8] = {level##_0, level##_1, level##_2, level##_3,        \
		level##_4, level##_5, level##_6, level##_7};

APART static void leaf(uint64_t path, int blocks)
{
	for (int i = 0; i < blocks; i++)
		last = malloc(16 + path % 64);
}
static step_fn *const leaf_all[8] = {leaf, leaf, leaf, leaf, leaf, leaf, leaf, leaf};

LEVEL(level_18, leaf_all)
LEVEL(level_17, level_18_all)
LEVEL(level_16, level_17_all)
LEVEL(level_15, level_16_all)
LEVEL(level_14, level_15_all)
LEVEL(level_13, level_14_all)
LEVEL(level_12, level_13_all)
LEVEL(level_11, level_12_all)
LEVEL(level_10, level_11_all)
LEVEL(level_9, level_10_all)
LEVEL(level_8, level_9_all)
LEVEL(level_7, level_8_all)
LEVEL(level_6, level_7_all)
LEVEL(level_5, level_6_all)
LEVEL(level_4, level_5_all)
LEVEL(level_3, level_4_all)
LEVEL(level_2, level_3_all)
LEVEL(level_1, level_2_all)

/* 64 bits, each path another one (splitmix64). */
static uint64_t path_of(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "stacks COUNT [CHANGED]\n");
		return 2;
	}
	int count = atoi(argv[1]), changed = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < count; i++) {
		uint64_t path = path_of((uint64_t)i);
		level_1_all[path & 7](path >> 3, i % 100 ? 1 : 1 + changed);
	}
	return 0;
}
