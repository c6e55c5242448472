/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forked_small CHILDREN BYTES WHAT WHICH: forks CHILDREN times, one after the other (WHAT "late":
 * each once the one before has ended, and asks how they ended when all have). Each child
 * makes and frees a block of BYTES and ends with 0. The child with number WHICH (from 1) before
 * that "twice": frees one block twice, in a way that libc does not notice; "loses": loses 24 bytes;
 * "asks": has itself searched for leaks. Prints that child's pid.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

__attribute__((noinline)) static void lose(void)
{
	memset(malloc(24), 1, 24);
}

/* The places that libc keeps for the thread are full, and of others it knows only the last. */
static void free_twice(void)
{
	void *blocks[9];
	for (int i = 0; i < 9; i++)
		blocks[i] = malloc(40);
	for (int i = 0; i < 9; i++)
		free(blocks[i]);
	free(blocks[7]);
}

static void be_special(const char *what)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%d\n", getpid());
	if (write(1, line, n) != n)
		_exit(2);
	if (!strcmp(what, "twice"))
		free_twice();
	else if (!strcmp(what, "loses"))
		lose();
	else if (!strcmp(what, "asks") && __lsan_do_recoverable_leak_check)
		__lsan_do_recoverable_leak_check();
}

int main(int argc, char **argv)
{
	bool late = argc > 3 && !strcmp(argv[3], "late");
	for (int i = 1; i <= atoi(argv[1]); i++) {
		pid_t child = fork();
		if (!child) {
			free(malloc(atoi(argv[2])));
			if (i == atoi(argv[4]))
				be_special(argv[3]);
			exit(0);
		}
		siginfo_t info;
		if (late ? waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT)
			 : waitpid(child, NULL, 0) != child)
			return 1;
	}
	while (late && wait(NULL) > 0)
		;
	return argc != 5;
}
