/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "sources/events/hpw_columns.h"

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

static double weight_at(double mean_bytes, uint64_t size)
{
	return -1 / expm1(-((double)size + 1) / mean_bytes);
}

double hpw_estimate_weight(const struct hpw_estimate *estimate, uint64_t size)
{
	return weight_at(estimate->mean_bytes, size);
}

uint64_t hpw_estimate_whole(double value)
{
	return value < 0.5 ? 0 : value >= 1e19 ? (uint64_t)1e19 : (uint64_t)(value + 0.5);
}

uint64_t hpw_estimate_next(double *so_far, double value)
{
	uint64_t before = hpw_estimate_whole(*so_far);
	*so_far += value;
	return hpw_estimate_whole(*so_far) - before;
}

static void hpw_estimate_add(struct hpw_sum *sum, double weight, double size, double sign)
{
	double variance = weight * (weight - 1); /* (1 - p) / p^2 */
	sum->blocks += sign * weight;
	sum->bytes += sign * weight * size;
	sum->blocks_variance += sign * variance;
	sum->bytes_variance += sign * variance * size * size;
}

/* Adds to a site's sum and to the total of the same kind. Both in whole numbers change alike, so
 * that rows add up to their total; a difference below 0 wraps around and comes out right. */
static void add_both(struct hpw_sum *site, struct hpw_sum *total, struct hpw_whole *whole,
	double weight, double size, double sign)
{
	uint64_t blocks = hpw_estimate_whole(site->blocks);
	uint64_t bytes = hpw_estimate_whole(site->bytes);
	hpw_estimate_add(site, weight, size, sign);
	hpw_estimate_add(total, weight, size, sign);
	whole->blocks += hpw_estimate_whole(site->blocks) - blocks;
	whole->bytes += hpw_estimate_whole(site->bytes) - bytes;
}

/* As in hpw_replay.h: what it has now is its share of every reading since its last change. */
static void catch_up(const struct hpw_estimate *estimate, struct hpw_estimate_site *site)
{
	for (int half = 0; half < HPW_HALVES; half++)
		if (site->read_seen[half] != estimate->number[half]) {
			site->read_seen[half] = estimate->number[half];
			site->read[half] = site->halves[!half];
		}
}

/* Which halves a block is in, and how many it stands for there. */
struct dealt {
	bool in[HPW_HALVES];
	double weight;
};

static struct dealt hpw_estimate_deal(
	const struct hpw_estimate *estimate, const struct hpw_estimate_block *block)
{
	struct dealt ret = {.weight = weight_at(2 * estimate->mean_bytes, block->size)};
	double q = 1 / ret.weight;
	double chance = ldexp((double)(hash_u64(block->identity) >> 11), -53) * (2 - q);
	ret.in[0] = chance < 1;
	ret.in[1] = chance < q || chance >= 1;
	return ret;
}

static void add_live(struct hpw_estimate *estimate, struct hpw_estimate_site *site,
	const struct hpw_estimate_block *block, double sign)
{
	struct dealt dealt = hpw_estimate_deal(estimate, block);
	double weight = hpw_estimate_weight(estimate, block->size), bytes = (double)block->size;
	struct hpw_estimate_site *total = &estimate->totals;
	struct hpw_whole_sums *whole = &estimate->whole;
	add_both(&site->live, &total->live, &whole->live, weight, bytes, sign);
	if (block->in_range)
		add_both(&site->kept, &total->kept, &whole->kept, weight, bytes, sign);
	for (int half = 0; half < HPW_HALVES; half++)
		if (dealt.in[half]) {
			hpw_estimate_add(&site->halves[half], dealt.weight, bytes, sign);
			hpw_estimate_add(&total->halves[half], dealt.weight, bytes, sign);
		}
}

/* The other half is read, of all sites. */
static void read_other(struct hpw_estimate *estimate, int half)
{
	estimate->number[half]++;
	estimate->totals.read[half] = estimate->totals.halves[!half];
}

