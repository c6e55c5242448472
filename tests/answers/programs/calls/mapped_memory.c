/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps and touches 64 MiB by itself, and has 1 MiB from malloc: what a recording knows is a small
 * part of the process's memory. With an argument it kills itself then, after a second.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED (64ul << 20)

int main(int argc, char **argv)
{
	char *mapped =
		mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return 1;
	memset(mapped, 1, MAPPED);
	char *own = malloc(1 << 20);
	memset(own, 1, 1 << 20);
	if (argc > 1) {
		for (int i = 0; i < 25; i++) {
			usleep(100000);
			free(malloc(10));
		}
		kill(getpid(), SIGKILL);
	}
	free(own);
	return 0;
}
