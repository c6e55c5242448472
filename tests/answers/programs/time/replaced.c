/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A large block of one place, freed; after 100 ms another one, as large, of another place, which is
 * kept; small ones all the while; 100 ms more. */
#include <stdlib.h>
#include <unistd.h>

#define LARGE (20u << 20)

static void *volatile kept;

__attribute__((noinline)) static void *first(void)
{
	void *block = malloc(LARGE);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

__attribute__((noinline)) static void *second(void)
{
	void *block = malloc(LARGE);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

static void work(void)
{
	for (int i = 0; i < 50; i++) {
		void *volatile small = malloc(5000);
		usleep(2000);
		free(small);
	}
}

int main(void)
{
	free(first());
	work();
	kept = second();
	work();
	work();
	return 0;
}
