/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/lives.h"

#include "model/model_impl.h"

#define DECADE(ten) (ten), 2 * (ten), 5 * (ten)
/* The largest value of each bucket. */
static const uint64_t bucket_most[LIFE_BUCKETS] = {
	0,
	DECADE(UINT64_C(1)),
	DECADE(UINT64_C(10)),
	DECADE(UINT64_C(100)),
	DECADE(UINT64_C(1000)),
	DECADE(UINT64_C(10000)),
	DECADE(UINT64_C(100000)),
	DECADE(UINT64_C(1000000)),
	DECADE(UINT64_C(10000000)),
	DECADE(UINT64_C(100000000)),
	DECADE(UINT64_C(1000000000)),
	DECADE(UINT64_C(10000000000)),
	DECADE(UINT64_C(100000000000)),
	DECADE(UINT64_C(1000000000000)),
	DECADE(UINT64_C(10000000000000)),
	DECADE(UINT64_C(100000000000000)),
	UINT64_MAX,
};
_Static_assert(LIFE_BUCKETS == 1 + 3 * 15 + 1, "zero, three of each power of ten, the rest");

unsigned life_bucket_of(uint64_t value)
{
	if (value == 0)
		return 0;
	/* The largest power of ten that is at most the value's leading bit: log10(2) is 1233 / 4096
	 * nearly. Few buckets are left between it and the value. */
	unsigned leading = 63 - (unsigned)__builtin_clzll(value);
	unsigned bucket = 1 + 3 * (leading * 1233 >> 12);
	if (bucket >= LIFE_BUCKETS)
		return LIFE_BUCKETS - 1;
	while (value > bucket_most[bucket])
		bucket++;
	return bucket;
}

uint64_t life_bucket_most(unsigned bucket)
{
	return bucket_most[bucket < LIFE_BUCKETS ? bucket : LIFE_BUCKETS - 1];
}

const struct lifetimes *model_lifetimes(const struct model *model)
{
	return &model->lifetimes;
}

const struct realloc_site *model_reallocs(const struct model *model, size_t *ret_count)
{
	*ret_count = model->reallocs.len;
	return model->reallocs.data;
}
