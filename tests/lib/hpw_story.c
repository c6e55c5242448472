/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands around the events: tables before them, figures after them. */
#include "lib/hpw_story.h"

#include <stdlib.h>
#include <string.h>

static void put_text(struct buf *buf, enum hpw_target_key key, const char *text)
{
	buf_varint(buf, key);
	buf_varint(buf, strlen(text));
	buf_bytes(buf, text, strlen(text));
}

static void put_number(struct buf *buf, enum hpw_target_key key, uint64_t value)
{
	buf_varint(buf, key);
	buf_varint(buf, 8);
	buf_u64(buf, value);
}

static void put_target(struct builder *builder, const struct story *story)
{
	struct buf target;
	buf_init(&target);
	put_number(&target, HPW_TARGET_PID, 4711);
	put_number(&target, HPW_TARGET_PPID, 42);
	for (size_t i = 0; story->arguments && story->arguments[i]; i++)
		put_text(&target, HPW_TARGET_ARG, story->arguments[i]);
	put_text(&target, HPW_TARGET_EXE, "/usr/bin/story");
	put_text(&target, HPW_TARGET_CWD, "/tmp");
	put_text(&target, HPW_TARGET_HOST, "host");
	put_number(&target, HPW_TARGET_WALL_START_NS, 1700000000000000000ull);
	put_number(&target, HPW_TARGET_TSC_START, BUILDER_TSC_START);
	put_number(&target, HPW_TARGET_TSC_HZ, 1000000000);
	if (story->forked_at) {
		put_number(&target, HPW_TARGET_FORKED, 1);
		put_number(&target, HPW_TARGET_FORKED_AT, story->forked_at);
		put_text(&target, HPW_TARGET_PARENT_FILE, story->parent_file);
	}
	put_text(&target, HPW_TARGET_MODE, story->sample_bytes ? "sample" : "exact");
	if (story->sample_bytes)
		put_number(&target, HPW_TARGET_SAMPLE_BYTES, story->sample_bytes);
	put_text(&target, HPW_TARGET_WRITER, "builder 1");
	put_text(&target, 99, "a key that no version knows");
	builder_chunk(builder, HPW_TARGET, &target);
	buf_deinit(&target);
}

static void put_modules(struct builder *builder, const struct story *story)
{
	struct buf modules;
	buf_init(&modules);
	for (size_t i = 0; i < story->modules_len; i++) {
		const struct story_module *m = &story->modules[i];
		buf_varint(&modules, m->id);
		buf_varint(&modules, m->start);
		buf_varint(&modules, m->end);
		buf_varint(&modules, m->bias);
		buf_varint(&modules, strlen(m->build_id));
		buf_bytes(&modules, m->build_id, strlen(m->build_id));
		buf_varint(&modules, strlen(m->path));
		buf_bytes(&modules, m->path, strlen(m->path));
	}
	builder_chunk(builder, HPW_MODULES, &modules);
	buf_deinit(&modules);
}

static void put_code_row(struct columns *columns, const struct story_code *row)
{
	struct buf *column = columns->column;
	buf_varint(&column[HPW_CODE_KIND], row->kind);
	buf_varint(&column[HPW_CODE_FIRST_LINE], row->first_line);
	buf_varint(&column[HPW_CODE_LINES], row->lines_len);
	for (size_t i = 0; i < HPW_CODE_TEXTS; i++) {
		const char *text = row->texts[i] ? row->texts[i] : "";
		buf_varint(&column[HPW_CODE_LANGUAGE + i], strlen(text));
		buf_bytes(&column[HPW_CODE_LANGUAGE + HPW_CODE_TEXTS + i], text, strlen(text));
	}
	uint32_t instruction = 0, line = row->first_line;
	for (size_t i = 0; i < row->lines_len; i++) {
		buf_varint(&column[HPW_CODE_INSTRUCTION], row->lines[i][0] - instruction);
		buf_varint(&column[HPW_CODE_LINE],
			zigzag_encode((int64_t)row->lines[i][1] - (int64_t)line));
		instruction = row->lines[i][0];
		line = row->lines[i][1];
	}
}

static void put_code(struct builder *builder, const struct story *story)
{
	struct columns columns;
	if (!story->code_len)
		return;
	columns_init(&columns, HPW_CODE_COLUMNS);
	buf_varint(&columns.column[HPW_CODE_FIRST], 1);
	for (size_t i = 0; i < story->code_len; i++)
		put_code_row(&columns, &story->code[i]);
	builder_columns(builder, HPW_CODE, &columns);
}

