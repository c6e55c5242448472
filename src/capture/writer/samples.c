/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/writer/columns.h"

enum { THREAD_ALLOCATIONS, THREAD_BYTES, THREAD_FREES };

void samples_deinit(struct samples *samples)
{
	free(samples->sites);
	free(samples->threads);
	*samples = (struct samples){.site_count = 0};
}

/* Makes room for `number`, all 0. Returns false if there is no memory. */
static bool reach_row(void **rows, uint32_t *count, uint32_t number, size_t bytes)
{
	if (number < *count)
		return true;
	uint32_t wanted = max(number + 1, *count + *count / 2 + 16);
	char *grown = realloc(*rows, wanted * bytes);
	if (!grown)
		return false;
	memset(grown + *count * bytes, 0, (wanted - *count) * bytes);
	*rows = grown;
	*count = wanted;
	return true;
}

static double *figures_of_site(struct samples *s, uint32_t site)
{
	s->failed |=
		!reach_row((void **)&s->sites, &s->site_count, site, sizeof(struct samples_site));
	return site < s->site_count ? s->sites[site].figures : NULL;
}

static double *figures_of_thread(struct samples *s, uint32_t thread)
{
	s->failed |= !reach_row(
		(void **)&s->threads, &s->thread_count, thread, sizeof(struct samples_thread));
	return thread < s->thread_count ? s->threads[thread].figures : NULL;
}

static double weight_of(const struct samples_block *block)
{
	return -1 / expm1(-((double)block->size + 1) / block->mean_bytes);
}

/* A sum of blocks and its variance, then the same of bytes. */
static void add_block(double *sum, const struct samples_block *block, double sign)
{
	double weight = weight_of(block), size = (double)block->size;
	double variance = weight * (weight - 1);
	sum[0] += sign * weight;
	sum[1] += sign * variance;
	sum[2] += sign * weight * size;
	sum[3] += sign * variance * size * size;
}

void samples_alloc(struct samples *samples, const struct samples_block *block)
{
	double *site = figures_of_site(samples, block->site);
	double *thread = figures_of_thread(samples, block->thread);
	if (!site || !thread)
		return;
	add_block(site + HPW_ESTIMATES_ALLOCATIONS, block, 1);
	add_block(site + HPW_ESTIMATES_LIVE_BLOCKS, block, 1);
	thread[THREAD_ALLOCATIONS] += weight_of(block);
	thread[THREAD_BYTES] += weight_of(block) * (double)block->size;
}

void samples_free(struct samples *samples, const struct samples_block *block)
{
	double *site = figures_of_site(samples, block->site);
	double *thread = figures_of_thread(samples, block->thread);
	if (!site || !thread)
		return;
	add_block(site + HPW_ESTIMATES_LIVE_BLOCKS, block, -1);
	thread[THREAD_FREES] += weight_of(block);
}

void samples_failed(struct samples *samples, const struct samples_block *block)
{
	double *site = figures_of_site(samples, block->site), weight = weight_of(block);
	if (!site)
		return;
	site[HPW_ESTIMATES_FAILED] += weight;
	site[HPW_ESTIMATES_FAILED_VARIANCE] += weight * (weight - 1);
}

bool samples_copy(const struct samples *samples, struct samples *ret)
{
	*ret = (struct samples){.site_count = samples->site_count,
		.thread_count = samples->thread_count,
		.failed = samples->failed};
	size_t sites = samples->site_count * sizeof(*ret->sites);
	size_t threads = samples->thread_count * sizeof(*ret->threads);
	ret->sites = malloc(sites + 1);
	ret->threads = malloc(threads + 1);
	if (!ret->sites || !ret->threads) {
		samples_deinit(ret);
		return false;
	}
	if (sites)
		memcpy(ret->sites, samples->sites, sites);
	if (threads)
		memcpy(ret->threads, samples->threads, threads);
	return true;
}

static bool is_of_live(unsigned figure)
{
	return figure >= HPW_ESTIMATES_LIVE_BLOCKS && figure <= HPW_ESTIMATES_LIVE_BYTES_VARIANCE;
}

void samples_take_off(struct samples *samples, const struct samples *before)
{
	for (uint32_t i = 0; i < min(before->site_count, samples->site_count); i++)
		for (unsigned k = 0; k < HPW_ESTIMATES_SITE_COLUMNS; k++)
			if (!is_of_live(k))
				samples->sites[i].figures[k] -= before->sites[i].figures[k];
	for (uint32_t i = 0; i < min(before->thread_count, samples->thread_count); i++)
		for (unsigned k = 0; k < HPW_ESTIMATES_THREAD_COLUMNS; k++)
			samples->threads[i].figures[k] -= before->threads[i].figures[k];
	samples->failed |= before->failed;
}

/* What is left of differences of equal sums is 0. */
static void add_double(struct columns *c, unsigned column, double value)
{
	uint64_t bits;
	value = value > 1e-6 ? value : 0;
	memcpy(&bits, &value, sizeof(bits));
	columns_add(c, column, bits);
}

static void add_site(struct columns *c, const struct samples *samples, uint32_t site)
{
	for (unsigned k = 0; k < HPW_ESTIMATES_SITE_COLUMNS; k++)
		add_double(c, HPW_ESTIMATES_SITE + k,
			site < samples->site_count ? samples->sites[site].figures[k] : 0);
}

static void add_thread(struct columns *c, const struct samples *samples, uint32_t thread)
{
	for (unsigned k = 0; k < HPW_ESTIMATES_THREAD_COLUMNS; k++)
		add_double(c, HPW_ESTIMATES_THREAD + k,
			thread < samples->thread_count ? samples->threads[thread].figures[k] : 0);
}

bool samples_put(const struct samples *samples, const struct samples_rows *rows, struct buf *ret)
{
	struct columns c;
	columns_init(&c, HPW_ESTIMATES_COLUMNS);
	if (rows->first)
		columns_add(&c, HPW_ESTIMATES_FIRST, rows->first);
	else
		columns_leave(&c, HPW_ESTIMATES_FIRST);
	uint32_t end = rows->first + min(rows->rows, rows->sites - rows->first);
	for (uint32_t i = rows->first; i < end; i++)
		add_site(&c, samples, i);
	for (uint32_t i = 0; !rows->first && i < rows->threads; i++)
		add_thread(&c, samples, i);
	return columns_finish(&c, ret);
}
