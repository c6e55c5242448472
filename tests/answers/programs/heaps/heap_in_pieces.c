/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap of which nearly all bins are in use: free chunks of every size between 2,167 blocks that
 * are kept, and `live` of these is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *live[100000];
int count;

int main(void)
{
	static void *freed[20000];
	int free_count = 0;
	for (long size = 24, i = 0; size < 120000 && i < 200; i++) {
		for (int k = 0; k < 12; k++) {
			freed[free_count++] = malloc(size);
			live[count++] = malloc(40);
		}
		size += size < 1024 ? 16 : size / 24 / 16 * 16 + 16;
	}
	for (int i = 0; i < free_count; i++)
		free(freed[i]);
	for (int i = 0; i < 3; i++)
		live[count++] = malloc(127000);
	printf("%d\n", count);
	fflush(stdout);
	pause();
}