void hpw_estimate_alloc(struct hpw_estimate *estimate, const struct hpw_estimate_block *block,
	struct hpw_estimate_moment moment)
{
	struct hpw_estimate_site *site = &estimate->sites[block->place];
	double weight = hpw_estimate_weight(estimate, block->size), bytes = (double)block->size;
	catch_up(estimate, site);
	add_both(&site->all, &estimate->totals.all, &estimate->whole.all, weight, bytes, 1);
	add_live(estimate, site, block, 1);
	for (int half = 0; half < HPW_HALVES; half++)
		if (estimate->totals.halves[half].bytes > estimate->highest[half]) {
			estimate->highest[half] = estimate->totals.halves[half].bytes;
			estimate->moment[half] = estimate->again[half] = moment;
			read_other(estimate, half);
		} else if (estimate->totals.halves[half].bytes >= estimate->highest[half]) {
			estimate->again[half] = moment;
		}
}

void hpw_estimate_free(struct hpw_estimate *estimate, const struct hpw_estimate_block *block)
{
	struct hpw_estimate_site *site = &estimate->sites[block->place];
	catch_up(estimate, site);
	hpw_estimate_add(&estimate->totals.freed, hpw_estimate_weight(estimate, block->size), 0, 1);
	add_live(estimate, site, block, -1);
}

void hpw_estimate_begin_range(struct hpw_estimate *estimate, struct hpw_estimate_moment moment)
{
	for (size_t i = 0; i <= estimate->sites_len; i++) {
		bool is_total = i == estimate->sites_len;
		struct hpw_estimate_site *site = is_total ? &estimate->totals : &estimate->sites[i];
		site->all = site->kept = site->failed = site->freed = (struct hpw_sum){0};
	}
	estimate->before_bytes += estimate->whole.all.bytes;
	estimate->whole = (struct hpw_whole_sums){.live = estimate->whole.live};
	for (int half = 0; half < HPW_HALVES; half++) {
		estimate->highest[half] = estimate->totals.halves[half].bytes;
		estimate->moment[half] = estimate->again[half] = moment;
		read_other(estimate, half);
	}
}

void hpw_estimate_settle(struct hpw_estimate *estimate)
{
	int at_end = 0;
	for (int half = 0; half < HPW_HALVES; half++)
		if (estimate->totals.halves[half].bytes >= estimate->highest[half]) {
			/* What is live there since then. */
			estimate->moment[half] = estimate->again[half];
			read_other(estimate, half);
			at_end++;
		}
	estimate->at_end = at_end == HPW_HALVES;
}

struct hpw_estimate_moment hpw_estimate_peak_moment(const struct hpw_estimate *estimate)
{
	const struct hpw_sum *read = estimate->totals.read;
	const struct hpw_estimate_moment *moment = estimate->moment;
	if (estimate->at_end)
		return moment[moment[1].step > moment[0].step];
	return moment[read[1].bytes > read[0].bytes];
}

void hpw_estimate_failed(struct hpw_estimate *estimate, size_t place, uint64_t size)
{
	double weight = hpw_estimate_weight(estimate, size);
	add_both(&estimate->sites[place].failed, &estimate->totals.failed, &estimate->whole.failed,
		weight, 0, 1);
}

static double hpw_estimate_positive(double value)
{
	return value > 0 ? value : 0;
}

/* The mean of both readings, which are independent; at the end all samples say what is live. Of a
 * site, or of all: `place` is their number then. */
static struct hpw_sum peak_of(const struct hpw_estimate *estimate, size_t place)
{
	if (estimate->leads_to)
		return peak_of(estimate->leads_to, place);
	bool is_total = place == estimate->sites_len;
	struct hpw_estimate_site site = is_total ? estimate->totals : estimate->sites[place];
	if (!is_total)
		catch_up(estimate, &site);
	const struct hpw_sum *a = &site.read[0], *b = &site.read[1];
	if (estimate->at_end)
		return site.live;
	return (struct hpw_sum){
		.blocks = (a->blocks + b->blocks) / 2,
		.bytes = (a->bytes + b->bytes) / 2,
		.blocks_variance = (a->blocks_variance + b->blocks_variance) / 4,
		.bytes_variance = (a->bytes_variance + b->bytes_variance) / 4,
	};
}

