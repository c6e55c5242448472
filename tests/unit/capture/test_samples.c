/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sampled blocks stand for, as the collector writes it into a dump and a reader reads it. */
#include "capture/writer/samples.h"

#include <math.h>

#include "lib/tap.h"
#include "sources/recording/hpw_footer.h"

#define MEAN 1000.0
#define SITES 7u
#define THREADS 3u

static struct samples_block block(uint32_t site, uint32_t thread, uint64_t size)
{
	return (struct samples_block){
		.site = site, .thread = thread, .size = size, .mean_bytes = MEAN};
}

static double weight(uint64_t size)
{
	return -1 / expm1(-((double)size + 1) / MEAN);
}

static bool is_near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-6 * fmax(1, fabs(wanted));
}

/* Three blocks, one of which is freed; a call that fails. */
static void fill(struct samples *samples)
{
	const struct samples_block small = block(2, 1, 9), large = block(5, 2, 99999),
				   brief = block(2, 0, 499);
	samples_alloc(samples, &small);
	samples_alloc(samples, &large);
	samples_alloc(samples, &brief);
	samples_free(samples, &brief);
	samples_failed(samples, &large);
}

/* Reads what was written in chunks of so many rows. */
static void pass_on(const struct samples *samples, uint32_t rows, struct hpw_estimates *ret)
{
	hpw_estimates_init(ret);
	struct samples_rows part = {.rows = rows, .sites = SITES, .threads = THREADS};
	for (; part.first < SITES; part.first += rows) {
		struct buf buf;
		buf_init(&buf);
		CHECK(samples_put(samples, &part, &buf));
		const struct hpw_payload payload = {.data = buf.data, .len = buf.len};
		CHECK_OK(hpw_estimates_decode(ret, &payload));
		buf_deinit(&buf);
	}
	CHECK_U64(ret->sites.len, SITES);
	CHECK_U64(ret->threads.len, THREADS);
}

CASE(weighted, "a sampled block counts for as many as it stands for, until it is freed")
{
	struct samples samples = {.site_count = 0};
	struct hpw_estimates read;
	double w9 = weight(9), w499 = weight(499);
	fill(&samples);
	for (uint32_t rows = 2; rows <= SITES; rows += 5) {
		pass_on(&samples, rows, &read);
		const double *site = read.sites.data[2].figures;
		CHECK(is_near(site[HPW_ESTIMATES_ALLOCATIONS], w9 + w499));
		CHECK(is_near(site[HPW_ESTIMATES_ALLOCATED_BYTES], 9 * w9 + 499 * w499));
		CHECK(is_near(site[HPW_ESTIMATES_ALLOCATIONS_VARIANCE],
			w9 * (w9 - 1) + w499 * (w499 - 1)));
		CHECK(is_near(site[HPW_ESTIMATES_LIVE_BLOCKS], w9));
		CHECK(is_near(site[HPW_ESTIMATES_LIVE_BYTES], 9 * w9));
		CHECK(is_near(site[HPW_ESTIMATES_LIVE_BYTES_VARIANCE], 81 * w9 * (w9 - 1)));
		CHECK(is_near(read.sites.data[5].figures[HPW_ESTIMATES_FAILED], 1));
		CHECK(read.sites.data[6].figures[HPW_ESTIMATES_ALLOCATIONS] == 0);
		CHECK(is_near(read.threads.data[0].figures[0], w499));
		CHECK(is_near(read.threads.data[0].figures[2], w499));
		CHECK(is_near(read.threads.data[1].figures[1], 9 * w9));
		hpw_estimates_deinit(&read);
	}
	samples_deinit(&samples);
}

CASE(taken_off, "what was before a reset is taken off, but for what is live")
{
	struct samples samples = {.site_count = 0}, before;
	struct hpw_estimates read;
	fill(&samples);
	CHECK(samples_copy(&samples, &before));
	const struct samples_block later = block(2, 0, 9);
	samples_alloc(&samples, &later);
	samples_take_off(&samples, &before);
	pass_on(&samples, SITES, &read);
	CHECK(is_near(read.sites.data[2].figures[HPW_ESTIMATES_ALLOCATIONS], weight(9)));
	CHECK(is_near(read.sites.data[2].figures[HPW_ESTIMATES_LIVE_BLOCKS], 2 * weight(9)));
	CHECK(read.sites.data[5].figures[HPW_ESTIMATES_ALLOCATIONS] == 0);
	CHECK(read.sites.data[5].figures[HPW_ESTIMATES_FAILED] == 0);
	CHECK(read.threads.data[1].figures[0] == 0);
	hpw_estimates_deinit(&read);
	samples_deinit(&before);
	samples_deinit(&samples);
}

CASE(hostile, "what is no number, or does not follow, is refused")
{
	struct samples samples = {.site_count = 0};
	struct hpw_estimates read;
	struct buf buf;
	const double wrong[] = {NAN, INFINITY};
	for (size_t i = 0; i < 2; i++) {
		fill(&samples);
		samples.sites[1].figures[HPW_ESTIMATES_LIVE_BYTES] = wrong[i];
		buf_init(&buf);
		hpw_estimates_init(&read);
		const struct samples_rows all = {.rows = SITES, .sites = SITES, .threads = THREADS};
		CHECK(samples_put(&samples, &all, &buf));
		const struct hpw_payload payload = {.data = buf.data, .len = buf.len};
		struct error *error = hpw_estimates_decode(&read, &payload);
		/* What is no number is written as 0. */
		CHECK(i ? error != NULL : !error);
		CHECK_U64(read.sites.len, i ? 0 : SITES);
		error_destroy(error);
		hpw_estimates_deinit(&read);
		buf_deinit(&buf);
		samples_deinit(&samples);
	}
	buf_init(&buf);
	hpw_estimates_init(&read);
	const struct samples_rows later = {.first = 3, .rows = 2, .sites = SITES};
	CHECK(samples_put(&samples, &later, &buf));
	const struct hpw_payload payload = {.data = buf.data, .len = buf.len};
	struct error *error = hpw_estimates_decode(&read, &payload);
	CHECK(error != NULL);
	error_destroy(error);
	hpw_estimates_deinit(&read);
	buf_deinit(&buf);
}

TAP_MAIN
