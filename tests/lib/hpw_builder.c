/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/hpw_builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/compress.h"

/* Tests do not go on without memory. */
static void must(bool condition)
{
	if (!condition)
		abort();
}

void builder_init(struct builder *builder)
{
	memset(builder, 0, sizeof(*builder));
	buf_init(&builder->file);
}

void builder_deinit(struct builder *builder)
{
	buf_deinit(&builder->file);
}

void builder_header(struct builder *builder)
{
	struct buf *file = &builder->file;
	size_t start = file->len;
	buf_bytes(file, HPW_MAGIC, 8);
	buf_u16(file, HPW_VERSION_MAJOR);
	buf_u16(file, HPW_VERSION_MINOR);
	buf_u32(file, 0);
	buf_u64(file, 0);
	buf_u64(file, checksum64(file->data + start, 24));
}

void builder_chunk_raw(struct builder *builder, uint16_t type, uint16_t flags,
	uint32_t stored_bytes, uint32_t raw_bytes, const void *payload, size_t len)
{
	struct buf *file = &builder->file;
	size_t start = file->len;
	if (type != HPW_INDEX) {
		must(builder->chunks < BUILDER_CHUNKS_MAX);
		builder->offsets[builder->chunks] = start;
		builder->types[builder->chunks++] = type;
	}
	buf_u32(file, HPW_CHUNK_MAGIC);
	buf_u16(file, type);
	buf_u16(file, flags);
	buf_u32(file, stored_bytes);
	buf_u32(file, raw_bytes);
	buf_u64(file, checksum64(payload, len));
	buf_u64(file, checksum64(file->data + start, 24));
	buf_bytes(file, payload, len);
	must(!file->failed);
}

static void put_chunk(struct builder *builder, enum hpw_chunk_type type, const struct buf *payload)
{
	if (!builder->packed) {
		builder_chunk_raw(builder, type, 0, (uint32_t)payload->len, (uint32_t)payload->len,
			payload->data, payload->len);
		return;
	}
	struct buf packed;
	buf_init(&packed);
	must(!zstd_compress(3, payload->data, payload->len, &packed));
	builder_chunk_raw(builder, type, HPW_CHUNK_ZSTD, (uint32_t)packed.len,
		(uint32_t)payload->len, packed.data, packed.len);
	buf_deinit(&packed);
}

void builder_chunk(struct builder *builder, enum hpw_chunk_type type, const struct buf *payload)
{
	put_chunk(builder, type, payload);
}

void builder_trailer(struct builder *builder, uint64_t index_offset)
{
	struct buf *file = &builder->file;
	size_t start = file->len;
	buf_u64(file, index_offset);
	buf_u64(file, checksum64(file->data + start, 8));
	buf_bytes(file, HPW_TRAILER_MAGIC, 8);
	must(!file->failed);
}

void builder_index_raw(struct builder *builder, const struct buf *payload)
{
	uint64_t offset = builder->file.len;
	put_chunk(builder, HPW_INDEX, payload);
	builder_trailer(builder, offset);
}

void builder_index(struct builder *builder)
{
	struct columns columns;
	columns_init(&columns, 2);
	uint64_t before = 0;
	for (size_t i = 0; i < builder->chunks; i++) {
		buf_varint(&columns.column[0], builder->offsets[i] - before);
		buf_varint(&columns.column[1], builder->types[i]);
		before = builder->offsets[i];
	}
	struct buf payload;
	buf_init(&payload);
	columns_finish(&columns, &payload);
	builder_index_raw(builder, &payload);
	buf_deinit(&payload);
}

void columns_init(struct columns *columns, size_t count)
{
	must(count <= BUILDER_COLUMNS_MAX);
	columns->count = count;
	for (size_t i = 0; i < count; i++)
		buf_init(&columns->column[i]);
}

void columns_finish(struct columns *columns, struct buf *ret)
{
	buf_varint(ret, columns->count);
	for (size_t i = 0; i < columns->count; i++) {
		buf_varint(ret, i);
		buf_varint(ret, columns->column[i].len);
	}
	for (size_t i = 0; i < columns->count; i++) {
		must(!columns->column[i].failed);
		buf_bytes(ret, columns->column[i].data, columns->column[i].len);
		buf_deinit(&columns->column[i]);
	}
}

