/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of every allocation function are blocks: lost, held, and holding. */
#include "leaks.h"
#include <malloc.h>

TRUTH_UNUSED static void *aligned_by_posix(size_t alignment, size_t bytes)
{
	void *block = NULL;
	return posix_memalign(&block, alignment, bytes) ? NULL : block;
}

#define BOTH(name, requested, call)                                                                \
	LEAK_ROLE_AS(lost_##name, (size_t bytes), requested, leak_zeroed(call, requested))         \
	LEAK_ROLE_AS(kept_##name, (size_t bytes), requested, leak_zeroed(call, requested))

BOTH(calloc, bytes * 3, calloc(bytes, 3))
BOTH(memalign, bytes, memalign(256, bytes))
BOTH(posix_memalign, bytes, aligned_by_posix(4096, bytes))
BOTH(aligned_alloc, bytes, aligned_alloc(64, bytes))
BOTH(reallocarray, bytes * 2, reallocarray(NULL, bytes, 2))
LEAK_ROLE(behind)

static void *volatile kept[5];

TRUTH_FRAME static void hold(size_t i, void *block)
{
	leak_put(block, 4, behind(72));
	kept[i] = block;
}

TRUTH_FRAME static void story(void)
{
	lost_calloc(48);
	lost_memalign(200);
	lost_posix_memalign(216);
	lost_aligned_alloc(320);
	lost_reallocarray(120);
	hold(0, kept_calloc(56));
	hold(1, kept_memalign(248));
	hold(2, kept_posix_memalign(264));
	hold(3, kept_aligned_alloc(384));
	hold(4, kept_reallocarray(136));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_DEFINITE, lost_calloc);
	LEAKS_ARE(LEAK_DEFINITE, lost_memalign);
	LEAKS_ARE(LEAK_DEFINITE, lost_posix_memalign);
	LEAKS_ARE(LEAK_DEFINITE, lost_aligned_alloc);
	LEAKS_ARE(LEAK_DEFINITE, lost_reallocarray);
	LEAKS_ARE(LEAK_REACHABLE, kept_calloc);
	LEAKS_ARE(LEAK_REACHABLE, kept_memalign);
	LEAKS_ARE(LEAK_REACHABLE, kept_posix_memalign);
	LEAKS_ARE(LEAK_REACHABLE, kept_aligned_alloc);
	LEAKS_ARE(LEAK_REACHABLE, kept_reallocarray);
	LEAKS_ARE(LEAK_REACHABLE, behind);
	leaks_end();
	return 0;
}
