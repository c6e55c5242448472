/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left of a damaged recording is read, what is missing is said, nothing ever crashes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

static void make(struct builder *builder, const struct story *story, bool packed)
{
	struct story_truth truth;
	builder_init(builder);
	builder->packed = packed;
	builder_story(builder, story, &truth);
}

/* Reads in both ways; what comes out is a model or ERROR_INPUT, from a block of exactly that size.
 */
static bool survives(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	CHECK(copy);
	memcpy(copy, data, len);
	bool read = false;
	const unsigned ways[] = {SOURCE_WITH_LIVE, SOURCE_REPLAY};
	for (size_t i = 0; i < 2; i++) {
		struct model *model = NULL;
		struct error *error = source_open_bytes("file", copy, len, ways[i], &model);
		CHECK(!error != !model);
		if (error)
			CHECK_U64(error->code, ERROR_INPUT);
		read |= !error;
		error_destroy(error);
		model_destroy(model);
	}
	free(copy);
	return read;
}

static void cut_everywhere(bool packed)
{
	struct builder builder;
	make(&builder, &story_full, packed);
	for (size_t len = 0; len < builder.file.len; len++) {
		bool read = survives(builder.file.data, len);
		/* As soon as the first chunk is whole, there is something to show. */
		CHECK_U64(read, len >= builder.offsets[1]);
		if (!read)
			continue;
		_cleanup_model_ struct model *model = NULL;
		CHECK_OK(source_open_bytes("file", builder.file.data, len, 0, &model));
		CHECK(!model_recording(model)->complete);
		CHECK_STR(model_target(model)->command[0], "./story");
	}
	builder_deinit(&builder);
}

CASE(cut, "cut at every byte")
{
	cut_everywhere(false);
}

CASE(cut_packed, "cut at every byte, payloads packed")
{
	cut_everywhere(true);
}

CASE(cut_keeps, "each cut keeps the events of the chunks before it")
{
	struct builder builder;
	make(&builder, &story_full, false);
	uint64_t before = 0;
	for (size_t i = 1; i < builder.chunks; i++) {
		_cleanup_model_ struct model *model = NULL;
		CHECK_OK(source_open_bytes(
			"file", builder.file.data, builder.offsets[i], 0, &model));
		uint64_t events = model_recording(model)->events;
		if (builder.types[i - 1] == HPW_EVENTS)
			CHECK(events > before);
		CHECK(events >= before);
		before = events;
	}
	CHECK(before > 20);
	builder_deinit(&builder);
}

static void flip_everywhere(bool packed)
{
	struct builder builder;
	make(&builder, &story_full, packed);
	for (size_t bit = 0; bit < 8 * builder.file.len; bit += TAP_STRIDE) {
		builder.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		survives(builder.file.data, builder.file.len);
		builder.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	builder_deinit(&builder);
}

CASE(flip, "every bit flipped")
{
	flip_everywhere(false);
}

CASE(flip_packed, "every bit flipped, payloads packed")
{
	flip_everywhere(true);
}

/* All sites have the story's figures. */
static void check_sites(const struct builder *builder, size_t len, const struct story_truth *truth)
{
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder->file.data, len, 0, &model));
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK(!model_recording(model)->complete);
	CHECK_U64(count, story_rows.sites_len);
	for (size_t i = 0; i < count; i++) {
		CHECK_U64(sites[i].allocations, truth->sites[i].allocations);
		CHECK_U64(sites[i].allocated_bytes, truth->sites[i].allocated_bytes);
		CHECK_U64(sites[i].live_bytes, truth->sites[i].live_bytes);
	}
}

CASE(sites_tail, "where the last of several chunks of sites' figures is missing events stand in")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_story(&builder, &story_rows, &truth);
	CHECK(truth.sites[story_rows.sites_len - 1].allocations);
	size_t last = 0;
	for (size_t i = 0; i < builder.chunks; i++)
		if (builder.types[i] == HPW_SITE_STATS)
			last = i;
	CHECK(last && builder.types[last - 1] == HPW_SITE_STATS);
	size_t at = builder.offsets[last] + sizeof(struct hpw_chunk_header) + 1;
	builder.file.data[at] ^= 4;
	check_sites(&builder, builder.file.len, &truth);
	builder.file.data[at] ^= 4;
	check_sites(&builder, builder.offsets[last], &truth);
	builder_deinit(&builder);
}

