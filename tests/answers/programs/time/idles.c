/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates 5,000 blocks of 100 bytes at once, then does nothing for 1.5 s, then one call more:
 * nothing of it keeps growing. */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void *take(size_t bytes)
{
	void *block = malloc(bytes);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

int main(void)
{
	for (int i = 0; i < 5000; i++)
		take(100);
	nanosleep(&(struct timespec){1, 500000000}, NULL);
	free(take(10));
	_Exit(0);
}