/*
 * The variance of how many blocks are live at a moment. Small ones stand for so many each that a
 * few of them make most of it, and where all of those few were missed, it does not show. In what
 * was allocated all the time they do show: the larger one of the variance by itself, and that of
 * as large a part of everything allocated.
 */
static double blocks_variance(const struct hpw_sum *part, const struct hpw_sum *all)
{
	double step = all->blocks > 0 ? all->blocks_variance / all->blocks : 0;
	return hpw_estimate_positive(fmax(part->blocks_variance, part->blocks * step));
}

static struct spread spread_of(const struct hpw_estimate_site *s, const struct hpw_sum *peak)
{
	return (struct spread){
		.allocations = s->all.blocks_variance,
		.allocated_bytes = s->all.bytes_variance,
		.live_blocks = blocks_variance(&s->live, &s->all),
		.live_bytes = hpw_estimate_positive(s->live.bytes_variance),
		.peak_blocks = blocks_variance(peak, &s->all),
		.peak_bytes = hpw_estimate_positive(peak->bytes_variance),
		.failed = s->failed.blocks_variance,
	};
}

uint32_t hpw_estimate_unknown(void)
{
	uint32_t all = 0, known = UNKNOWN_ALLOCATIONS | UNKNOWN_ALLOCATED_BYTES |
				  UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES | UNKNOWN_PEAK_BLOCKS |
				  UNKNOWN_PEAK_BYTES | UNKNOWN_FAILED | UNKNOWN_EXTREMES;
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++)
		all |= hpw_columns_unknown(i);
	return all & ~known;
}

void hpw_estimate_put_site(const struct hpw_estimate *estimate, size_t place, struct site *ret)
{
	const struct hpw_estimate_site site = estimate->sites[place];
	struct hpw_sum peak = peak_of(estimate, place);
	ret->counters = (struct site_counters){
		.allocations = hpw_estimate_whole(site.all.blocks),
		.allocated_bytes = hpw_estimate_whole(site.all.bytes),
		.live_blocks = hpw_estimate_whole(site.live.blocks),
		.live_bytes = hpw_estimate_whole(site.live.bytes),
		.peak_blocks = hpw_estimate_whole(peak.blocks),
		.peak_bytes = hpw_estimate_whole(peak.bytes),
		.failed = hpw_estimate_whole(site.failed.blocks),
		.min_size = ret->min_size,
		.max_size = ret->max_size,
	};
	ret->kept_blocks = hpw_estimate_whole(site.kept.blocks);
	ret->kept_bytes = hpw_estimate_whole(site.kept.bytes);
	ret->spread = spread_of(&site, &peak);
}

/* The peak as its rows have it, each in whole numbers. */
static struct hpw_whole whole_peak(const struct hpw_estimate *estimate)
{
	struct hpw_whole ret = {0};
	for (size_t i = 0; i < estimate->sites_len; i++) {
		struct hpw_sum peak = peak_of(estimate, i);
		ret.blocks += hpw_estimate_whole(peak.blocks);
		ret.bytes += hpw_estimate_whole(peak.bytes);
	}
	return ret;
}

void hpw_estimate_put_totals(const struct hpw_estimate *estimate, struct totals *ret)
{
	const struct hpw_estimate_site *all = &estimate->totals;
	const struct hpw_whole_sums *whole = &estimate->whole;
	struct hpw_sum peak = peak_of(estimate, estimate->sites_len);
	struct hpw_whole peak_whole = whole_peak(estimate);
	ret->allocations = whole->all.blocks;
	ret->allocated_bytes = whole->all.bytes;
	ret->frees = hpw_estimate_whole(all->freed.blocks);
	ret->live_blocks = whole->live.blocks;
	ret->live_bytes = whole->live.bytes;
	ret->kept_blocks = whole->kept.blocks;
	ret->kept_bytes = whole->kept.bytes;
	ret->peak_blocks = peak_whole.blocks;
	ret->peak_bytes = peak_whole.bytes;
	ret->failed = whole->failed.blocks;
	ret->temporary = 0;
	ret->spread = spread_of(all, &peak);
}
