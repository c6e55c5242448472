/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps blocks in three functions: 10 of 1,000 B, 20 of 500 B, and as many of 100 B as the first
 * argument says (0). With -DNEWER code stands before them, so that all addresses are others.
 */
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept[1000];
static int count;

#ifdef NEWER
__attribute__((noinline)) static void before(int n)
{
	for (int i = 0; i < n; i++)
		printf("%d\n", i);
}
#endif

__attribute__((noinline)) static void first(int n)
{
	for (int i = 0; i < n; i++)
		kept[count++] = malloc(1000);
}

__attribute__((noinline)) static void second(int n)
{
	for (int i = 0; i < n; i++)
		kept[count++] = malloc(500);
}

__attribute__((noinline)) static void third(int n)
{
	for (int i = 0; i < n; i++)
		kept[count++] = malloc(100);
}

int main(int argc, char **argv)
{
#ifdef NEWER
	before(0);
#endif
	first(10);
	second(20);
	third(argc > 1 ? atoi(argv[1]) : 0);
	return 0;
}
