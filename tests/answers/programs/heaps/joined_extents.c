/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Large blocks that lay beside each other were given back: of jemalloc's extents one is left, and
 * the words of its table of pages between them lead nowhere. How many blocks are kept is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGE 64u
#define KEPT 500u

void *large[LARGE], *kept[KEPT];

int main(void)
{
	for (size_t i = 0; i < LARGE; i++)
		large[i] = malloc(64 << 10);
	for (size_t i = 0; i < KEPT; i++)
		kept[i] = malloc(200);
	for (size_t i = 0; i < LARGE; i++) {
		free(large[i]);
		large[i] = NULL;
	}
	printf("%u\n", KEPT);
	fflush(stdout);
	pause();
}
