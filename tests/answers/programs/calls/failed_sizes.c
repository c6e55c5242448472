/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites that ask for too much: `asks_twice` before and after the mark "between", more the second
 * time; `asks_less` likewise, less the second time; `multiplies` for a product that is no size;
 * `grows` with realloc; `asks_well` gets what it wants. Prints the largest size of each.
 */
#include <heapwise/client.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define HUGE_SIZE ((size_t)PTRDIFF_MAX + 4321)

__attribute__((noinline)) static void *asks_twice(volatile size_t size)
{
	void *block = malloc(size);
	return block;
}

__attribute__((noinline)) static void *asks_less(volatile size_t size)
{
	void *block = malloc(size);
	return block;
}

__attribute__((noinline)) static void *multiplies(volatile size_t count, volatile size_t size)
{
	void *block = calloc(count, size);
	return block;
}

__attribute__((noinline)) static void *grows(void *block, volatile size_t size)
{
	void *moved = realloc(block, size);
	return moved;
}

__attribute__((noinline)) static void *asks_well(volatile size_t size)
{
	void *block = malloc(size);
	return block;
}

int main(void)
{
	void *block = asks_well(777);
	if (asks_twice(HUGE_SIZE) || asks_less(HUGE_SIZE + 99))
		return 1;
	heapwise_mark("between");
	if (asks_twice(HUGE_SIZE + 555) || asks_less(HUGE_SIZE + 1) || asks_less(HUGE_SIZE))
		return 1;
	if (multiplies(SIZE_MAX / 2, 3) || grows(block, HUGE_SIZE + 7))
		return 1;
	free(block);
	printf("asks_twice %zu %zu\n", HUGE_SIZE, HUGE_SIZE + 555);
	printf("asks_less %zu %zu\n", HUGE_SIZE + 99, HUGE_SIZE + 1);
	printf("multiplies 0 %zu\n", SIZE_MAX);
	printf("grows 0 %zu\n", HUGE_SIZE + 7);
	printf("asks_well 0 0\n");
	return 0;
}
