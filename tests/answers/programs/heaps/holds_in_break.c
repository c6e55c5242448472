/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes from the program break itself, between malloc's chunks and behind them: what lies there
 * holds blocks, which hold others. Nothing else does, but for ten blocks that nothing holds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[3000];

static void hold(void **first, void **second)
{
	for (int i = 0; i < 50; i++) {
		void **one = calloc(1, 88);
		one[0] = calloc(1, 200);
		first[i * 8] = one;
		second[i * 500] = calloc(1, 104);
	}
}

static void lose(void)
{
	for (int i = 0; i < 10; i++)
		((void **)calloc(1, 72))[0] = NULL;
}

static void clear_stack(void)
{
	char below[8192];
	memset(below, 0, sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
}

int main(void)
{
	int count = 0;
	for (int i = 0; i < 1000; i++)
		kept[count++] = malloc(100 + i);
	void **first = sbrk(16384);
	memset(first, 0, 16384);
	for (int i = 0; i < 1000; i++)
		kept[count++] = malloc(300 + i);
	void **second = sbrk(409600);
	for (int i = 0; i < 1000; i++)
		kept[count++] = malloc(1300 + i);
	hold(first, second);
	lose();
	clear_stack();
	printf("%#lx\n", (unsigned long)(uintptr_t) * (void **)first[8]);
	fflush(stdout);
	first = second = NULL;
	pause();
}
