/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the steps of a story: as EVENTS, as the truth about them, and as what is LIVE at the end.
 */
#include "lib/hpw_story.h"

#include <stdlib.h>
#include <string.h>

/* A block as the storyteller knows it. */
struct told_block {
	bool live;
	uint32_t thread, site;
	uint64_t number, size;
	uint64_t chunk; /* of EVENTS, from 0 */
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
	struct buf deaths;
};

struct told_size {
	uint64_t size, allocations;
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
	uint64_t chunk;            /* number of the chunk, from 0 */
	struct story_truth before; /* when the chunk began */
	uint64_t padding, padding_before, highest;
	bool in_realloc[BUILDER_THREADS_MAX], fresh[BUILDER_THREADS_MAX];
	bool was_in_realloc[BUILDER_THREADS_MAX], was_fresh[BUILDER_THREADS_MAX];
	struct told_size sizes[BUILDER_SIZES_MAX]; /* of the chunk, ascending */
	size_t sizes_len;
	struct buf marks;
	uint64_t min_size[BUILDER_SITES_MAX], max_size[BUILDER_SITES_MAX],
		max_failed_size[BUILDER_SITES_MAX]; /* in the chunk */
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
	builder_must(thread < BUILDER_THREADS_MAX);
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

static void count_size(struct teller *teller, uint64_t size)
{
	struct told_size *sizes = teller->sizes;
	size_t at = 0;
	while (at < teller->sizes_len && sizes[at].size < size)
		at++;
	if (at == teller->sizes_len || sizes[at].size != size) {
		builder_must(teller->sizes_len < BUILDER_SIZES_MAX);
		memmove(&sizes[at + 1], &sizes[at], (teller->sizes_len - at) * sizeof(*sizes));
		sizes[at] = (struct told_size){size, 0};
		teller->sizes_len++;
	}
	sizes[at].allocations++;
}

static void note_failed_size(struct teller *teller, const struct story_step *step)
{
	struct story_site_truth *site = &teller->truth->sites[step->site];
	if (step->size > site->max_failed_size)
		site->max_failed_size = step->size;
	if (step->size > teller->max_failed_size[step->site])
		teller->max_failed_size[step->site] = step->size;
}

static void count_alloc(struct teller *teller, const struct story_step *step)
{
	struct story_truth *truth = teller->truth;
	struct story_site_truth *site = &truth->sites[step->site];
	if (!site->allocations || step->size < site->min_size)
		site->min_size = step->size;
	if (step->size > site->max_size)
		site->max_size = step->size;
	const struct story_site_truth *was = &teller->before.sites[step->site];
	if (site->allocations == was->allocations || step->size < teller->min_size[step->site])
		teller->min_size[step->site] = step->size;
	if (step->size > teller->max_size[step->site])
		teller->max_size[step->site] = step->size;
	site->allocations++;
	site->allocated_bytes += step->size;
	site->live_blocks++;
	site->live_bytes += step->size;
	truth->allocations++;
	truth->allocated_bytes += step->size;
	truth->live_blocks++;
	truth->live_bytes += step->size;
	teller->padding += (16 - step->size % 16) % 16;
	if (truth->live_bytes > teller->highest)
		teller->highest = truth->live_bytes;
	count_size(teller, step->size);
	teller->fresh[step->thread] = teller->in_realloc[step->thread] = false;
	truth->threads[step->thread].allocations++;
	truth->threads[step->thread].allocated_bytes += step->size;
	check_peak(truth, teller->stamp);
}

static void tell_alloc(struct teller *teller, const struct story_step *step)
{
	builder_must(step->site < BUILDER_SITES_MAX && step->block < BUILDER_BLOCKS_MAX);
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
	builder_must(!block->live);
	*block = (struct told_block){true, step->thread, step->site,
		teller->numbers[step->thread]++, step->size, teller->chunk};
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
	struct told_slot *slot = &teller->slots[step->thread];
	if (block->chunk != teller->chunk) {
		/* Each row in full, as a writer may. */
		buf_varint(&slot->deaths, HPW_DEATH_SITE | HPW_DEATH_SIZE | HPW_DEATH_BIRTH);
		buf_varint(&slot->deaths, block->site);
		buf_varint(&slot->deaths, block->size);
		buf_varint(&slot->deaths, block->chunk);
	}
	teller->padding -= (16 - block->size % 16) % 16;
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
	teller->in_realloc[step->thread] = kind == HW_FREE_REALLOC;
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
		builder_must(teller->blocks[step->block].live);
		tell_free(teller, step, &teller->blocks[step->block], step->free_kind);
		return;
	case STORY_UNKNOWN:
		truth->events++;
		tell_free(teller, step, NULL, step->free_kind);
		return;
	case STORY_REALLOC:
		truth->events++;
		builder_must(teller->blocks[step->old].live);
		tell_free(teller, step, &teller->blocks[step->old], HW_FREE_REALLOC);
		tell_alloc(teller, step);
		return;
	case STORY_FAILED:
		truth->events++;
		truth->failed++;
		truth->sites[step->site].failed++;
		note_failed_size(teller, step);
		teller->in_realloc[step->thread] = false;
		slot = tell_step(teller, step->thread);
		tell_special(slot, HPW_SP_FAILED);
		buf_varint(&slot->specials, step->site);
		buf_varint(&slot->specials, step->size);
		return;
	case STORY_START:
		tell_special(tell_step(teller, step->thread), HPW_SP_THREAD_START);
		teller->fresh[step->thread] = true;
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
		buf_varint(&teller->marks, truth->steps - 1 - teller->first_step);
		buf_varint(&teller->marks, strlen(step->name));
		buf_bytes(&teller->marks, step->name, strlen(step->name));
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

static void put_deaths(struct builder *builder, struct teller *teller)
{
	struct columns columns;
	size_t bytes = 0;
	columns_init(&columns, 1 + teller->slot_count);
	buf_varint(&columns.column[0], teller->first_step);
	for (size_t i = 0; i < teller->slot_count; i++) {
		struct told_slot *slot = &teller->slots[teller->slot_threads[i]];
		bytes += slot->deaths.len;
		move(&slot->deaths, &columns.column[1 + i]);
	}
	if (bytes) {
		builder_columns(builder, HPW_DEATHS, &columns);
		return;
	}
	struct buf unused;
	buf_init(&unused);
	columns_finish(&columns, &unused);
	buf_deinit(&unused);
}

static void put_sums_sites(const struct teller *teller, struct buf *first)
{
	uint64_t last = 0;
	for (size_t i = 0; i < BUILDER_SITES_MAX; i++) {
		const struct story_site_truth *now = &teller->truth->sites[i],
					      *was = &teller->before.sites[i];
		uint64_t allocations = now->allocations - was->allocations,
			 bytes = now->allocated_bytes - was->allocated_bytes,
			 frees = allocations - (now->live_blocks - was->live_blocks);
		if (!allocations && !frees && now->failed == was->failed)
			continue;
		const uint64_t row[] = {i - last, allocations, bytes, frees,
			bytes - (now->live_bytes - was->live_bytes),
			now->temporary - was->temporary, now->same_frame - was->same_frame,
			now->failed - was->failed, teller->min_size[i], teller->max_size[i]};
		for (size_t c = 0; c < sizeof(row) / sizeof(row[0]); c++)
			buf_varint(&first[c], row[c]);
		buf_varint(&first[HPW_SUMS_SITE_MAX_FAILED - HPW_SUMS_SITE],
			teller->max_failed_size[i]);
		last = i;
	}
}

static void put_sums_threads(const struct teller *teller, struct buf *first)
{
	for (size_t i = 0; i < teller->slot_count; i++) {
		uint32_t thread = teller->slot_threads[i];
		const struct story_thread_truth *now = &teller->truth->threads[thread],
						*was = &teller->before.threads[thread];
		const uint64_t row[] = {thread,
			(teller->was_in_realloc[thread] ? HPW_SUMS_IN_REALLOC : 0u) |
				(teller->was_fresh[thread] ? HPW_SUMS_FRESH : 0u),
			teller->slots[thread].first_number, now->allocations - was->allocations,
			now->allocated_bytes - was->allocated_bytes, now->frees - was->frees,
			now->temporary - was->temporary};
		for (size_t c = 0; c < sizeof(row) / sizeof(row[0]); c++)
			buf_varint(&first[c], row[c]);
	}
}

static void put_sums(struct builder *builder, struct teller *teller)
{
	struct columns columns;
	columns_init(&columns, HPW_SUMS_COLUMNS);
	if (!teller->story->with_counters)
		columns.absent = 1u << HPW_SUMS_SITE_MAX_FAILED;
	const struct story_truth *now = teller->truth, *was = &teller->before;
	const uint64_t head[] = {teller->first_step, now->steps - teller->first_step,
		teller->first_stamp, was->live_blocks, was->live_bytes, teller->highest,
		now->events - was->events, now->lost - was->lost,
		now->unknown_frees - was->unknown_frees, now->mismatched - was->mismatched,
		teller->padding_before};
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		buf_varint(&columns.column[HPW_SUMS_HEAD], head[i]);
	put_sums_sites(teller, &columns.column[HPW_SUMS_SITE]);
	put_sums_threads(teller, &columns.column[HPW_SUMS_THREAD]);
	uint64_t last = 0;
	for (size_t i = 0; i < teller->sizes_len; i++) {
		buf_varint(&columns.column[HPW_SUMS_SIZE], teller->sizes[i].size - last);
		buf_varint(
			&columns.column[HPW_SUMS_SIZE_ALLOCATIONS], teller->sizes[i].allocations);
		last = teller->sizes[i].size;
	}
	move(&teller->marks, &columns.column[HPW_SUMS_MARKS]);
	builder_columns(builder, HPW_SUMS, &columns);
}

static void begin_chunk(struct teller *teller)
{
	teller->chunk++;
	teller->before = *teller->truth;
	teller->padding_before = teller->padding;
	teller->highest = teller->truth->live_bytes;
	memset(teller->min_size, 0, sizeof(teller->min_size));
	memset(teller->max_size, 0, sizeof(teller->max_size));
	memset(teller->max_failed_size, 0, sizeof(teller->max_failed_size));
	memcpy(teller->was_in_realloc, teller->in_realloc, sizeof(teller->in_realloc));
	memcpy(teller->was_fresh, teller->fresh, sizeof(teller->fresh));
	teller->sizes_len = 0;
}

/* Closes the chunk that was told so far. */
static void put_events(struct builder *builder, struct teller *teller)
{
	struct columns columns;
	if (teller->story->with_sums) {
		put_deaths(builder, teller);
		put_sums(builder, teller);
	}
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
		buf_deinit(&slot->deaths);
		slot->used = false;
	}
	buf_deinit(&teller->marks);
	builder_columns(builder, HPW_EVENTS, &columns);
	teller->slot_count = 0;
	teller->first_step = teller->truth->steps;
	begin_chunk(teller);
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
	builder_columns(builder, HPW_LIVE, &columns);
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
	builder_must(teller->blocks);
	for (size_t i = 0; i < story->steps_len; i++) {
		teller->now = BUILDER_TSC_START + 1 + i * BUILDER_TSC_STEP;
		tell(teller, &story->steps[i]);
		bool full = story->chunk_steps && (i + 1) % story->chunk_steps == 0;
		if (full || i + 1 == story->steps_len)
			put_events(builder, teller);
	}
}

void builder_events(struct builder *builder, const struct story *story, struct story_truth *ret)
{
	struct teller *teller = malloc(sizeof(*teller));
	builder_must(teller);
	tell_story(builder, story, ret, teller);
	free(teller->blocks);
	free(teller);
}

void builder_live(struct builder *builder, const struct story *story)
{
	struct story_truth again;
	struct teller *teller = malloc(sizeof(*teller));
	builder_must(teller);
	struct builder unused;
	builder_init(&unused);
	tell_story(&unused, story, &again, teller);
	put_live(builder, teller);
	builder_deinit(&unused);
	free(teller->blocks);
	free(teller);
}
