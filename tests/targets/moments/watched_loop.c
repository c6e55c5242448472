/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watched_loop DEPTH STACKS: says "ready PID"; with a line on stdin keeps 40,000 blocks of 1,003
 * bytes and frees as many, DEPTH calls deep, along STACKS different stacks; says "done"; with the
 * next line ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 40000u
#define BYTES 1003u

static void *volatile kept[BLOCKS];

static void __attribute__((noinline)) allocate_both(unsigned number)
{
	void *volatile other = malloc(BYTES);
	kept[number] = malloc(BYTES);
	free(other);
}

static void walk_down(unsigned depth, unsigned path, unsigned number);

static void __attribute__((noinline)) step_left(unsigned depth, unsigned path, unsigned number)
{
	volatile char room[24] = {(char)path};
	walk_down(depth - 1, path / 2, number);
	(void)room[0];
}

static void __attribute__((noinline)) step_right(unsigned depth, unsigned path, unsigned number)
{
	volatile char room[104] = {(char)path};
	walk_down(depth - 1, path / 2, number);
	(void)room[0];
}

static void __attribute__((noinline)) walk_down(unsigned depth, unsigned path, unsigned number)
{
	if (!depth)
		allocate_both(number);
	else if (path & 1)
		step_right(depth, path, number);
	else
		step_left(depth, path, number);
}

int main(int argc, char **argv)
{
	char line[64];
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
	unsigned stacks = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (unsigned i = 0; i < BLOCKS; i++)
		walk_down(depth, i % stacks, i);
	printf("done\n");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
