/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library of around_main: it allocates in its constructor, before the program's own. */
#include <stdint.h>
#include <stdlib.h>

static uint64_t bytes;
static void *volatile kept;

uint64_t library_bytes(void);

uint64_t library_bytes(void)
{
	return bytes;
}

__attribute__((noinline)) static void library_constructor_site(size_t size)
{
	kept = malloc(size);
	bytes += size;
}

__attribute__((constructor)) static void before(void)
{
	library_constructor_site(883);
	free(kept);
	library_constructor_site(887);
}
