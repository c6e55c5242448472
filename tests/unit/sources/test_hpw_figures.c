/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A whole recording gives the story's figures, from the footer and by replay, packed or not. */
#include "base/cleanup.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

static void check_site(const struct site *site, const struct story_site_truth *truth, bool known)
{
	CHECK_U64(site->allocations, truth->allocations);
	CHECK_U64(site->allocated_bytes, truth->allocated_bytes);
	CHECK_U64(site->live_blocks, truth->live_blocks);
	CHECK_U64(site->live_bytes, truth->live_bytes);
	CHECK_U64(site->peak_blocks, truth->peak_blocks);
	CHECK_U64(site->peak_bytes, truth->peak_bytes);
	CHECK_U64(site->temporary, truth->temporary);
	CHECK_U64(site->same_frame, truth->same_frame);
	CHECK_U64(site->failed, truth->failed);
	CHECK_U64(site->min_size, truth->min_size);
	CHECK_U64(site->max_size, truth->max_size);
	CHECK_U64(site->max_failed_size, known ? truth->max_failed_size : 0);
}

/* No stamp at all is time 0. */
static uint64_t stamp_ns(uint64_t stamp)
{
	return stamp ? stamp - BUILDER_TSC_START : 0;
}

static void check_totals(
	const struct model *model, const struct story *story, const struct story_truth *truth)
{
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, truth->allocations);
	CHECK_U64(totals->allocated_bytes, truth->allocated_bytes);
	CHECK_U64(totals->frees, truth->frees);
	CHECK_U64(totals->failed, truth->failed);
	CHECK_U64(totals->live_blocks, truth->live_blocks);
	CHECK_U64(totals->live_bytes, truth->live_bytes);
	CHECK_U64(totals->temporary, truth->temporary);
	CHECK_U64(totals->peak_bytes, truth->peak_bytes);
	CHECK_U64(totals->peak_blocks, truth->peak_blocks);
	CHECK_U64(totals->peak_time_ns, stamp_ns(truth->peak_stamp));
	CHECK_U64(totals->threads, story->threads_len);
	const struct recording *recording = model_recording(model);
	CHECK_U64(recording->events, truth->events);
	CHECK_U64(recording->lost_events, truth->lost);
	CHECK_U64(recording->unknown_frees, truth->unknown_frees);
	CHECK_U64(recording->mismatched_frees, truth->mismatched);
}

static void check_threads(
	const struct model *model, const struct story *story, const struct story_truth *truth)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	CHECK_U64(count, story->threads_len);
	for (size_t i = 0; i < count; i++) {
		const struct story_thread_truth *t = &truth->threads[i];
		CHECK_U64(threads[i].tid, story->threads[i].tid);
		CHECK_STR(threads[i].name, story->threads[i].name);
		CHECK_U64(threads[i].allocations, t->allocations);
		CHECK_U64(threads[i].allocated_bytes, t->allocated_bytes);
		CHECK_U64(threads[i].frees, t->frees);
		CHECK_U64(threads[i].temporary, t->temporary);
		CHECK_U64(threads[i].first_ns, stamp_ns(t->first_stamp));
		CHECK_U64(threads[i].last_ns, stamp_ns(t->last_stamp));
		CHECK_U64(threads[i].ended, t->ended);
	}
}

static void check_figures(
	const struct model *model, const struct story *story, const struct story_truth *truth)
{
	check_totals(model, story, truth);
	check_threads(model, story, truth);
	/* A recording of an earlier version lacks what later ones added, unless events say it. */
	bool known = story->with_counters || model_recording(model)->read_way == READ_REPLAY;
	CHECK_U64(model_recording(model)->unknown, known ? 0 : UNKNOWN_FAILED_SIZE);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, story->sites_len);
	for (size_t i = 0; i < count; i++) {
		CHECK_U64(sites[i].stack.value, story->sites[i].stack);
		check_site(&sites[i], &truth->sites[i], known);
	}
	uint64_t blocks = 0, bytes = 0;
	const struct size_count *sizes = model_sizes(model, &count);
	for (size_t i = 0; i < count; i++) {
		CHECK(i == 0 || sizes[i].size > sizes[i - 1].size);
		CHECK(sizes[i].allocations > 0);
		blocks += sizes[i].allocations;
		bytes += sizes[i].allocations * sizes[i].size;
	}
	CHECK_U64(blocks, truth->allocations);
	CHECK_U64(bytes, truth->allocated_bytes);
}

