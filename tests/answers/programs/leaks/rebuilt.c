/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates 1,000 bytes in a function whose name the test defines. */
#include <stdlib.h>

__attribute__((noinline)) void *FIRST(size_t bytes)
{
	void *block = malloc(bytes);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

int main(void)
{
	FIRST(1000);
	_Exit(0);
}
