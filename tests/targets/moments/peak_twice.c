/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two peaks of equal height: the first moment of the highest sum counts. */
#include "truth.h"

TRUTH_SITE(site_first_peak)
TRUTH_SITE(site_second_peak)

int main(void)
{
	void *first[10];
	for (size_t i = 0; i < 10; i++)
		first[i] = site_first_peak(300007);
	for (size_t i = 0; i < 10; i++)
		truth_free(first[i]);
	/* The same sum, of other blocks, by another site. */
	void *second[30];
	size_t left = 10 * 300007;
	for (size_t i = 0; i < 30; i++) {
		size_t bytes = i == 29 ? left : 100003;
		second[i] = site_second_peak(bytes);
		left -= bytes;
	}
	for (size_t i = 0; i < 30; i++)
		truth_free(second[i]);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
