/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes 9,000 blocks of which 6,000 are freed when another one has been allocated meanwhile: these
 * are temporary within 2 allocations, the other 3,000 within 1. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	for (int i = 0; i < 3000; i++) {
		void *volatile outer = malloc(40);
		void *volatile inner = malloc(50);
		free(outer);
		void *volatile last = malloc(60);
		free(inner);
		free(last);
	}
	puts("# expect: allocations=9000 within_1=3000 within_2=9000");
	return 0;
}
