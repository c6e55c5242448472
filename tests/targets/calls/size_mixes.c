/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As many bytes in blocks of each size from 8 B to 8 MB, at three sites for small, middle and large
 * ones; a third of the blocks stays. What sampling has to estimate.
 */
#include "truth.h"

#define BYTES_EACH (2u << 20)
#define HELD_MAX 450000

TRUTH_SITE(site_small)
TRUTH_SITE(site_middle)
TRUTH_SITE(site_large)

static void *held[HELD_MAX];

static void *block_of(size_t size)
{
	if (size < 1000)
		return site_small(size);
	return size < 100000 ? site_middle(size) : site_large(size);
}

int main(void)
{
	static const size_t sizes[] = {
		8, 21, 63, 199, 801, 3001, 12007, 65521, 262147, 1048583, 8388593};
	size_t count = 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t bytes = 0; bytes < BYTES_EACH; bytes += sizes[i]) {
			truth_need(count < HELD_MAX, "too many blocks");
			held[count++] = block_of(sizes[i]);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (i % 3)
			truth_free(held[i]);
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