/* What stands in the tables: the same on every road. */
static void check_tables(const struct model *model)
{
	const struct target *target = model_target(model);
	CHECK_U64(target->command_len, 3);
	CHECK_STR(target->command[0], "./story");
	CHECK_STR(target->command[2], "me more");
	CHECK(!target->command[3]);
	CHECK_STR(target->exe, "/usr/bin/story");
	CHECK_STR(target->cwd, "/tmp");
	CHECK_STR(target->host, "host");
	CHECK_U64(target->pid, 4711);
	CHECK_U64(target->ppid, 42);
	CHECK_U64(target->wall_start_ns, 1700000000000000000ull);
	CHECK_STR(model_recording(model)->writer, "builder 1");
	CHECK_STR(model_recording(model)->path, "story");
	CHECK_U64(model_module_limit(model), 3);
	const struct module *module = model_module(model, (struct module_id){1});
	CHECK_STR(module->path, "/usr/bin/story");
	CHECK_U64(module->build_id_len, 4);
	CHECK_MEM(module->build_id, "\xde\xad\xbe\xef", 4);
	CHECK_U64(module->end, 0x480000);
	CHECK_U64(model_module(model, (struct module_id){2})->bias, 0x7f0000000000);
	CHECK_U64(model_stack_limit(model), 7);
	struct stack_node node = model_stack(model, (struct stack_id){5});
	CHECK_U64(node.parent.value, 1);
	CHECK_U64(node.module.value, 1);
	CHECK_U64(node.address, 0x401300);
	CHECK_U64(stack_node_mark(model_stack(model, (struct stack_id){3})), MARK_SIGNAL);
	CHECK_U64(model_stack(model, (struct stack_id){6}).parent.value, 0);
	CHECK_U64(model_stack(model, (struct stack_id){6}).address, 0x7f0000012345);
}

static void check_road(const struct builder *builder, const struct story *story,
	const struct story_truth *truth, unsigned flags)
{
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("story", builder->file.data, builder->file.len, flags, &model));
	size_t damage;
	model_damage(model, &damage);
	CHECK_U64(damage, 0);
	CHECK(model_recording(model)->complete);
	CHECK_U64(model_recording(model)->read_way,
		flags & SOURCE_REPLAY ? READ_REPLAY : READ_FOOTER);
	CHECK_U64(model_target(model)->exit_value, story->exit_value);
	check_tables(model);
	check_figures(model, story, truth);
	const struct live_block *live = model_live(model, &damage);
	CHECK((live != NULL) == !!(flags & SOURCE_WITH_LIVE));
	if (live)
		CHECK_U64(damage, truth->live_blocks);
}

static void check_story(const struct story *story, bool packed)
{
	struct builder builder;
	builder_init(&builder);
	builder.packed = packed;
	struct story_truth truth;
	builder_story(&builder, story, &truth);
	check_road(&builder, story, &truth, 0);
	check_road(&builder, story, &truth, SOURCE_WITH_LIVE);
	check_road(&builder, story, &truth, SOURCE_REPLAY);
	check_road(&builder, story, &truth, SOURCE_REPLAY | SOURCE_WITH_LIVE);
	builder_deinit(&builder);
}

CASE(small, "a small recording, every figure")
{
	check_story(&story_small, false);
}

CASE(full, "every kind of step, several threads and chunks")
{
	check_story(&story_full, false);
}

CASE(counters, "the counters of sites that later versions added")
{
	struct story story = story_full;
	story.with_counters = true;
	check_story(&story, false);
}

CASE(packed, "payloads packed by zstd")
{
	check_story(&story_full, true);
}

CASE(by_hand, "the small story's figures, counted by hand")
{
	struct builder builder;
	builder_init(&builder);
	struct story_truth truth;
	builder_story(&builder, &story_small, &truth);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes(
		"story", builder.file.data, builder.file.len, SOURCE_REPLAY, &model));
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, 2);
	CHECK_U64(totals->allocated_bytes, 123);
	CHECK_U64(totals->frees, 1);
	CHECK_U64(totals->live_blocks, 1);
	CHECK_U64(totals->live_bytes, 100);
	CHECK_U64(totals->peak_blocks, 2);
	CHECK_U64(totals->peak_bytes, 123);
	CHECK_U64(totals->temporary, 1);
	CHECK_U64(model_recording(model)->events, 3);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(sites[3].kind, KIND_CALLOC);
	CHECK_U64(sites[3].same_frame, 1);
	CHECK_U64(sites[3].peak_bytes, 23);
	CHECK_U64(sites[0].live_bytes, 100);
	builder_deinit(&builder);
}

