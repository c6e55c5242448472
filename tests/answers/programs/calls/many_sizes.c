/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates one block of each of 2,000 sizes, from 700,000 bytes on. */
#include <stdlib.h>

int main(void)
{
	for (size_t i = 0; i < 2000; i++) {
		void *volatile block = malloc(700000 + i * 8);
		free(block);
	}
	return 0;
}
