/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forked_leaks CHILDREN LOST: keeps 100 blocks, and forks CHILDREN times, one after the other. Each
 * child makes and frees 20 blocks; every LOST-th (0: none) loses one of 331 bytes and keeps one.
 * Prints the pids of those, a line each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *kept[100], *own;

__attribute__((noinline)) static void lose(void)
{
	char *lost = malloc(331);
	memset(lost, 1, 331);
}

int main(int argc, char **argv)
{
	int children = atoi(argv[1]), losers = atoi(argv[2]);
	for (int i = 0; i < 100; i++)
		kept[i] = calloc(1, 200);
	for (int i = 1; i <= children; i++) {
		int loses = losers && i % losers == 0;
		pid_t child = fork();
		if (!child) {
			for (int k = 0; k < 20; k++)
				free(calloc(1, 100 + k));
			if (loses) {
				char line[32];
				int n = snprintf(line, sizeof(line), "%d\n", getpid());
				own = calloc(1, 77);
				lose();
				if (write(1, line, n) != n)
					_exit(2);
			}
			exit(0);
		}
		if (waitpid(child, NULL, 0) != child)
			return 1;
	}
	return argc != 3;
}