CASE(random, "random stories: footer and replay agree with the storyteller")
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct story story = story_random(seed, seed * 97);
		check_story(&story, seed % 4 == 0);
		story_random_free(&story);
	}
}

CASE(no_steps, "a program that never allocated")
{
	struct story story = story_small;
	story.steps_len = 0;
	story.threads_len = 0;
	check_story(&story, false);
}

CASE(without_footer, "a recording without its end: the same figures by replay, and what is missing")
{
	struct builder builder;
	builder_init(&builder);
	struct story_truth truth;
	builder_header(&builder);
	builder_tables(&builder, &story_full);
	builder_events(&builder, &story_full, &truth);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("story", builder.file.data, builder.file.len, 0, &model));
	CHECK(!model_recording(model)->complete);
	CHECK_U64(model_recording(model)->read_way, READ_REPLAY);
	CHECK_U64(model_target(model)->exit_kind, EXIT_KIND_UNKNOWN);
	check_tables(model);
	check_totals(model, &story_full, &truth);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++)
		check_site(&sites[i], &truth.sites[i], true);
	const char *const *damage = model_damage(model, &count);
	CHECK_U64(count, 1);
	CHECK_CONTAINS(damage[0], "the program's exit status is unknown");
	builder_deinit(&builder);
}

static const struct story_step lives_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 16},
	{.op = STORY_REALLOC, .thread = 0, .old = 0, .block = 1, .site = 1, .size = 32},
	{.op = STORY_REALLOC, .thread = 0, .old = 1, .block = 2, .site = 1, .size = 48},
	{.op = STORY_REALLOC, .thread = 0, .old = 2, .block = 3, .site = 1, .size = 64},
	{.op = STORY_REALLOC, .thread = 0, .old = 3, .block = 4, .site = 1, .size = 8},
	{.op = STORY_ALLOC, .thread = 0, .block = 5, .site = 0, .size = 100},
	{.op = STORY_ALLOC, .thread = 0, .block = 6, .site = 0, .size = 1000},
	{.op = STORY_FREE, .thread = 0, .block = 4, .free_kind = -1},
};

CASE(lives, "lives and chains of reallocs, counted by hand; only where they are asked for")
{
	struct story story = story_small;
	story.steps = lives_steps;
	story.steps_len = sizeof(lives_steps) / sizeof(*lives_steps);
	struct builder builder;
	builder_init(&builder);
	struct story_truth truth;
	builder_story(&builder, &story, &truth);
	_cleanup_model_ struct model *model = NULL, *without = NULL;
	CHECK_OK(source_open_bytes("story", builder.file.data, builder.file.len, 0, &without));
	CHECK(!model_lifetimes(without)->known);
	CHECK_OK(source_open_bytes(
		"story", builder.file.data, builder.file.len, SOURCE_WITH_LIVES, &model));
	const struct lifetimes *lifetimes = model_lifetimes(model);
	CHECK(lifetimes->known);
	/* All of it is one group of steps. */
	CHECK_U64(lifetimes->by_time[0].freed_blocks, 5);
	/* What stays ages until the recording ends. */
	uint64_t whole = model_recording(model)->duration_ns;
	CHECK_U64(lifetimes->by_time[life_bucket_of(whole)].live_bytes, 1100);
	/* Two came between the last realloc and the free; one after the first that stays. */
	CHECK_U64(lifetimes->by_others[0].freed_blocks, 4);
	CHECK_U64(lifetimes->by_others[life_bucket_of(2)].freed_bytes, 8);
	CHECK_U64(lifetimes->by_others[0].live_bytes, 1000);
	CHECK_U64(lifetimes->by_others[life_bucket_of(1)].live_bytes, 100);
	size_t count;
	const struct realloc_site *row = model_reallocs(model, &count);
	CHECK_U64(count, 1);
	CHECK_U64(row->site, 1);
	CHECK_U64(row->calls, 4);
	CHECK_U64(row->grown, 3);
	CHECK_U64(row->shrunk, 1);
	CHECK_U64(row->grown_bytes, 48);
	CHECK_U64(row->copied_bytes, 16 + 32 + 48 + 8);
	CHECK_U64(row->chains, 1);
	CHECK_U64(row->longest, 4);
	CHECK_U64(row->longest_from, 16);
	CHECK_U64(row->longest_to, 8);
	CHECK_U64(row->step_bytes, 16);
	CHECK_U64(row->step_count, 3);
	CHECK(row->log2_factors > 1.999 && row->log2_factors < 2.001);
	builder_deinit(&builder);
}

TAP_MAIN
