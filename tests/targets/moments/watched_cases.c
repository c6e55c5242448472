/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cases of memleak's own tests: watched_cases FUNCTION allocates 30,000 bytes by FUNCTION,
 * never frees them, and ends by itself.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 30000

static void *allocate(const char *function)
{
	void *block = NULL;
	if (!strcmp(function, "malloc"))
		return malloc(BYTES);
	if (!strcmp(function, "calloc"))
		return calloc(BYTES, 1);
	if (!strcmp(function, "realloc"))
		return realloc(malloc(BYTES / 2), BYTES);
	if (!strcmp(function, "posix_memalign"))
		return posix_memalign(&block, 512, BYTES) ? NULL : block;
	if (!strcmp(function, "valloc"))
		return valloc(BYTES);
	if (!strcmp(function, "memalign"))
		return memalign(512, BYTES);
	if (!strcmp(function, "pvalloc"))
		return pvalloc(BYTES);
	if (!strcmp(function, "aligned_alloc"))
		return aligned_alloc(512, BYTES);
	return NULL;
}

int main(int argc, char **argv)
{
	void *volatile block = allocate(argc > 1 ? argv[1] : "malloc");
	return block ? 0 : 1;
}
