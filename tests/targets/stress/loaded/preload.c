/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The preload of preload_dlsym_callocs: wraps calloc and asks dlsym for the next one in its first
 * call.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static char early[65536];
static size_t used;

void *calloc(size_t count, size_t size)
{
	static void *(*next)(size_t, size_t);
	static __thread int inside;
	if (!next) {
		if (inside) {
			void *block = early + used;
			used += (count * size + 15) / 16 * 16;
			return used <= sizeof early ? block : NULL;
		}
		inside = 1;
		next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
		inside = 0;
	}
	return next(count, size);
}

__attribute__((constructor)) static void mark(void)
{
	setenv("STRESS_WRAPPED", "1", 1);
}