/* A column set as one chunk. */
static void put_columns(struct builder *builder, enum hpw_chunk_type type, struct columns *columns)
{
	struct buf payload;
	buf_init(&payload);
	columns_finish(columns, &payload);
	put_chunk(builder, type, &payload);
	buf_deinit(&payload);
}

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
	put_text(&target, HPW_TARGET_MODE, "exact");
	put_text(&target, HPW_TARGET_WRITER, "builder 1");
	put_text(&target, 99, "a key that no version knows");
	put_chunk(builder, HPW_TARGET, &target);
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
	put_chunk(builder, HPW_MODULES, &modules);
	buf_deinit(&modules);
}

static void put_stacks(struct builder *builder, const struct story *story)
{
	struct columns columns;
	columns_init(&columns, 4);
	buf_varint(&columns.column[0], story->first_stack);
	uint64_t before = 0;
	for (size_t i = 0; i < story->stacks_len; i++) {
		const struct story_stack *s = &story->stacks[i];
		buf_varint(&columns.column[1], s->up);
		buf_varint(&columns.column[2], s->module);
		buf_varint(&columns.column[3], zigzag_encode((int64_t)(s->address - before)));
		before = s->address;
	}
	put_columns(builder, HPW_STACKS, &columns);
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
	put_columns(builder, HPW_SITES, &columns);
}

void builder_tables(struct builder *builder, const struct story *story)
{
	put_target(builder, story);
	put_modules(builder, story);
	put_stacks(builder, story);
	put_sites(builder, story);
}

/* A block as the storyteller knows it. */
struct told_block {
	bool live;
	uint32_t thread, site;
	uint64_t number, size;
};

/* One thread's part of the chunk being told. */
struct told_slot {
	bool used;
	uint32_t slot;
	uint64_t first_number, run, tokens;
	struct buf runs, token, sizes, frees, specials;
	/* Follower and size of each site in this chunk, + 1 place for "none yet". -1: unknown. */
	int64_t follower[BUILDER_SITES_MAX + 1];
	int64_t size[BUILDER_SITES_MAX];
	size_t last; /* site + 1; 0: none yet */
};

struct teller {
	const struct story *story;
	struct story_truth *truth;
	struct told_block *blocks;
	struct told_slot slots[BUILDER_THREADS_MAX];
	uint32_t slot_threads[BUILDER_THREADS_MAX];
	size_t slot_count;
	uint64_t numbers[BUILDER_THREADS_MAX];
	uint64_t first_step;  /* of the chunk */
	uint64_t first_stamp; /* of the chunk */
	uint64_t stamp;       /* of the last entry of TIME */
	uint64_t now;
	struct buf order, time;
};

static void told_slot_enter(struct teller *teller, uint32_t thread)
{
	struct told_slot *slot = &teller->slots[thread];
	memset(slot, 0, sizeof(*slot));
	slot->used = true;
	slot->slot = (uint32_t)teller->slot_count;
	slot->first_number = teller->numbers[thread];
	for (size_t i = 0; i <= BUILDER_SITES_MAX; i++)
		slot->follower[i] = -1;
	for (size_t i = 0; i < BUILDER_SITES_MAX; i++)
		slot->size[i] = -1;
	teller->slot_threads[teller->slot_count++] = thread;
}

/* Counts the step in ORDER and TIME, and the thread as seen. */
static struct told_slot *tell_step(struct teller *teller, uint32_t thread)
{
	must(thread < BUILDER_THREADS_MAX);
	if (!teller->slots[thread].used)
		told_slot_enter(teller, thread);
	uint64_t in_chunk = teller->truth->steps - teller->first_step;
	if (in_chunk == 0)
		teller->first_stamp = teller->stamp = teller->now;
	if (in_chunk % HPW_TIME_STEP == 0) {
		buf_varint(&teller->time, teller->now - teller->stamp);
		teller->stamp = teller->now;
	}
	teller->truth->steps++;
	/* Runs of one step each: a writer need not join them. */
	buf_varint(&teller->order, teller->slots[thread].slot);
	buf_varint(&teller->order, 0);
	struct story_thread_truth *truth = &teller->truth->threads[thread];
	if (!truth->seen)
		truth->first_stamp = teller->stamp;
	truth->seen = true;
	truth->last_stamp = teller->stamp;
	return &teller->slots[thread];
}

