/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check_queries.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/vec.h"
#include "check_model.h"

#define NEED(true_thing)                                                                           \
	do {                                                                                       \
		if (!(true_thing))                                                                 \
			abort();                                                                   \
	} while (0)

#define ROWS 5u

static const struct source_series by_time = {.rows = ROWS, .with_sites = true},
				  by_bytes = {.rows = ROWS, .axis = SOURCE_BY_BYTES},
				  by_steps = {.rows = ROWS, .axis = SOURCE_BY_STEPS};
static const struct source_blocks middling = {.min_size = 16, .max_size = 1000},
				  short_lived = {.by_life = true, .max_life_ns = 5000000},
				  lasting = {.by_life = true, .live_only = true},
				  of_thread = {.thread = "0"};

enum query { ALL, PEAK };

static const struct question {
	struct source_query query;
	unsigned flags;
} questions[] = {
	[ALL] = {.query = {.to = {.kind = SOURCE_END}}},
	[PEAK] = {.query = {.to = {.kind = SOURCE_PEAK}}},
	{.query = {.from = {.kind = SOURCE_PEAK}, .to = {.kind = SOURCE_END}},
		.flags = SOURCE_WITH_LIVES},
	{.query = {.from = {.kind = SOURCE_TIME, .time_ns = 2000000}, .to = {.kind = SOURCE_END}},
		.flags = SOURCE_WITH_MARKS | SOURCE_WITH_STACKS},
	{.query = {.from = {.kind = SOURCE_STEP, .step = 1},
		 .to = {.kind = SOURCE_STEP, .step = 3}}},
	{.query = {.from = {.kind = SOURCE_MARK, .mark = "ready"}, .to = {.kind = SOURCE_END}}},
	{.query = {.to = {.kind = SOURCE_END}, .series = &by_time},
		.flags = SOURCE_WITH_MARKS | SOURCE_WITH_STACKS},
	{.query = {.from = {.kind = SOURCE_PEAK}, .to = {.kind = SOURCE_END}, .series = &by_bytes}},
	{.query = {.to = {.kind = SOURCE_END}, .series = &by_steps}},
	{.query = {.to = {.kind = SOURCE_END}, .blocks = &middling}, .flags = SOURCE_WITH_LIVES},
	{.query = {.to = {.kind = SOURCE_END}, .blocks = &short_lived}},
	{.query = {.to = {.kind = SOURCE_PEAK}, .blocks = &lasting}},
	{.query = {.to = {.kind = SOURCE_END}, .blocks = &of_thread}},
};

static void check_series(const struct model *model)
{
	size_t count, sites, entries;
	const struct series_row *rows = model_series(model, &count);
	const struct series_site *of_row = model_series_sites(model, &entries);
	model_sites(model, &sites);
	for (size_t i = 0; i < count; i++) {
		NEED(i == 0 || rows[i].step >= rows[i - 1].step);
		NEED(i == 0 || rows[i].time_ns >= rows[i - 1].time_ns);
		NEED(rows[i].first_site <= entries &&
			rows[i].site_count <= entries - rows[i].first_site);
	}
	for (size_t i = 0; i < entries; i++)
		NEED(of_row[i].site.value < sites);
}

/* NULL: the source does not serve it. */
static struct model *ask(
	const struct asked *asked, const struct input *input, const struct question *question)
{
	struct model *model = NULL;
	struct error *error = asked->open(input, question->flags, &question->query, &model);
	if (error && error->code != ERROR_INPUT)
		fprintf(stderr, "%s\n", error->message);
	NEED(!error != !model && (!error || error->code == ERROR_INPUT));
	error_destroy(error);
	if (model) {
		check_model(model);
		check_series(model);
	}
	return model;
}

static void check_moments(
	const struct asked *asked, const struct input *input, const struct model *whole)
{
	const struct totals *of_all = model_totals(whole);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		struct model *model = ask(asked, input, &questions[i]);
		const struct totals *totals = model ? model_totals(model) : NULL;
		if (totals && asked->exact && i == ALL)
			NEED(totals->allocated_bytes == of_all->allocated_bytes &&
				totals->live_bytes == of_all->live_bytes);
		if (totals && asked->exact && i == PEAK)
			NEED(totals->live_bytes == of_all->peak_bytes &&
				totals->live_blocks == of_all->peak_blocks);
		model_destroy(model);
	}
}

DEFINE_VEC(size_vec, uint64_t)

/* What is told, added up. */
struct told {
	struct size_vec live; /* by number of block: its size + 1; 0: it is not live */
	uint64_t allocations, allocated_bytes, live_blocks, live_bytes, failed, time_ns;
};

static uint64_t *place_of(struct told *told, uint32_t block)
{
	/* They are given out from 0. */
	NEED(block <= told->live.len);
	if (block == told->live.len)
		NEED(size_vec_push(&told->live, 0));
	return &told->live.data[block];
}

static struct error *take(void *context, const struct event *event)
{
	struct told *told = context;
	NEED(event->time_ns >= told->time_ns);
	told->time_ns = event->time_ns;
	if (event->kind == EVENT_FAILED) {
		told->failed++;
		return NULL;
	}
	uint64_t *size = place_of(told, event->block);
	if (event->kind == EVENT_FREE) {
		NEED(*size == event->size + 1);
		*size = 0;
		told->live_blocks--;
		told->live_bytes -= event->size;
		return NULL;
	}
	NEED(event->kind == EVENT_ALLOC && !*size);
	*size = event->size + 1;
	told->allocations++;
	told->allocated_bytes += event->size;
	told->live_blocks++;
	told->live_bytes += event->size;
	return NULL;
}

static void check_told(
	const struct asked *asked, const struct input *input, const struct model *whole)
{
	static const struct source_query ends[] = {
		{.to = {.kind = SOURCE_END}},
		{.to = {.kind = SOURCE_PEAK}},
		{.to = {.kind = SOURCE_TIME, .time_ns = 2000000}},
	};
	const struct totals *totals = model_totals(whole);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct told told = {.time_ns = 0};
		const struct event_sink sink = {.context = &told, .take = take};
		size_vec_init(&told.live);
		struct error *error = asked->tell(input, &ends[i], &sink);
		NEED(!error || error->code == ERROR_INPUT);
		if (!error && asked->exact && i == 0)
			NEED(told.allocations == totals->allocations &&
				told.allocated_bytes == totals->allocated_bytes &&
				told.live_blocks == totals->live_blocks &&
				told.live_bytes == totals->live_bytes &&
				told.failed == totals->failed);
		if (!error && asked->exact && i == 1)
			NEED(told.live_bytes == totals->peak_bytes);
		error_destroy(error);
		size_vec_deinit(&told.live);
	}
}

void check_queries(const struct asked *asked, const struct input *input, const struct model *whole)
{
	check_moments(asked, input, whole);
	if (asked->tell)
		check_told(asked, input, whole);
}
