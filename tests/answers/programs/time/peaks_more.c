/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps as many KiB as the first argument says, and has had as many more at the peak as the second.
 */
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept[1000];

__attribute__((noinline)) static void keep(int count)
{
	for (int i = 0; i < count; i++)
		kept[i] = malloc(1024);
}

__attribute__((noinline)) static void build(int count)
{
	void *volatile all[1000];
	for (int i = 0; i < count; i++)
		all[i] = malloc(1024);
	for (int i = 0; i < count; i++)
		free(all[i]);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	keep(atoi(argv[1]));
	build(atoi(argv[2]));
	if (argc > 3)
		puts(argv[3]);
	return 0;
}
