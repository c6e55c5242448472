/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork_chain BLOCKS FREED...: makes BLOCKS blocks of 1009 bytes and forks; that child frees the
 * first FREED of them that are left, forks the next, and so on, a generation for each FREED. One of
 * 0 does nothing but fork. The parents end at once, and the last says what it began with, a line:
 * its pid, processes, blocks; and then frees one block and makes one
 * of 300000 bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK 1009

__attribute__((noinline)) static void *make_block(void)
{
	return calloc(1, BLOCK);
}

int main(int argc, char **argv)
{
	static char *blocks[1000], *large;
	int gone[2], first = 0, count = atoi(argv[1]);
	char byte, line[100];
	for (int i = 0; i < count; i++)
		blocks[i] = make_block();
	if (pipe(gone))
		return 1;
	for (int i = 2; i <= argc; i++) {
		pid_t child = fork();
		if (child) {
			if (i == 2) { /* who started this waits for all of them */
				close(gone[1]);
				while (read(gone[0], &byte, 1) > 0)
					;
			}
			_exit(0);
		}
		for (int k = i < argc ? atoi(argv[i]) : 0; k > 0; k--)
			free(blocks[first++]);
	}
	int n = snprintf(line, sizeof(line), "%d %d %d\n", getpid(), argc, count - first);
	if (write(1, line, n) != n)
		return 1;
	free(blocks[first]);
	large = calloc(1, 300000);
	_exit(0);
}
