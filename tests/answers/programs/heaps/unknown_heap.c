/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 3 MiB at the program break, which no allocator that is known has made blocks of. With an
 * argument: nothing at all. */
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 1)
		memset(sbrk(3 << 20), 'A', 3 << 20);
	write(1, "ready\n", 6);
	pause();
}