static void tell_token(struct told_slot *slot, uint64_t token)
{
	buf_varint(&slot->runs, slot->run);
	buf_varint(&slot->token, token);
	slot->run = 0;
	slot->tokens++;
}

static void tell_special(struct told_slot *slot, enum hpw_special special)
{
	tell_token(slot, HPW_TOKEN_SPECIAL);
	buf_u8(&slot->specials, (uint8_t)special);
}

static void check_peak(struct story_truth *truth, uint64_t stamp)
{
	if (truth->live_bytes <= truth->peak_bytes)
		return;
	truth->peak_bytes = truth->live_bytes;
	truth->peak_blocks = truth->live_blocks;
	truth->peak_stamp = stamp;
	for (size_t i = 0; i < BUILDER_SITES_MAX; i++) {
		truth->sites[i].peak_bytes = truth->sites[i].live_bytes;
		truth->sites[i].peak_blocks = truth->sites[i].live_blocks;
	}
}

static void count_alloc(struct teller *teller, const struct story_step *step)
{
	struct story_truth *truth = teller->truth;
	struct story_site_truth *site = &truth->sites[step->site];
	if (!site->allocations || step->size < site->min_size)
		site->min_size = step->size;
	if (step->size > site->max_size)
		site->max_size = step->size;
	site->allocations++;
	site->allocated_bytes += step->size;
	site->live_blocks++;
	site->live_bytes += step->size;
	truth->allocations++;
	truth->allocated_bytes += step->size;
	truth->live_blocks++;
	truth->live_bytes += step->size;
	truth->threads[step->thread].allocations++;
	truth->threads[step->thread].allocated_bytes += step->size;
	check_peak(truth, teller->stamp);
}

static void tell_alloc(struct teller *teller, const struct story_step *step)
{
	must(step->site < BUILDER_SITES_MAX && step->block < BUILDER_BLOCKS_MAX);
	struct told_slot *slot = tell_step(teller, step->thread);
	int64_t size = (int64_t)step->size;
	uint64_t sized = slot->size[step->site] != size;
	if (slot->follower[slot->last] == (int64_t)step->site)
		tell_token(slot, HPW_TOKEN_PREDICTED + sized);
	else
		tell_token(slot, HPW_TOKEN_SITE + 2 * (uint64_t)step->site + sized);
	if (sized)
		buf_varint(&slot->sizes, step->size);
	slot->follower[slot->last] = step->site;
	slot->last = step->site + 1;
	slot->size[step->site] = size;
	struct told_block *block = &teller->blocks[step->block];
	must(!block->live);
	*block = (struct told_block){
		true, step->thread, step->site, teller->numbers[step->thread]++, step->size};
	count_alloc(teller, step);
}

static void tell_ref(struct teller *teller, struct told_slot *slot, uint32_t thread,
	const struct told_block *block, bool same_frame)
{
	if (!block)
		buf_varint(&slot->frees, same_frame ? 2 : 0);
	else if (block->thread == thread)
		buf_varint(&slot->frees,
			(teller->numbers[thread] - block->number) << 2 | (same_frame ? 2 : 0));
	else {
		buf_varint(&slot->frees, (uint64_t)block->thread << 2 | (same_frame ? 2 : 0) | 1);
		buf_varint(&slot->frees, block->number);
	}
}

static void count_free(
	struct teller *teller, const struct story_step *step, struct told_block *block, int kind)
{
	struct story_truth *truth = teller->truth;
	struct story_site_truth *site = &truth->sites[block->site];
	block->live = false;
	site->live_blocks--;
	site->live_bytes -= block->size;
	site->same_frame += step->same_frame;
	truth->live_blocks--;
	truth->live_bytes -= block->size;
	enum hw_free_kind matching = hw_matching_free(teller->story->sites[block->site].kind);
	int judged = hw_free_is_realloc(kind) ? HW_FREE : kind;
	truth->mismatched += judged >= 0 && judged != (int)matching;
	if (!hw_free_is_realloc(kind) && block->thread == step->thread &&
		block->number + 1 == teller->numbers[step->thread]) {
		site->temporary++;
		truth->temporary++;
		truth->threads[step->thread].temporary++;
	}
}

