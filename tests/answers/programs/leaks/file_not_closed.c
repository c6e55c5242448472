/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three files are opened and never closed: the three FILEs of fopen() are the program's to give
 * back. Their buffers, and that of standard output, are libc's.
 */
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 3; i++) {
		FILE *file = fopen("/dev/null", "w");
		if (!file)
			return 1;
		fputs("words\n", file);
	}
	puts("# expect: own_blocks=3");
	return 0;
}
