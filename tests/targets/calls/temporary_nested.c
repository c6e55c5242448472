/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nested short lives: only the innermost pair is a temporary, however fast the outer ones end. */
#include "truth.h"

TRUTH_SITE(site_outer)
TRUTH_SITE(site_middle)
TRUTH_SITE(site_inner)

int main(void)
{
	for (size_t i = 0; i < 400; i++) {
		void *outer = site_outer(1009);
		void *middle = site_middle(509 + i % 3);
		void *inner = site_inner(257);
		truth_free(inner);
		truth_free(middle);
		truth_free(outer);
		if (i % 4 == 0)
			truth_free(site_outer(19));
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
