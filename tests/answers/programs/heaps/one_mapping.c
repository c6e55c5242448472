/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only block that ever had a mapping of its own, whose head is overwritten: its address. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	uint64_t *block = malloc(1 << 20);
	if (!block)
		return 1;
	block[-1] = 0x4141414141414141ull;
	printf("%p\n", (void *)block);
	fflush(stdout);
	pause();
	return 0;
}