CASE(flip_counts, "a flipped bit in one part leaves the figures of the others")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_story(&builder, &story_full, &truth);
	for (size_t i = 0; i < builder.chunks; i++) {
		size_t at = builder.offsets[i] + sizeof(struct hpw_chunk_header) + 1;
		builder.file.data[at] ^= 4;
		_cleanup_model_ struct model *model = NULL;
		CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
		builder.file.data[at] ^= 4;
		/* Events are not even looked at while the totals are whole. */
		bool seen = builder.types[i] != HPW_EVENTS && builder.types[i] != HPW_LIVE;
		size_t count;
		model_damage(model, &count);
		CHECK_U64(count > 0, seen);
		CHECK_U64(model_recording(model)->complete, !seen);
		CHECK_U64(model_totals(model)->allocations, truth.allocations);
		CHECK_U64(model_totals(model)->peak_bytes, truth.peak_bytes);
		CHECK_U64(model_recording(model)->events, truth.events);
	}
	builder_deinit(&builder);
}

CASE(hole, "a lost chunk of events: the rest is counted, the hole is measured")
{
	struct story story = story_random(7, 3000);
	story.chunk_steps = 500;
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_header(&builder);
	builder_tables(&builder, &story);
	builder_events(&builder, &story, &truth);
	/* chunks 0 to 3 are tables */
	builder.file.data[builder.offsets[6] + sizeof(struct hpw_chunk_header)] ^= 1;
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
	size_t count;
	const char *const *damage = model_damage(model, &count);
	CHECK_U64(count, 2);
	CHECK_CONTAINS(damage[0], "chunk 6 at offset ");
	CHECK_CONTAINS(damage[0], " is damaged (its checksum differs): ");
	CHECK_CONTAINS(damage[0], " steps missing");
	/* a step of the story is at most two steps of the file */
	uint64_t missing = strtoull(strstr(damage[0], "): ") + 3, NULL, 10);
	CHECK(missing >= 500 && missing <= 1000);
	const struct totals *totals = model_totals(model);
	CHECK(totals->allocations < truth.allocations);
	CHECK(totals->allocations > truth.allocations / 2);
	CHECK(model_recording(model)->unknown_frees > truth.unknown_frees);
	CHECK_U64(totals->allocations - totals->live_blocks + model_recording(model)->unknown_frees,
		totals->frees);
	builder_deinit(&builder);
	story_random_free(&story);
}

CASE(lost_header, "a damaged chunk header: the next one is found")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_header(&builder);
	builder_tables(&builder, &story_full);
	builder_events(&builder, &story_full, &truth);
	builder.file.data[builder.offsets[4] + 1] ^= 1;
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
	size_t count;
	const char *const *damage = model_damage(model, &count);
	CHECK_U64(count, 3);
	CHECK_CONTAINS(damage[0], "damaged at offset ");
	CHECK_CONTAINS(damage[1], "between chunks of events: 5 steps missing");
	CHECK(model_totals(model)->allocations > 0);
	builder_deinit(&builder);
}

CASE(lost_tables, "without the tables the figures stay, under one unknown site")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_header(&builder);
	builder_events(&builder, &story_full, &truth);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, 1);
	CHECK_U64(sites[0].kind, KIND_UNKNOWN);
	CHECK_U64(sites[0].allocations, truth.allocations);
	CHECK_U64(sites[0].live_bytes, truth.live_bytes);
	CHECK_U64(sites[0].peak_bytes, truth.peak_bytes);
	builder_deinit(&builder);
}

CASE(many, "a thousand damaged places give a bounded list of sentences")
{
	struct builder builder;
	builder_init(&builder);
	builder_header(&builder);
	for (int i = 0; i < 1000; i++)
		builder_chunk_raw(&builder, HPW_STACKS, 0, 1, 1, "\xff", 1);
	struct story_truth truth;
	builder_tables(&builder, &story_small);
	builder_events(&builder, &story_small, &truth);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
	size_t count;
	const char *const *damage = model_damage(model, &count);
	CHECK_U64(count, 17);
	CHECK_CONTAINS(damage[16], "and 985 more damaged places");
	builder_deinit(&builder);
}

TAP_MAIN
