/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets a mark, allocates 300,000 bytes in 3,000 blocks that it frees again, and keeps one block
 * more; with an argument it then says "ready" and waits for its input to end. */
#include <heapwise/client.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argv;
	void *kept = malloc(12345);
	heapwise_mark("begun");
	for (int i = 0; i < 3000; i++) {
		void *block = malloc(100);
		__asm__ volatile("" ::"r"(block), "r"(kept) : "memory");
		free(block);
	}
	char byte;
	if (argc > 1 && write(STDOUT_FILENO, "ready\n", 6) == 6)
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
	_Exit(0);
}