/* kind: -1 for a plain free. */
static void tell_free(
	struct teller *teller, const struct story_step *step, struct told_block *block, int kind)
{
	struct told_slot *slot = tell_step(teller, step->thread);
	if (kind < 0) {
		slot->run++;
	} else {
		tell_special(slot, HPW_SP_FREE);
		buf_u8(&slot->specials, (uint8_t)kind);
	}
	tell_ref(teller, slot, step->thread, block, step->same_frame);
	teller->truth->frees++;
	teller->truth->threads[step->thread].frees++;
	if (!block)
		teller->truth->unknown_frees++;
	else
		count_free(teller, step, block, kind);
}

static void tell(struct teller *teller, const struct story_step *step)
{
	struct told_slot *slot;
	struct story_truth *truth = teller->truth;
	switch (step->op) {
	case STORY_ALLOC:
		truth->events++;
		tell_alloc(teller, step);
		return;
	case STORY_FREE:
		truth->events++;
		must(teller->blocks[step->block].live);
		tell_free(teller, step, &teller->blocks[step->block], step->free_kind);
		return;
	case STORY_UNKNOWN:
		truth->events++;
		tell_free(teller, step, NULL, step->free_kind);
		return;
	case STORY_REALLOC:
		truth->events++;
		must(teller->blocks[step->old].live);
		tell_free(teller, step, &teller->blocks[step->old], HW_FREE_REALLOC);
		tell_alloc(teller, step);
		return;
	case STORY_FAILED:
		truth->events++;
		truth->failed++;
		truth->sites[step->site].failed++;
		slot = tell_step(teller, step->thread);
		tell_special(slot, HPW_SP_FAILED);
		buf_varint(&slot->specials, step->site);
		buf_varint(&slot->specials, step->size);
		return;
	case STORY_START:
		tell_special(tell_step(teller, step->thread), HPW_SP_THREAD_START);
		return;
	case STORY_END:
		tell_special(tell_step(teller, step->thread), HPW_SP_THREAD_END);
		truth->threads[step->thread].ended = true;
		return;
	case STORY_MARK:
		slot = tell_step(teller, step->thread);
		tell_special(slot, HPW_SP_MARK);
		buf_varint(&slot->specials, strlen(step->name));
		buf_bytes(&slot->specials, step->name, strlen(step->name));
		return;
	case STORY_LOST:
		slot = tell_step(teller, step->thread);
		tell_special(slot, HPW_SP_LOST);
		buf_varint(&slot->specials, step->size);
		truth->lost += step->size;
		return;
	}
}

static void move(struct buf *from, struct buf *to)
{
	*to = *from;
	buf_init(from);
}

/* Closes the chunk that was told so far. */
static void put_events(struct builder *builder, struct teller *teller)
{
	struct columns columns;
	columns_init(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_COLUMNS * teller->slot_count);
	struct buf *meta = &columns.column[HPW_EV_META];
	buf_varint(meta, teller->first_step);
	buf_varint(meta, teller->truth->steps - teller->first_step);
	buf_varint(meta, teller->first_stamp);
	buf_varint(meta, teller->now + 5);
	buf_varint(meta, teller->now + 5 + 777);
	buf_varint(meta, teller->slot_count);
	move(&teller->order, &columns.column[HPW_EV_ORDER]);
	move(&teller->time, &columns.column[HPW_EV_TIME]);
	for (size_t i = 0; i < teller->slot_count; i++) {
		uint32_t thread = teller->slot_threads[i];
		struct told_slot *slot = &teller->slots[thread];
		buf_varint(meta, thread);
		buf_varint(meta, slot->first_number);
		buf_varint(meta, slot->tokens);
		buf_varint(&slot->runs, slot->run);
		struct buf *first = &columns.column[HPW_EV_FIRST_SLOT + HPW_SLOT_COLUMNS * i];
		move(&slot->runs, &first[HPW_SLOT_RUNS]);
		move(&slot->token, &first[HPW_SLOT_TOKENS]);
		move(&slot->sizes, &first[HPW_SLOT_SIZES]);
		move(&slot->frees, &first[HPW_SLOT_FREES]);
		move(&slot->specials, &first[HPW_SLOT_SPECIALS]);
		slot->used = false;
	}
	put_columns(builder, HPW_EVENTS, &columns);
	teller->slot_count = 0;
	teller->first_step = teller->truth->steps;
}

