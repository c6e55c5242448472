/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/hpw_estimate.h"

#include <math.h>
#include <stdlib.h>

struct error *hpw_estimate_init(struct hpw_estimate *estimate, uint64_t mean_bytes, size_t sites)
{
	*estimate = (struct hpw_estimate){.mean_bytes = (double)mean_bytes, .sites_len = sites + 1};
	if (!mean_bytes)
		return NULL;
	estimate->sites = calloc(estimate->sites_len, sizeof(*estimate->sites));
	return estimate->sites ? NULL : error_no_memory();
}

void hpw_estimate_deinit(struct hpw_estimate *estimate)
{
	free(estimate->sites);
	estimate->sites = NULL;
}

double hpw_estimate_weight(const struct hpw_estimate *estimate, uint64_t size)
{
	return -1 / expm1(-((double)size + 1) / estimate->mean_bytes);
}

static void add(struct hpw_sum *sum, double weight, double size, double sign)
{
	double variance = weight * (weight - 1); /* (1 - p) / p^2 */
	sum->blocks += sign * weight;
	sum->bytes += sign * weight * size;
	sum->blocks_variance += sign * variance;
	sum->bytes_variance += sign * variance * size * size;
}

/* As in hpw_replay.h: what it has now is its share of every peak since its last change. */
static void catch_up(const struct hpw_estimate *estimate, struct hpw_estimate_site *site)
{
	if (site->peak_seen != estimate->peak_number) {
		site->peak_seen = estimate->peak_number;
		site->peak = site->live;
	}
}

void hpw_estimate_alloc(struct hpw_estimate *estimate, size_t place, uint64_t size, uint64_t stamp)
{
	struct hpw_estimate_site *site = &estimate->sites[place], *totals = &estimate->totals;
	double weight = hpw_estimate_weight(estimate, size), bytes = (double)size;
	catch_up(estimate, site);
	add(&site->all, weight, bytes, 1);
	add(&site->live, weight, bytes, 1);
	add(&totals->all, weight, bytes, 1);
	add(&totals->live, weight, bytes, 1);
	if (totals->live.bytes > totals->peak.bytes) {
		totals->peak = totals->live;
		estimate->peak_stamp = stamp;
		estimate->peak_number++;
	}
}

void hpw_estimate_free(struct hpw_estimate *estimate, size_t place, uint64_t size)
{
	struct hpw_estimate_site *site = &estimate->sites[place];
	double weight = hpw_estimate_weight(estimate, size), bytes = (double)size;
	catch_up(estimate, site);
	add(&site->live, weight, bytes, -1);
	add(&estimate->totals.live, weight, bytes, -1);
}

void hpw_estimate_failed(struct hpw_estimate *estimate, size_t place, uint64_t size)
{
	double weight = hpw_estimate_weight(estimate, size);
	add(&estimate->sites[place].failed, weight, 0, 1);
	add(&estimate->totals.failed, weight, 0, 1);
}

uint64_t hpw_estimate_whole(double value)
{
	return value < 0.5 ? 0 : value >= 1e19 ? (uint64_t)1e19 : (uint64_t)(value + 0.5);
}

static double positive(double value)
{
	return value > 0 ? value : 0;
}

static struct spread spread_of(const struct hpw_estimate_site *s)
{
	return (struct spread){
		.allocations = s->all.blocks_variance,
		.allocated_bytes = s->all.bytes_variance,
		.live_blocks = positive(s->live.blocks_variance),
		.live_bytes = positive(s->live.bytes_variance),
		.peak_blocks = positive(s->peak.blocks_variance),
		.peak_bytes = positive(s->peak.bytes_variance),
		.failed = s->failed.blocks_variance,
	};
}

void hpw_estimate_put_site(const struct hpw_estimate *estimate, size_t place, struct site *ret)
{
	struct hpw_estimate_site site = estimate->sites[place];
	catch_up(estimate, &site);
	ret->allocations = hpw_estimate_whole(site.all.blocks);
	ret->allocated_bytes = hpw_estimate_whole(site.all.bytes);
	ret->live_blocks = hpw_estimate_whole(site.live.blocks);
	ret->live_bytes = hpw_estimate_whole(site.live.bytes);
	ret->peak_blocks = hpw_estimate_whole(site.peak.blocks);
	ret->peak_bytes = hpw_estimate_whole(site.peak.bytes);
	ret->failed = hpw_estimate_whole(site.failed.blocks);
	ret->temporary = ret->same_frame = 0;
	ret->spread = spread_of(&site);
}

void hpw_estimate_put_totals(const struct hpw_estimate *estimate, struct totals *ret)
{
	const struct hpw_estimate_site *all = &estimate->totals;
	ret->allocations = hpw_estimate_whole(all->all.blocks);
	ret->allocated_bytes = hpw_estimate_whole(all->all.bytes);
	ret->frees = hpw_estimate_whole(all->all.blocks - all->live.blocks);
	ret->live_blocks = hpw_estimate_whole(all->live.blocks);
	ret->live_bytes = hpw_estimate_whole(all->live.bytes);
	ret->peak_blocks = hpw_estimate_whole(all->peak.blocks);
	ret->peak_bytes = hpw_estimate_whole(all->peak.bytes);
	ret->failed = hpw_estimate_whole(all->failed.blocks);
	ret->temporary = 0;
	ret->spread = spread_of(all);
}
