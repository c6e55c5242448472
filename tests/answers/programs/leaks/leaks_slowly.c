/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For about a second: 100 bytes that are never freed, 5,000 that are at once, and a cache of 64
 * blocks that is emptied whenever it is full. Only leak() keeps growing. */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void *leak(void)
{
	void *block = malloc(100);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

__attribute__((noinline)) static void *pass(void)
{
	void *block = malloc(5000);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

__attribute__((noinline)) static void *cache(void)
{
	void *block = malloc(1000);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

int main(void)
{
	void *cached[64];
	for (int i = 0; i < 640; i++) {
		leak();
		free(pass());
		cached[i % 64] = cache();
		for (int k = 0; i % 64 == 63 && k < 64; k++)
			free(cached[k]);
		nanosleep(&(struct timespec){0, 1500000}, NULL);
	}
	_Exit(0);
}
