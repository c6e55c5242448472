/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * churns [COUNT]: 600,000 short-lived blocks, or so many, beside one of 800 KiB. No two of them are
 * freed right after they were made: another allocation always comes between.
 */
#include <stdlib.h>

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 600000;
	void *kept = malloc(800 << 10), *before = NULL;
	for (int i = 0; i < count; i++) {
		void *next = malloc(68);
		free(before);
		before = next;
	}
	free(before);
	free(kept);
	return 0;
}
