/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ESTIMATES as FORMAT.md has them: what a sampled dump's blocks stand for, and chunks that lie. */
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/hpw_builder.h"
#include "lib/tap.h"
#include "model/build.h"
#include "sources/source.h"

#include <math.h>
#include <string.h>

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

#define SITES 2u

static void put_text(struct buf *ret, uint64_t key, const void *data, size_t bytes)
{
	buf_varint(ret, key);
	buf_varint(ret, bytes);
	buf_bytes(ret, data, bytes);
}

static void put_number(struct buf *ret, uint64_t key, uint64_t value)
{
	put_text(ret, key, &value, sizeof(value));
}

static void put_double(struct buf *ret, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	buf_varint(ret, bits);
}

static void put_target(struct builder *builder)
{
	struct buf target;
	buf_init(&target);
	put_number(&target, HPW_TARGET_TSC_START, 1000);
	put_number(&target, HPW_TARGET_TSC_HZ, 1000000000);
	put_text(&target, HPW_TARGET_MODE, "sample", 6);
	put_number(&target, HPW_TARGET_SAMPLE_BYTES, 1000);
	put_text(&target, HPW_TARGET_DUMP, "it was requested", 16);
	builder_chunk(builder, HPW_TARGET, &target);
	buf_deinit(&target);
}

/* One recorded block of each site. */
static void put_sites(struct builder *builder)
{
	struct columns c;
	columns_init(&c, 3);
	buf_varint(&c.column[0], 0);
	for (uint64_t i = 0; i < SITES; i++) {
		buf_varint(&c.column[1], 0);
		buf_varint(&c.column[2], i);
	}
	builder_columns(builder, HPW_SITES, &c);
	columns_init(&c, 11);
	for (size_t k = 0; k < 11; k++)
		for (uint64_t i = 0; i < SITES; i++)
			buf_varint(&c.column[k], 1);
	builder_columns(builder, HPW_SITE_STATS, &c);
	columns_init(&c, 2);
	buf_varint(&c.column[0], 1);
	buf_varint(&c.column[1], SITES);
	builder_columns(builder, HPW_SIZES, &c);
}

/* One, without a name. */
static void put_threads(struct builder *builder)
{
	struct columns c;
	columns_init(&c, 12);
	for (size_t k = 0; k < 12; k++)
		if (k != 8)
			buf_varint(&c.column[k], 0);
	builder_columns(builder, HPW_THREADS, &c);
}

/* All figures of site i are i + 1 times `value`, those of threads are 3. */
static void put_estimates(
	struct builder *builder, uint64_t first, uint64_t sites, size_t threads, double value)
{
	struct columns c;
	columns_init(&c, HPW_ESTIMATES_COLUMNS);
	buf_varint(&c.column[HPW_ESTIMATES_FIRST], first);
	for (size_t k = 0; k < HPW_ESTIMATES_SITE_COLUMNS; k++)
		for (uint64_t i = first; i < first + sites; i++)
			put_double(&c.column[HPW_ESTIMATES_SITE + k], (double)(i + 1) * value);
	for (size_t k = 0; k < HPW_ESTIMATES_THREAD_COLUMNS; k++)
		for (size_t i = 0; i < threads; i++)
			put_double(&c.column[HPW_ESTIMATES_THREAD + k], 3);
	builder_columns(builder, HPW_ESTIMATES, &c);
}

static void begin_file(struct builder *builder)
{
	builder_init(builder);
	builder_header(builder);
	put_target(builder);
	put_sites(builder);
	put_threads(builder);
}

static struct error *open_file(struct builder *builder, struct model **ret)
{
	struct buf summary;
	buf_init(&summary);
	const uint64_t pairs[] = {HPW_SUM_TSC_END, 2000, HPW_SUM_NS_DURATION, 1000,
		HPW_SUM_EXIT_KIND, HPW_EXIT_RUNNING, HPW_SUM_ALLOCATIONS, SITES,
		HPW_SUM_ALLOCATED_BYTES, SITES, HPW_SUM_DROPPED_STEPS, SITES};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		buf_varint(&summary, pairs[i]);
	builder_chunk(builder, HPW_SUMMARY, &summary);
	buf_deinit(&summary);
	builder_index(builder);
	struct error *error = source_open_bytes_query(
		"file", builder->file.data, builder->file.len, 0, NULL, ret);
	builder_deinit(builder);
	return error;
}

/* Whether the figures are of the recorded blocks alone, which is said. */
static void check_unknown(struct builder *builder)
{
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_file(builder, &model));
	size_t damage;
	const char *const *sentences = model_damage(model, &damage);
	CHECK(damage && strstr(sentences[damage - 1], "cover only the sampled blocks"));
	CHECK_U64(model_totals(model)->allocations, SITES);
}

CASE(sums, "sites in two chunks have what their samples stand for, and totals are their sums")
{
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	begin_file(&builder);
	put_estimates(&builder, 0, 1, 1, 100.4);
	put_estimates(&builder, 1, 1, 0, 100.4);
	CHECK_OK(open_file(&builder, &model));
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, SITES);
	CHECK_U64(sites[0].allocations, 100);
	CHECK_U64(sites[1].live_bytes, 201);
	CHECK_U64(model_totals(model)->allocations, 301);
	CHECK_U64(model_totals(model)->frees, 3);
	model_damage(model, &count);
	CHECK_U64(count, 0);
}

CASE(missing, "without estimates of all sites none are shown")
{
	struct builder builder;
	begin_file(&builder);
	check_unknown(&builder);
	begin_file(&builder);
	put_estimates(&builder, 0, 1, 1, 100);
	check_unknown(&builder);
}

CASE(lies, "numbers that are none, gaps, and too many threads are refused")
{
	static const double wrong[] = {-1, INFINITY, NAN};
	struct builder builder;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin_file(&builder);
		put_estimates(&builder, 0, SITES, 1, wrong[i]);
		check_unknown(&builder);
	}
	begin_file(&builder);
	put_estimates(&builder, 0, 1, 1, 100);
	put_estimates(&builder, 2, 1, 0, 100);
	check_unknown(&builder);
	begin_file(&builder);
	put_estimates(&builder, 0, SITES, BUILD_THREADS_MAX, 100);
	put_estimates(&builder, SITES, 0, 1, 100);
	check_unknown(&builder);
}

CASE(huge, "figures beyond all integers stop at the largest")
{
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	begin_file(&builder);
	put_estimates(&builder, 0, SITES, 1, 8e307);
	CHECK_OK(open_file(&builder, &model));
	size_t count;
	CHECK(model_sites(model, &count)->live_bytes > UINT64_MAX / 2);
}

TAP_MAIN
