/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap of one height: 1,024 blocks of 1 KiB, each replaced in turn. */
#include "truth.h"

#define BLOCKS 1024
#define REPLACED 30000

TRUTH_SITE(site_even)
TRUTH_SITE(site_odd)

static void *held[BLOCKS];

int main(void)
{
	for (size_t i = 0; i < BLOCKS + REPLACED; i++) {
		if (i >= BLOCKS)
			truth_free(held[i % BLOCKS]);
		held[i % BLOCKS] = i % 2 ? site_odd(1024) : site_even(1024);
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
