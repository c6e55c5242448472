/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * realloc: growth, shrinking, in place or not, from NULL, to 0 (which frees) and in vain (which
 * leaves the old block). In place or not, it is a free and an allocation, and never a temporary.
 */
#include "truth.h"

TRUTH_SITE(site_first)
TRUTH_SITE_REALLOC(site_grow)
TRUTH_SITE_REALLOC(site_shrink)
TRUTH_SITE_REALLOC(site_same)
TRUTH_SITE_REALLOC(site_from_null)
TRUTH_SITE_REALLOC(site_to_zero)
TRUTH_SITE_REALLOC(site_in_vain)

int main(void)
{
	volatile size_t too_much = SIZE_MAX / 2;
	for (size_t round = 0; round < 50; round++) {
		void *block = site_first(33);
		for (size_t size = 47; size < 50000; size = size * 3 / 2)
			block = site_grow(block, size);
		block = site_same(block, 50001);
		block = site_same(block, 50001);
		errno = 0;
		truth_need(!site_in_vain(block, too_much), "realloc to half the address space");
		truth_need(errno == ENOMEM, "errno after a realloc in vain");
		for (size_t size = 50000; size > 60; size = size * 2 / 3)
			block = site_shrink(block, size);
		truth_need(!site_to_zero(block, 0), "realloc to 0 returned a block");
		void *fresh = site_from_null(NULL, 77 + round);
		if (round % 5)
			truth_free(fresh);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
