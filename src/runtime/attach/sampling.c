/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see sampling.h. May touch: the same. */
#include "runtime/attach/sampling.h"

void at_sampling_prepare(struct at_own *own)
{
	own->mean_bytes = own->shm->sample_bytes;
	own->seed = own->shm->sample_seed;
	own->random_of_others = rt_sampler_seed(own->seed, UINT64_MAX);
	if (own->mean_bytes)
		rt_sampler_prepare(&own->sampler, own->filter, own->places);
}

/* For a thread without a row each block begins a distance of its own: as likely, since a distance
 * says nothing about the one before it. */
static bool is_sampled_alone(struct at_own *own, size_t size)
{
	uint64_t random =
		__atomic_fetch_add(&own->random_of_others, RT_SAMPLER_STEP, __ATOMIC_RELAXED);
	return size >= rt_sampler_gap(&random, own->mean_bytes);
}

static bool is_sampled(struct at_own *own, struct at_thread *row, size_t size)
{
	if (!row)
		return is_sampled_alone(own, size);
	if (!row->random) {
		row->random = rt_sampler_seed(
			own->seed, __atomic_fetch_add(&own->seeds_given, 1, __ATOMIC_RELAXED));
		row->until = rt_sampler_gap(&row->random, own->mean_bytes);
	}
	if (at_distance_passes(row, size))
		return false;
	uint64_t next = rt_sampler_gap(&row->random, own->mean_bytes);
	__atomic_store_n(&row->until, next, __ATOMIC_RELAXED);
	return true;
}

bool at_is_sampled(size_t size)
{
	struct at_own *own = at_recording();
	return own && is_sampled(own, at_thread_here(own), size);
}

bool at_sample_add(struct at_own *own, const void *block)
{
	if (rt_sampler_add(&own->sampler, (uint64_t)block) == RT_SAMPLER_YES)
		return true;
	rt_ring_count_lost(own->shm, HW_LOST_SAMPLER);
	return false;
}

bool at_sample_take(struct at_own *own, const void *block)
{
	if (!rt_filter_has(own->filter, (uint64_t)block))
		return false;
	enum rt_sampler_answer answer = rt_sampler_take(&own->sampler, (uint64_t)block);
	if (answer == RT_SAMPLER_BUSY)
		rt_ring_count_lost(own->shm, HW_LOST_SAMPLER);
	return answer == RT_SAMPLER_YES;
}