static void put_stacks(struct builder *builder, const struct story *story)
{
	struct columns columns;
	columns_init(&columns, story->code_len ? 5 : 4);
	buf_varint(&columns.column[0], story->first_stack);
	uint64_t before = 0;
	for (size_t i = 0; i < story->stacks_len; i++) {
		const struct story_stack *s = &story->stacks[i];
		buf_varint(&columns.column[1], s->up);
		buf_varint(&columns.column[2], s->module);
		buf_varint(&columns.column[3],
			s->code ? s->address : zigzag_encode((int64_t)(s->address - before)));
		if (story->code_len)
			buf_varint(&columns.column[4], s->code);
		if (!s->code)
			before = s->address;
	}
	builder_columns(builder, HPW_STACKS, &columns);
}

static void put_sites(struct builder *builder, const struct story *story)
{
	struct columns columns;
	columns_init(&columns, 3);
	buf_varint(&columns.column[0], 0);
	for (size_t i = 0; i < story->sites_len; i++) {
		buf_varint(&columns.column[1], story->sites[i].stack);
		buf_u8(&columns.column[2], (uint8_t)story->sites[i].kind);
	}
	builder_columns(builder, HPW_SITES, &columns);
}

void builder_tables(struct builder *builder, const struct story *story)
{
	put_target(builder, story);
	put_modules(builder, story);
	put_code(builder, story);
	put_stacks(builder, story);
	put_sites(builder, story);
}

static void put_threads(
	struct builder *builder, const struct story *story, const struct story_truth *truth)
{
	struct columns columns;
	columns_init(&columns, 10);
	struct buf *column = columns.column;
	for (size_t i = 0; i < story->threads_len; i++) {
		const struct story_thread_truth *t = &truth->threads[i];
		buf_varint(&column[0], story->threads[i].tid);
		buf_varint(&column[1], t->first_stamp);
		buf_varint(&column[2], t->last_stamp);
		buf_varint(&column[3], t->allocations);
		buf_varint(&column[4], t->allocated_bytes);
		buf_varint(&column[5], t->frees);
		buf_varint(&column[6], t->temporary);
		buf_varint(&column[7], strlen(story->threads[i].name));
		buf_bytes(&column[8], story->threads[i].name, strlen(story->threads[i].name));
		buf_varint(&column[9], t->ended);
	}
	builder_columns(builder, HPW_THREADS, &columns);
}

static void put_site_stats(
	struct builder *builder, const struct story *story, const struct story_truth *truth)
{
	struct columns columns;
	uint32_t later = story->with_counters ? 0 : 1u << 12;
	columns_init(&columns, 13);
	columns.absent = 1u << 11 | later;
	for (size_t i = 0; i < story->sites_len; i++) {
		if (i && story->site_stats_rows && i % story->site_stats_rows == 0) {
			builder_columns(builder, HPW_SITE_STATS, &columns);
			columns_init(&columns, 13);
			columns.absent = later;
			buf_varint(&columns.column[11], i);
		}
		const struct story_site_truth *s = &truth->sites[i];
		const uint64_t row[11] = {s->allocations, s->allocated_bytes, s->live_blocks,
			s->live_bytes, s->peak_blocks, s->peak_bytes, s->temporary, s->same_frame,
			s->failed, s->min_size, s->max_size};
		for (size_t c = 0; c < 11; c++)
			buf_varint(&columns.column[c], row[c]);
		buf_varint(&columns.column[12], s->max_failed_size);
	}
	builder_columns(builder, HPW_SITE_STATS, &columns);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void put_sizes(struct builder *builder, const struct story *story)
{
	struct columns columns;
	columns_init(&columns, 2);
	uint64_t *sizes = calloc(story->steps_len + 1, sizeof(*sizes)), before = 0;
	builder_must(sizes);
	size_t len = 0;
	for (size_t i = 0; i < story->steps_len; i++)
		if (story->steps[i].op == STORY_ALLOC || story->steps[i].op == STORY_REALLOC)
			sizes[len++] = story->steps[i].size;
	qsort(sizes, len, sizeof(*sizes), compare_u64);
	for (size_t i = 0, same; i < len; i += same) {
		for (same = 1; i + same < len && sizes[i + same] == sizes[i];)
			same++;
		buf_varint(&columns.column[0], sizes[i] - before);
		buf_varint(&columns.column[1], same);
		before = sizes[i];
	}
	free(sizes);
	builder_columns(builder, HPW_SIZES, &columns);
}

static void put_summary(
	struct builder *builder, const struct story *story, const struct story_truth *truth)
{
	uint64_t duration = 1 + story->steps_len * BUILDER_TSC_STEP;
	const uint64_t pairs[][2] = {
		{HPW_SUM_EVENTS, truth->events},
		{HPW_SUM_STEPS, truth->steps},
		{HPW_SUM_LOST, truth->lost},
		{HPW_SUM_REPAIRS, 0},
		{HPW_SUM_UNKNOWN_FREES, truth->unknown_frees},
		{HPW_SUM_ALLOCATIONS, truth->allocations},
		{HPW_SUM_ALLOCATED_BYTES, truth->allocated_bytes},
		{HPW_SUM_FREES, truth->frees},
		{HPW_SUM_FAILED, truth->failed},
		{HPW_SUM_LIVE_BLOCKS, truth->live_blocks},
		{HPW_SUM_LIVE_BYTES, truth->live_bytes},
		{HPW_SUM_TEMPORARY, truth->temporary},
		{HPW_SUM_PEAK_BLOCKS, truth->peak_blocks},
		{HPW_SUM_PEAK_BYTES, truth->peak_bytes},
		{HPW_SUM_PEAK_TSC, truth->peak_stamp},
		{HPW_SUM_THREADS, story->threads_len},
		{HPW_SUM_TSC_END, BUILDER_TSC_START + duration},
		{HPW_SUM_NS_DURATION, duration},
		{HPW_SUM_EXIT_KIND, story->exit_kind},
		{HPW_SUM_EXIT_VALUE, story->exit_value},
		{HPW_SUM_MISMATCHED, truth->mismatched},
	};
	struct buf summary;
	buf_init(&summary);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		buf_varint(&summary, pairs[i][0]);
		buf_varint(&summary, pairs[i][1]);
	}
	if (story->unrecorded_len) {
		buf_varint(&summary, HPW_SUM_CHILDREN);
		buf_varint(&summary, story->unrecorded_len);
	}
	builder_chunk(builder, HPW_SUMMARY, &summary);
	buf_deinit(&summary);
}

