/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks, a pause, a mark, and right after it a peak that is gone at once. With an argument: so
 * many such rounds, each higher than the one before. */
#include <heapwise/client.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void *take(size_t bytes)
{
	void *block = malloc(bytes);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int round = 1; round <= rounds; round++) {
		void *blocks[50];
		for (int i = 0; i < 50; i++)
			blocks[i] = take(1000);
		usleep(30000);
		heapwise_mark("before the peak");
		void *most = take(100000 * (size_t)round);
		usleep(1000);
		free(most);
		usleep(20000);
		for (int i = 0; i < 50; i++)
			free(blocks[i]);
	}
	return 0;
}
