/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buckets of lifetimes. */
#include "model/lives.h"

#include "lib/tap.h"

CASE(buckets, "each bucket's largest value is in it, and the next one in the next")
{
	for (unsigned i = 0; i < LIFE_BUCKETS; i++) {
		CHECK_U64(life_bucket_of(life_bucket_most(i)), i);
		if (i + 1 < LIFE_BUCKETS)
			CHECK_U64(life_bucket_of(life_bucket_most(i) + 1), i + 1);
	}
	CHECK_U64(life_bucket_most(0), 0);
	CHECK_U64(life_bucket_most(1), 1);
	CHECK_U64(life_bucket_most(6), 50);
	CHECK_U64(life_bucket_most(LIFE_BUCKETS - 2), 500000000000000);
	CHECK_U64(life_bucket_most(LIFE_BUCKETS - 1), UINT64_MAX);
}

TAP_MAIN