/* Blocks live at the end, ascending by address: as far apart as their names. */
static void put_live(struct builder *builder, const struct teller *teller)
{
	struct columns columns;
	columns_init(&columns, 5);
	uint64_t before = 0;
	for (uint32_t i = 0; i < BUILDER_BLOCKS_MAX; i++) {
		if (!teller->blocks[i].live)
			continue;
		uint64_t address = 0x10000 + 0x100 * (uint64_t)i;
		buf_varint(&columns.column[0], address - before);
		buf_varint(&columns.column[1], teller->blocks[i].size);
		buf_varint(&columns.column[2], teller->blocks[i].site);
		buf_varint(&columns.column[3], teller->blocks[i].thread);
		buf_varint(&columns.column[4], teller->blocks[i].number);
		before = address;
	}
	put_columns(builder, HPW_LIVE, &columns);
}

/* Tells the whole story; the blocks are the caller's. */
static void tell_story(struct builder *builder, const struct story *story,
	struct story_truth *truth, struct teller *teller)
{
	memset(truth, 0, sizeof(*truth));
	memset(teller, 0, sizeof(*teller));
	teller->story = story;
	teller->truth = truth;
	teller->blocks = calloc(BUILDER_BLOCKS_MAX, sizeof(*teller->blocks));
	must(teller->blocks);
	for (size_t i = 0; i < story->steps_len; i++) {
		teller->now = BUILDER_TSC_START + 1 + i * BUILDER_TSC_STEP;
		tell(teller, &story->steps[i]);
		bool full = story->chunk_steps && (i + 1) % story->chunk_steps == 0;
		if (builder && (full || i + 1 == story->steps_len))
			put_events(builder, teller);
	}
}

void builder_events(struct builder *builder, const struct story *story, struct story_truth *ret)
{
	struct teller *teller = malloc(sizeof(*teller));
	must(teller);
	tell_story(builder, story, ret, teller);
	free(teller->blocks);
	free(teller);
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
	put_columns(builder, HPW_THREADS, &columns);
}

static void put_site_stats(
	struct builder *builder, const struct story *story, const struct story_truth *truth)
{
	struct columns columns;
	columns_init(&columns, 11);
	for (size_t i = 0; i < story->sites_len; i++) {
		const struct story_site_truth *s = &truth->sites[i];
		const uint64_t row[11] = {s->allocations, s->allocated_bytes, s->live_blocks,
			s->live_bytes, s->peak_blocks, s->peak_bytes, s->temporary, s->same_frame,
			s->failed, s->min_size, s->max_size};
		for (size_t c = 0; c < 11; c++)
			buf_varint(&columns.column[c], row[c]);
	}
	put_columns(builder, HPW_SITE_STATS, &columns);
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
	must(sizes);
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
	put_columns(builder, HPW_SIZES, &columns);
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
	put_chunk(builder, HPW_SUMMARY, &summary);
	buf_deinit(&summary);
}

void builder_footer(
	struct builder *builder, const struct story *story, const struct story_truth *truth)
{
	put_threads(builder, story, truth);
	put_site_stats(builder, story, truth);
	put_sizes(builder, story);
	put_summary(builder, story, truth);
	struct story_truth again;
	struct teller *teller = malloc(sizeof(*teller));
	must(teller);
	struct builder unused;
	builder_init(&unused);
	tell_story(&unused, story, &again, teller);
	put_live(builder, teller);
	builder_deinit(&unused);
	free(teller->blocks);
	free(teller);
}

void builder_story(struct builder *builder, const struct story *story, struct story_truth *ret)
{
	builder_header(builder);
	builder_tables(builder, story);
	builder_events(builder, story, ret);
	builder_footer(builder, story, ret);
	builder_index(builder);
}

