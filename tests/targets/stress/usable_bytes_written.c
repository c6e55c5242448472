/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bytehound keeps 24 bytes of its own behind each block: programs that write all of
 * malloc_usable_size's bytes overwrite them.
 */
#include "stress.h"
#include <malloc.h>

static void *body(void *argument)
{
	char *block = NULL;
	for (size_t bytes = 1; bytes < 3000; bytes += 37) {
		block = realloc(block, bytes);
		size_t usable = malloc_usable_size(block);
		truth_need(usable >= bytes, "usable");
		memset(block, 0x5a, usable);
		char *other = malloc(bytes);
		memset(other, 0xa5, malloc_usable_size(other));
		for (size_t i = 0; i < usable; i++)
			truth_need(block[i] == 0x5a, "overwritten");
		free(other);
	}
	free(block);
	return argument;
}

int main(void)
{
	stress_threads(4, body, NULL);
	truth_say("# end");
	return 0;
}
