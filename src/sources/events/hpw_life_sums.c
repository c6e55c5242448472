/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_life_sums.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"
#include "model/build.h"
#include "sources/events/hpw_lives.h"

/* How often a site's blocks grew by this many bytes. */
struct growth_step {
	uint64_t bytes;
	uint32_t site;
};

static uint64_t growth_step_hash(struct growth_step step)
{
	return hash_u64(step.bytes * 0x9e3779b97f4a7c15u + step.site);
}

static bool growth_step_equal(struct growth_step a, struct growth_step b)
{
	return a.bytes == b.bytes && a.site == b.site;
}

DEFINE_MAP(growth_steps, struct growth_step, uint64_t, growth_step_hash, growth_step_equal)
/* More different ones than that are not distinguished: the usual ones come early. */
#define GROWTH_STEPS_MAX (1u << 18)

struct sums {
	const struct hpw_clock *clock;
	uint64_t from_step;
	struct lifetimes *lifetimes;
	struct realloc_site *sites; /* by site id */
	size_t sites_len;
	struct growth_steps steps;
	bool any; /* a block was reallocated */
	bool no_memory;
};

static void sums_deinit(struct sums *sums)
{
	free(sums->sites);
	growth_steps_deinit(&sums->steps);
}

/* A stamp may be of an earlier moment than that of a damaged neighbour. */
static uint64_t ns_between(const struct sums *sums, uint64_t from, uint64_t to)
{
	uint64_t first = hpw_clock_ns(sums->clock, from), last = hpw_clock_ns(sums->clock, to);
	return last > first ? last - first : 0;
}

static void count_life(
	struct sums *sums, const struct hpw_life *life, const struct hpw_life_end *end, bool freed)
{
	if (life->step < sums->from_step)
		return;
	struct life_count *counts[] = {
		&sums->lifetimes
			 ->by_time[life_bucket_of(ns_between(sums, life->stamp, end->stamp))],
		&sums->lifetimes->by_others[life_bucket_of(end->allocations - life->number - 1)],
	};
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		*(freed ? &counts[i]->freed_blocks : &counts[i]->live_blocks) += 1;
		*(freed ? &counts[i]->freed_bytes : &counts[i]->live_bytes) += life->size;
	}
}

static void on_died(void *context, const struct hpw_life *life, const struct hpw_life_end *end)
{
	count_life(context, life, end, true);
}

static void on_stayed(void *context, const struct hpw_life *life, const struct hpw_life_end *end)
{
	count_life(context, life, end, false);
}

static void count_step(struct sums *sums, uint32_t site, uint64_t bytes)
{
	const struct growth_step step = {bytes, site};
	uint64_t *count = sums->steps.len < GROWTH_STEPS_MAX
				  ? growth_steps_insert(&sums->steps, step, NULL)
				  : growth_steps_find(&sums->steps, step);
	if (count)
		(*count)++;
	else
		sums->no_memory |= sums->steps.len < GROWTH_STEPS_MAX;
}

static void count_growth(struct sums *sums, struct realloc_site *row, uint64_t from, uint64_t to)
{
	row->grown++;
	row->grown_bytes += to - from;
	row->log2_factors += log2((double)to / (double)(from ? from : 1));
	count_step(sums, row->site, to - from);
}

static void on_grew(void *context, const struct hpw_life *from, const struct hpw_life *to)
{
	struct sums *sums = context;
	if (to->step < sums->from_step || to->site >= sums->sites_len)
		return;
	struct realloc_site *row = &sums->sites[to->site];
	row->site = to->site;
	sums->any = true;
	row->calls++;
	row->shrunk += to->size < from->size;
	row->copied_bytes += min(from->size, to->size);
	row->chains += to->grown == 3;
	if (to->size > from->size)
		count_growth(sums, row, from->size, to->size);
	if (to->grown >= row->longest) {
		row->longest = to->grown;
		row->longest_from = to->first_size;
		row->longest_to = to->size;
	}
}

/* Of equally usual ones the smallest. */
static void choose_steps(struct sums *sums)
{
	for (uint32_t i = 0; i < sums->steps.slots; i++) {
		if (!sums->steps.hashes[i])
			continue;
		const struct growth_steps_entry *entry = &sums->steps.entries[i];
		struct realloc_site *row = &sums->sites[entry->key.site];
		if (entry->value > row->step_count ||
			(entry->value == row->step_count && entry->key.bytes < row->step_bytes)) {
			row->step_count = entry->value;
			row->step_bytes = entry->key.bytes;
		}
	}
}

static struct error *put_reallocs(struct sums *sums, struct model *model)
{
	struct error *error = NULL;
	if (!sums->any)
		return NULL; /* nor need what is of each site be touched */
	choose_steps(sums);
	for (size_t i = 0; !error && i < sums->sites_len; i++)
		if (sums->sites[i].calls)
			error = build_realloc_site(model, &sums->sites[i]);
	return error;
}

struct error *hpw_life_sums_put(const struct event_replay *story, const struct hpw_clock *clock,
	const struct hpw_span *span, struct model *model)
{
	_cleanup_(sums_deinit) struct sums sums = {
		.clock = clock, .from_step = span->from_step, .lifetimes = build_lifetimes(model)};
	growth_steps_init(&sums.steps);
	model_sites(model, &sums.sites_len);
	sums.sites = calloc(sums.sites_len + 1, sizeof(*sums.sites));
	if (!sums.sites)
		return error_no_memory();
	const struct hpw_lives_sink sink = {.context = &sums,
		.expected = model_totals(model)->peak_blocks,
		.died = on_died,
		.grew = on_grew,
		.stayed = on_stayed};
	sums.lifetimes->known = true;
	struct error *error = hpw_lives_read(story, span, &sink);
	if (!error && sums.no_memory)
		error = error_no_memory();
	return error ? error : put_reallocs(&sums, model);
}
