/* SPDX-License-Identifier: GPL-2.0-or-later */
/* posix_memalign, aligned_alloc, memalign, valloc, pvalloc: the bytes asked for count, unrounded.
 */
#include "truth.h"
#include <malloc.h>

static void *by_posix_memalign(size_t alignment, size_t bytes)
{
	void *block = NULL;
	return posix_memalign(&block, alignment, bytes) ? NULL : block;
}

TRUTH_SITE_AS(site_aligned_alloc, (size_t alignment, size_t bytes), bytes,
	aligned_alloc(alignment, bytes))
TRUTH_SITE_AS(site_memalign, (size_t alignment, size_t bytes), bytes, memalign(alignment, bytes))
TRUTH_SITE_AS(site_valloc, (size_t bytes), bytes, valloc(bytes))
TRUTH_SITE_AS(site_pvalloc, (size_t bytes), bytes, pvalloc(bytes))

/* The wrapper would be a frame of its own at -O0, so this one is written out. */
TRUTH_COUNTERS(site_posix_memalign)
TRUTH_LEAF static void *site_posix_memalign(size_t alignment, size_t bytes)
{
	void *block = NULL;
	if (posix_memalign(&block, alignment, bytes))
		block = NULL;
	return truth_born(&truth_of_site_posix_memalign, block, bytes);
}

static void check(void *block, size_t alignment, int keep)
{
	truth_need((uintptr_t)block % alignment == 0, "alignment");
	if (!keep)
		truth_free(block);
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < 60; i++) {
		size_t alignment = (size_t)16 << i % 8;
		int keep = i % 4 == 0;
		check(site_posix_memalign(alignment, 109 + i), alignment, keep);
		check(site_aligned_alloc(alignment, 211 + i), alignment, keep);
		check(site_memalign(alignment, 307 + i), alignment, keep);
		check(site_valloc(401 + i), page, keep);
		check(site_pvalloc(503 + i), page, keep);
	}
	/* An alignment that is no power of two is refused by value, and errno stays alone. */
	errno = 0;
	void *block = by_posix_memalign(24, 100);
	truth_need(!block && !errno, "posix_memalign with a wrong alignment");
	truth_say("# expect: totals failed=1");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
