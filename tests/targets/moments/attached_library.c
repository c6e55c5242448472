/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that is loaded after its program was attached. */
#include <stdlib.h>

void *allocate(size_t size);

__attribute__((noinline)) void *allocate(size_t size)
{
	void *volatile block = malloc(size);
	return block;
}
