/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of stories by the sums that stand beside their events, and by all events. */
#include "base/cleanup.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

#define SAME(field) CHECK_U64(a->field, b->field)

static void compare_sites(const struct model *sums, const struct model *replay)
{
	size_t count, other;
	const struct site *a = model_sites(sums, &count), *b = model_sites(replay, &other);
	CHECK_U64(count, other);
	for (size_t i = 0; i < count; i++, a++, b++) {
#define SAME_COUNTER(name, how, column, part, unknown) SAME(name);
		SITE_COUNTERS(SAME_COUNTER)
#undef SAME_COUNTER
		SAME(kept_blocks);
		SAME(kept_bytes);
	}
}

static void compare_threads(const struct model *sums, const struct model *replay)
{
	size_t count, other;
	const struct thread *a = model_threads(sums, &count), *b = model_threads(replay, &other);
	CHECK_U64(count, other);
	for (size_t i = 0; i < count; i++, a++, b++) {
		SAME(allocations);
		SAME(allocated_bytes);
		SAME(frees);
		SAME(temporary);
	}
}

static void compare_sizes(const struct model *sums, const struct model *replay)
{
	size_t count, other;
	const struct size_count *a = model_sizes(sums, &count), *b = model_sizes(replay, &other);
	CHECK_U64(count, other);
	for (size_t i = 0; i < count; i++, a++, b++) {
		SAME(size);
		SAME(allocations);
	}
}

static void compare_totals(const struct model *sums, const struct model *replay)
{
	const struct totals *a = model_totals(sums), *b = model_totals(replay);
	SAME(allocations);
	SAME(allocated_bytes);
	SAME(frees);
	SAME(failed);
	SAME(live_blocks);
	SAME(live_bytes);
	SAME(kept_blocks);
	SAME(kept_bytes);
	SAME(temporary);
	SAME(peak_blocks);
	SAME(peak_bytes);
	SAME(peak_time_ns);
	SAME(threads);
}

static void compare(const struct builder *builder, const struct source_query *query)
{
	_cleanup_model_ struct model *sums = NULL, *replay = NULL;
	CHECK_OK(source_open_bytes_query(
		"story", builder->file.data, builder->file.len, 0, query, &sums));
	CHECK_OK(source_open_bytes_query(
		"story", builder->file.data, builder->file.len, SOURCE_REPLAY, query, &replay));
	const struct recording *a = model_recording(sums), *b = model_recording(replay);
	CHECK(a->read_way == READ_SUMS && b->read_way == READ_REPLAY);
	SAME(events);
	SAME(unknown_frees);
	SAME(mismatched_frees);
	SAME(range.from_ns);
	SAME(range.to_ns);
	compare_totals(sums, replay);
	compare_sites(sums, replay);
	compare_threads(sums, replay);
	compare_sizes(sums, replay);
}

static struct source_moment step(uint64_t number)
{
	return (struct source_moment){.kind = SOURCE_STEP, .step = number};
}

/* All parts of a story that begin and end every so many steps. */
static void compare_all(const struct story *story, uint64_t stride)
{
	struct story summed = *story;
	struct story_truth truth;
	struct builder builder;
	summed.with_sums = summed.with_counters = true;
	builder_init(&builder);
	builder_story(&builder, &summed, &truth);
	for (uint64_t from = 0; from < truth.steps; from += stride)
		for (uint64_t to = from ? from : 1; to < truth.steps; to += stride) {
			const struct source_query query = {.from = step(from), .to = step(to)};
			compare(&builder, &query);
		}
	const struct source_query to_peak = {
		.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_PEAK}};
	const struct source_query from_peak = {
		.from = {.kind = SOURCE_PEAK}, .to = {.kind = SOURCE_END}};
	compare(&builder, &to_peak);
	compare(&builder, &from_peak);
	builder_deinit(&builder);
}

CASE(full, "every part of a story with every kind of step")
{
	for (size_t chunk = 1; chunk < 12; chunk++) {
		struct story story = story_full;
		story.chunk_steps = chunk;
		compare_all(&story, 1);
	}
}

CASE(random_stories, "parts of random stories, in chunks of any size")
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct story story = story_random(seed, 300);
		story.chunk_steps = 1 + seed * 7 % 60;
		compare_all(&story, 23);
		story_random_free(&story);
	}
}

CASE(lies, "sums that do not fit the events are left alone")
{
	struct story story = story_full;
	struct story_truth truth;
	struct builder builder;
	story.with_sums = true;
	builder_init(&builder);
	builder_header(&builder);
	builder_tables(&builder, &story);
	struct buf nonsense;
	buf_init(&nonsense);
	buf_bytes(&nonsense, "\x01\x00\x02\x05\x07", 5);
	builder_chunk(&builder, HPW_SUMS, &nonsense);
	story.with_sums = false;
	builder_events(&builder, &story, &truth);
	builder_footer(&builder, &story, &truth);
	builder_index(&builder);
	const struct source_query query = {.from = step(2), .to = step(9)};
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes_query(
		"story", builder.file.data, builder.file.len, 0, &query, &model));
	CHECK(model_recording(model)->read_way == READ_REPLAY);
	buf_deinit(&nonsense);
	builder_deinit(&builder);
}

CASE(earlier, "what the sums of an earlier version lack is not known, but events say it")
{
	struct story story = story_full;
	struct story_truth truth;
	struct builder builder;
	story.with_sums = true;
	builder_init(&builder);
	builder_story(&builder, &story, &truth);
	const struct source_query query = {
		.from = step(1), .to = {.kind = SOURCE_STEP, .step = truth.steps - 1}};
	for (unsigned flags = 0; flags <= SOURCE_REPLAY; flags += SOURCE_REPLAY) {
		_cleanup_model_ struct model *model = NULL;
		CHECK_OK(source_open_bytes_query(
			"story", builder.file.data, builder.file.len, flags, &query, &model));
		const struct recording *recording = model_recording(model);
		CHECK_U64(recording->read_way, flags ? READ_REPLAY : READ_SUMS);
		CHECK_U64(recording->unknown, flags ? 0 : UNKNOWN_FAILED_SIZE);
	}
	builder_deinit(&builder);
}

TAP_MAIN