static size_t put_hex(struct text *text, const struct buf *file, size_t at, size_t len,
	const char *format_meaning, uint64_t number)
{
	text_printf(text, "%06zx ", at);
	for (size_t i = 0; i < len && at + i < file->len; i++)
		text_printf(text, i && i % 32 == 0 ? "\n       %02x" : " %02x", file->data[at + i]);
	text_add(text, "  # ");
	text_printf(text, "%s", format_meaning);
	if (number != UINT64_MAX)
		text_printf(text, " %" PRIu64, number);
	text_add_char(text, '\n');
	return at + len;
}

static uint64_t little(const struct buf *file, size_t at, size_t bytes)
{
	uint64_t value = 0;
	for (size_t i = bytes; i-- > 0;)
		value = value << 8 | file->data[at + i];
	return value;
}

static uint64_t read_varint(const struct buf *file, size_t *at)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = file->data[(*at)++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

/* A column set: its head, then each column. */
static void list_columns(struct text *text, const struct buf *file, size_t at)
{
	size_t head = at;
	uint64_t count = read_varint(file, &at), number[BUILDER_COLUMNS_MAX],
		 bytes[BUILDER_COLUMNS_MAX];
	must(count <= BUILDER_COLUMNS_MAX);
	for (uint64_t i = 0; i < count; i++) {
		number[i] = read_varint(file, &at);
		bytes[i] = read_varint(file, &at);
	}
	put_hex(text, file, head, at - head, "number and bytes of each column; columns:", count);
	for (uint64_t i = 0; i < count; i++)
		at = put_hex(text, file, at, (size_t)bytes[i], "column", number[i]);
}

static void list_chunk(struct text *text, const struct buf *file, size_t at)
{
	static const char *const names[] = {"?", "TARGET", "MODULES", "STACKS", "SITES", "EVENTS",
		"THREADS", "SITE_STATS", "SIZES", "LIVE", "SUMMARY", "INDEX"};
	uint64_t type = little(file, at + 4, 2), stored = little(file, at + 8, 4);
	must(type < sizeof(names) / sizeof(names[0]));
	text_printf(text, "\n%s\n", names[type]);
	at = put_hex(text, file, at, 4, "\"hwck\"", UINT64_MAX);
	at = put_hex(text, file, at, 2, "type", type);
	at = put_hex(text, file, at, 2, "flags", little(file, at, 2));
	at = put_hex(text, file, at, 4, "stored bytes", stored);
	at = put_hex(text, file, at, 4, "raw bytes", little(file, at, 4));
	at = put_hex(text, file, at, 8, "checksum of the payload", UINT64_MAX);
	at = put_hex(text, file, at, 8, "checksum of this header", UINT64_MAX);
	if (type == HPW_TARGET || type == HPW_MODULES || type == HPW_SUMMARY)
		put_hex(text, file, at, (size_t)stored, "payload", UINT64_MAX);
	else
		list_columns(text, file, at);
}

void builder_listing(const struct buf *file, struct text *ret)
{
	text_add(ret, "# Offset, bytes, meaning. FORMAT.md explains each.\n\nheader\n");
	size_t at = put_hex(ret, file, 0, 8, "magic \"HEAPWISE\"", UINT64_MAX);
	at = put_hex(ret, file, at, 4, "version: major, minor", UINT64_MAX);
	at = put_hex(ret, file, at, 4, "required features", UINT64_MAX);
	at = put_hex(ret, file, at, 8, "reserved", UINT64_MAX);
	at = put_hex(ret, file, at, 8, "checksum of the header", UINT64_MAX);
	while (file->len - at >= sizeof(struct hpw_chunk_header)) {
		list_chunk(ret, file, at);
		at += sizeof(struct hpw_chunk_header) + (size_t)little(file, at + 8, 4);
	}
	if (file->len == at)
		return;
	text_add(ret, "\ntrailer\n");
	at = put_hex(ret, file, at, 8, "offset of the index:", little(file, at, 8));
	at = put_hex(ret, file, at, 8, "checksum of that", UINT64_MAX);
	put_hex(ret, file, at, 8, "\"HWINDEX\" and a zero byte", UINT64_MAX);
}