static void put_code_names(struct builder *builder, const struct story *story)
{
	if (!story->code_names_len)
		return;
	struct columns columns;
	uint64_t before = 0;
	columns_init(&columns, 3);
	for (size_t i = 0; i < story->code_names_len; i++) {
		const struct story_code_name *row = &story->code_names[i];
		buf_varint(&columns.column[0], row->address - before);
		buf_varint(&columns.column[1], strlen(row->name));
		buf_bytes(&columns.column[2], row->name, strlen(row->name));
		before = row->address;
	}
	builder_columns(builder, HPW_CODE_NAMES, &columns);
}

static void put_unrecorded(struct builder *builder, const struct story *story)
{
	if (!story->unrecorded_len)
		return;
	struct columns columns;
	columns_init(&columns, 5);
	for (size_t i = 0; i < story->unrecorded_len; i++) {
		const struct story_unrecorded *row = &story->unrecorded[i];
		buf_varint(&columns.column[0], row->stamp);
		buf_varint(&columns.column[1], row->pid);
		buf_varint(&columns.column[2], row->reason);
		buf_varint(&columns.column[3], strlen(row->path));
		buf_bytes(&columns.column[4], row->path, strlen(row->path));
	}
	builder_columns(builder, HPW_UNRECORDED, &columns);
}

static void put_part(struct buf *rows, const struct buf *part)
{
	buf_varint(rows, part->len);
	buf_bytes(rows, part->data, part->len);
}

void builder_small_row(struct buf *rows, const struct story_small_row *row)
{
	struct buf target, summary;
	buf_init(&target);
	buf_init(&summary);
	put_number(&target, HPW_TARGET_PID, row->pid);
	put_number(&target, HPW_TARGET_PPID, row->ppid);
	for (const char *const *argument = row->arguments; *argument; argument++)
		put_text(&target, HPW_TARGET_ARG, *argument);
	const uint64_t pairs[][2] = {{HPW_SUM_ALLOCATIONS, row->allocations},
		{HPW_SUM_ALLOCATED_BYTES, row->allocated_bytes},
		{HPW_SUM_EXIT_KIND, HPW_EXIT_STATUS}};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		buf_varint(&summary, pairs[i][0]);
		buf_varint(&summary, pairs[i][1]);
	}
	put_part(rows, &target);
	put_part(rows, &summary);
	buf_deinit(&target);
	buf_deinit(&summary);
}

static void put_small(struct builder *builder, const struct story *story)
{
	if (!story->small_len)
		return;
	struct buf rows;
	buf_init(&rows);
	for (size_t i = 0; i < story->small_len; i++)
		builder_small_row(&rows, &story->small[i]);
	builder_chunk(builder, HPW_SMALL, &rows);
	buf_deinit(&rows);
}

void builder_footer(
	struct builder *builder, const struct story *story, const struct story_truth *truth)
{
	put_unrecorded(builder, story);
	put_threads(builder, story, truth);
	put_site_stats(builder, story, truth);
	put_sizes(builder, story);
	put_summary(builder, story, truth);
	put_code_names(builder, story);
	builder_live(builder, story);
	put_small(builder, story);
	if (story->leaks)
		builder_leaks(builder, story->leaks);
}

void builder_story(struct builder *builder, const struct story *story, struct story_truth *ret)
{
	builder->features = (story->sample_bytes ? HPW_FEATURE_SAMPLED : 0) |
			    (story->code_len ? HPW_FEATURE_CODE : 0);
	builder_header(builder);
	builder_tables(builder, story);
	builder_events(builder, story, ret);
	builder_footer(builder, story, ret);
	builder_index(builder);
}
