/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is linked with an allocator that it keeps to itself, as with a static library whose symbols are
 * not exported: nothing loaded beside it sees a call.
 *
 * Truth: 1000 blocks of 100 bytes are lost; who has not seen them must not say that all were freed.
 */
#include <stddef.h>

__attribute__((visibility("hidden"))) void *malloc(size_t size)
{
	static _Alignas(16) char memory[1 << 20];
	static size_t used;
	void *block = memory + used;
	used += (size + 15) & ~(size_t)15;
	return block;
}

__attribute__((visibility("hidden"))) void free(void *block)
{
	(void)block;
}

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		volatile char *block = malloc(100);
		block[0] = 1;
	}
	return 0;
}
