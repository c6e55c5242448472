/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/lives.h"

#include "model/model_impl.h"

unsigned life_bucket_of(uint64_t value)
{
	unsigned bucket = 0;
	while (bucket + 1 < LIFE_BUCKETS && value > life_bucket_most(bucket))
		bucket++;
	return bucket;
}

uint64_t life_bucket_most(unsigned bucket)
{
	static const unsigned firsts[] = {1, 2, 5};
	if (bucket == 0)
		return 0;
	if (bucket + 1 >= LIFE_BUCKETS)
		return UINT64_MAX;
	uint64_t ten = 1;
	for (unsigned i = 0; i < (bucket - 1) / 3; i++)
		ten *= 10;
	return ten * firsts[(bucket - 1) % 3];
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
