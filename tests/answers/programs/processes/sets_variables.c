/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives one variable of the environment as many values as the first argument says, each of a
 * thousand bytes that libc never frees; or opens as many files that it never closes ("files").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	static char value[1001];
	int count = argc > 1 ? atoi(argv[1]) : 0;
	memset(value, 'x', sizeof(value) - 1);
	for (int i = 0; i < count && argc == 2; i++) {
		value[snprintf(value, sizeof(value), "%d", i)] = 'x';
		setenv("SETS_VARIABLES", value, 1);
	}
	for (int i = 0; i < count && argc > 2; i++) {
		FILE *file = fopen("/dev/null", "w");
		if (!file)
			return 1;
		fputs("words\n", file);
	}
	return 0;
}
