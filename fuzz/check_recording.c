/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check_recording.h"

#include "sources/source.h"

#define SAME(a, b, field) NEED((a)->field == (b)->field)

static struct model *read_back(
	const void *bytes, size_t size, unsigned flags, const struct source_query *part)
{
	struct model *model = NULL;
	struct error *error = source_open_bytes_query("rings", bytes, size, flags, part, &model);
	if (error)
		fprintf(stderr, "%s\n", error->message);
	NEED(!error);
	size_t damage;
	const char *const *sentences = model_damage(model, &damage);
	if (damage)
		fprintf(stderr, "%s\n", sentences[0]);
	NEED(!damage && model_recording(model)->complete);
	return model;
}

static void check_totals(const struct model *footer, const struct model *replay)
{
	const struct totals *f = model_totals(footer), *r = model_totals(replay);
	SAME(f, r, allocations);
	SAME(f, r, allocated_bytes);
	SAME(f, r, frees);
	SAME(f, r, failed);
	SAME(f, r, live_blocks);
	SAME(f, r, live_bytes);
	SAME(f, r, temporary);
	SAME(f, r, peak_bytes);
	SAME(f, r, peak_blocks);
	SAME(f, r, threads);
	const struct recording *fr = model_recording(footer), *rr = model_recording(replay);
	SAME(fr, rr, unknown_frees);
	SAME(fr, rr, mismatched_frees);
	/* The halves of a realloc are one event, and which belong together the steps alone do not
	 * tell when a free had to be added between them, or when a program makes up halves. */
	NEED(fr->events <= rr->events + f->frees && rr->events <= fr->events + f->frees);
}

static void check_sites(const struct model *footer, const struct model *replay)
{
	size_t count, count_replay;
	const struct site *f = model_sites(footer, &count), *r = model_sites(replay, &count_replay);
	NEED(count == count_replay);
	for (size_t i = 0; i < count; i++) {
		SAME(&f[i], &r[i], allocations);
		SAME(&f[i], &r[i], allocated_bytes);
		SAME(&f[i], &r[i], live_blocks);
		SAME(&f[i], &r[i], live_bytes);
		SAME(&f[i], &r[i], peak_blocks);
		SAME(&f[i], &r[i], peak_bytes);
		SAME(&f[i], &r[i], temporary);
		SAME(&f[i], &r[i], same_frame);
		SAME(&f[i], &r[i], failed);
		SAME(&f[i], &r[i], min_size);
		SAME(&f[i], &r[i], max_size);
	}
}

static void check_threads(const struct model *footer, const struct model *replay)
{
	size_t count, count_replay;
	const struct thread *f = model_threads(footer, &count),
			    *r = model_threads(replay, &count_replay);
	NEED(count == count_replay);
	for (size_t i = 0; i < count; i++) {
		SAME(&f[i], &r[i], allocations);
		SAME(&f[i], &r[i], allocated_bytes);
		SAME(&f[i], &r[i], frees);
		SAME(&f[i], &r[i], temporary);
		SAME(&f[i], &r[i], ended);
	}
}

static void check_sizes(const struct model *footer, const struct model *replay)
{
	size_t count, count_replay;
	const struct size_count *f = model_sizes(footer, &count),
				*r = model_sizes(replay, &count_replay);
	NEED(count == count_replay);
	for (size_t i = 0; i < count; i++) {
		SAME(&f[i], &r[i], size);
		SAME(&f[i], &r[i], allocations);
	}
}

static void check_live(const struct model *footer)
{
	size_t count;
	uint64_t bytes = 0;
	const struct live_block *live = model_live(footer, &count);
	for (size_t i = 0; i < count; i++)
		bytes += live[i].size;
	NEED(count == model_totals(footer)->live_blocks);
	NEED(bytes == model_totals(footer)->live_bytes);
}

/* From the peak on: by sums as by replay. */
static void check_part(const void *bytes, size_t size)
{
	static const struct source_query part = {
		.from = {.kind = SOURCE_PEAK}, .to = {.kind = SOURCE_END}};
	struct model *sums = read_back(bytes, size, 0, &part);
	struct model *replay = read_back(bytes, size, SOURCE_REPLAY, &part);
	check_totals(sums, replay);
	check_sites(sums, replay);
	check_threads(sums, replay);
	check_sizes(sums, replay);
	SAME(model_totals(sums), model_totals(replay), kept_bytes);
	model_destroy(sums);
	model_destroy(replay);
}

void check_recording(const void *bytes, size_t size)
{
	struct model *footer = read_back(bytes, size, SOURCE_WITH_LIVE, NULL);
	struct model *replay = read_back(bytes, size, SOURCE_REPLAY, NULL);
	NEED(model_recording(footer)->read_way == READ_FOOTER);
	check_totals(footer, replay);
	check_sites(footer, replay);
	check_threads(footer, replay);
	check_sizes(footer, replay);
	check_live(footer);
	model_destroy(footer);
	model_destroy(replay);
	check_part(bytes, size);
}
