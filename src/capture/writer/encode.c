/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a site is followed by, and which size it had last, is remembered in a small direct-mapped
 * table for each thread. The format lets a reader remember everything and a writer predict only
 * when it knows; a forgotten entry costs a few bytes and is never wrong.
 */
#include "capture/writer/encode.h"

#include "format/kinds.h"

#include <stdlib.h>
#include <string.h>

void encoder_init(struct encoder *encoder)
{
	memset(encoder, 0, sizeof(*encoder));
	encoder->chunk = 1;
	buf_init(&encoder->order);
	buf_init(&encoder->time);
	buf_init(&encoder->gap_rows);
	buf_init(&encoder->marks);
	buf_init(&encoder->mark_stamps);
	buf_init(&encoder->mark_blocks);
	buf_init(&encoder->mark_bytes);
	block_chunks_init(&encoder->block_chunks, BLOCK_CHUNKS_ROWS_MAX);
}

static void thread_destroy(struct encode_thread *t)
{
	if (!t)
		return;
	buf_deinit(&t->runs);
	buf_deinit(&t->token);
	buf_deinit(&t->sizes);
	buf_deinit(&t->refs);
	buf_deinit(&t->specials);
	buf_deinit(&t->deaths.rows);
	if (t->memory != t->few)
		free(t->memory);
	free(t);
}

void encoder_deinit(struct encoder *encoder)
{
	for (uint32_t i = 0; i < encoder->thread_capacity; i++)
		thread_destroy(encoder->threads[i]);
	free(encoder->threads);
	free(encoder->slots);
	buf_deinit(&encoder->order);
	buf_deinit(&encoder->time);
	gaps_deinit(&encoder->gaps);
	buf_deinit(&encoder->gap_rows);
	buf_deinit(&encoder->marks);
	buf_deinit(&encoder->mark_stamps);
	buf_deinit(&encoder->mark_blocks);
	buf_deinit(&encoder->mark_bytes);
	block_chunks_deinit(&encoder->block_chunks);
}

/* Tokens of a chunk after which a larger memory is worth it. */
#define MORE_TOKENS 64u
#define MOST_TOKENS 1024u

static struct encode_thread *thread_create(void)
{
	struct encode_thread *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->memory = t->few;
	t->memory_mask = ENCODE_MEMORY_FEW - 1;
	t->memory_grows = MORE_TOKENS;
	return t;
}

void encode_remember_more(struct encode_thread *t)
{
	bool few = t->memory == t->few;
	uint32_t entries = few ? ENCODE_MEMORY_MORE : ENCODE_MEMORY_MOST;
	t->memory_grows = few ? MOST_TOKENS : UINT32_MAX;
	struct encode_memory *memory = calloc(entries, sizeof(*memory));
	if (!memory)
		return;
	if (!few)
		free(t->memory);
	t->memory = memory;
	t->memory_mask = entries - 1;
}

static struct encode_thread *thread_make(struct encoder *encoder, uint32_t thread)
{
	if (thread >= encoder->thread_capacity) {
		uint32_t capacity = (thread + 1) * 2;
		struct encode_thread **moved =
			realloc(encoder->threads, capacity * sizeof(*encoder->threads));
		if (!moved)
			return NULL;
		memset(moved + encoder->thread_capacity, 0,
			(capacity - encoder->thread_capacity) * sizeof(*moved));
		encoder->threads = moved;
		encoder->thread_capacity = capacity;
	}
	if (!encoder->threads[thread]) {
		encoder->threads[thread] = thread_create();
		encoder->thread_count += encoder->threads[thread] != NULL;
	}
	return encoder->threads[thread];
}

/* Gives the thread a slot in this chunk. */
static struct encode_thread *thread_enter(
	struct encoder *encoder, uint32_t thread, uint64_t allocations)
{
	struct encode_thread *t = thread_make(encoder, thread);
	if (t && encoder->slot_count == encoder->slot_capacity) {
		uint32_t capacity = encoder->slot_capacity ? encoder->slot_capacity * 2 : 16;
		uint32_t *moved = realloc(encoder->slots, capacity * sizeof(*moved));
		if (!moved)
			t = NULL;
		else
			encoder->slots = moved, encoder->slot_capacity = capacity;
	}
	if (!t) {
		encoder->failed = true;
		return NULL;
	}
	t->chunk = encoder->chunk;
	t->slot = encoder->slot_count;
	encoder->slots[encoder->slot_count++] = thread;
	t->first_allocation = allocations;
	t->tokens = 0;
	t->frees = 0;
	t->last_site = 0;
	t->first_follower = 0;
	buf_clear(&t->runs);
	buf_clear(&t->token);
	buf_clear(&t->sizes);
	buf_clear(&t->refs);
	buf_clear(&t->specials);
	buf_clear(&t->deaths.rows);
	t->deaths.site = t->deaths.birth = 0;
	t->deaths.size = 0;
	if (encoder->with_deaths)
		block_chunks_add(&encoder->block_chunks, thread, encoder->chunk, allocations);
	return t;
}

void encoder_close_turn(struct encoder *encoder)
{
	if (!encoder->run_length)
		return;
	buf_varint(&encoder->order, encoder->run_slot);
	buf_varint(&encoder->order, encoder->run_length - 1);
	encoder->run_length = 0;
}

/* Every step passes here: order, time, the thread's slot. */
static inline struct encode_thread *encode_step(
	struct encoder *encoder, uint32_t thread, uint64_t allocations, uint64_t stamp)
{
	struct encode_thread *t =
		thread < encoder->thread_capacity ? encoder->threads[thread] : NULL;
	if (__builtin_expect(!t || t->chunk != encoder->chunk, 0)) {
		t = thread_enter(encoder, thread, allocations);
		if (!t)
			return NULL;
	}
	if (encoder->steps % HPW_TIME_STEP == 0) {
		/* Stamps never go back in the file; a repaired order must not make them. */
		if (stamp < encoder->not_before)
			stamp = encoder->not_before;
		if (!encoder->steps)
			encoder->first_stamp = encoder->last_stamp = stamp;
		buf_varint(&encoder->time, stamp - encoder->last_stamp);
		encoder->last_stamp = encoder->not_before = stamp;
	}
	encoder->steps++;
	encode_make_room(t);
	encoder_turn(encoder, t);
	encoder->run_length++;
	return t;
}

void encoder_idle(struct encoder *encoder, uint64_t stamp)
{
	if (stamp > encoder->not_before)
		encoder->not_before = stamp;
	/* Else the next step gets an entry of TIME, which has this stamp. */
	if (encoder->steps % HPW_TIME_STEP)
		gaps_idle(&encoder->gaps, encoder->steps, stamp, encoder->last_stamp);
}

/* Writes the stamp of the next step down, between entries of TIME too. Returns the stamp that the
 * step has in the file, which never goes back. */
static uint64_t encode_exactly(struct encoder *encoder, uint64_t stamp)
{
	if (stamp < encoder->not_before)
		stamp = encoder->not_before;
	encoder->not_before = stamp;
	if (encoder->steps % HPW_TIME_STEP)
		gaps_exact(&encoder->gaps, encoder->steps, stamp);
	return stamp;
}

void encode_death(
	struct encoder *encoder, struct encode_thread *t, const struct encode_block *block)
{
	struct encode_deaths *deaths = &t->deaths;
	uint32_t birth = chunk_of_block(&encoder->block_chunks, block->owner, block->number);
	unsigned changed = (block->site != deaths->site ? HPW_DEATH_SITE : 0u) |
			   (block->size != deaths->size ? HPW_DEATH_SIZE : 0u) |
			   (birth != deaths->birth ? HPW_DEATH_BIRTH : 0u);
	buf_varint(&deaths->rows, changed);
	if (changed & HPW_DEATH_SITE)
		buf_varint(&deaths->rows, block->site);
	if (changed & HPW_DEATH_SIZE)
		buf_varint(&deaths->rows, block->size);
	if (changed & HPW_DEATH_BIRTH)
		buf_varint(&deaths->rows, birth - 1);
	deaths->site = block->site;
	deaths->size = block->size;
	deaths->birth = birth;
}

static void encode_token(struct encode_thread *t, uint64_t value)
{
	buf_varint(&t->runs, t->frees);
	buf_varint(&t->token, value);
	t->frees = 0;
	t->tokens++;
}

void encode_alloc(struct encoder *encoder, uint32_t thread, uint64_t allocations, uint32_t site,
	uint64_t size, uint64_t stamp)
{
	struct encode_thread *t = encode_step(encoder, thread, allocations, stamp);
	if (!t)
		return;
	uint32_t *follower = t->last_site
				     ? &encode_remembered(encoder, t, t->last_site - 1)->follower
				     : &t->first_follower;
	bool predicted = *follower == site + 1;
	*follower = site + 1;
	struct encode_memory *m = encode_remembered(encoder, t, site);
	bool same_size = m->size == size && size != UINT32_MAX;
	m->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	t->last_site = site + 1;
	uint64_t value = predicted ? HPW_TOKEN_PREDICTED : HPW_TOKEN_SITE + 2 * (uint64_t)site;
	encode_token(t, value + !same_size);
	if (!same_size)
		buf_varint(&t->sizes, size);
}

static void encode_reference(struct encode_thread *t, const struct encode_free *f)
{
	uint64_t flags = f->same_frame ? 2 : 0;
	if (!f->known) {
		buf_varint(&t->refs, flags);
	} else if (f->owner == f->thread) {
		buf_varint(&t->refs, (f->allocations - f->number) << 2 | flags);
	} else {
		buf_varint(&t->refs, (uint64_t)f->owner << 2 | flags | 1);
		buf_varint(&t->refs, f->number);
	}
}

void encode_free(struct encoder *encoder, const struct encode_free *freed)
{
	struct encode_thread *t =
		encode_step(encoder, freed->thread, freed->allocations, freed->stamp);
	if (!t)
		return;
	if (freed->special_kind < 0) {
		t->frees++;
	} else {
		encode_token(t, HPW_TOKEN_SPECIAL);
		buf_varint(&t->specials, HPW_SP_FREE);
		buf_varint(&t->specials, (uint64_t)freed->special_kind);
	}
	encode_reference(t, freed);
	if (encoder->with_deaths && freed->known &&
		encode_is_death(encoder, freed->owner, freed->number))
		encode_death(encoder, t,
			&(struct encode_block){
				freed->owner, freed->site, freed->number, freed->size});
}

void encode_failed(struct encoder *encoder, uint32_t thread, uint64_t allocations, uint32_t site,
	uint64_t size, uint64_t stamp)
{
	struct encode_thread *t = encode_step(encoder, thread, allocations, stamp);
	if (!t)
		return;
	encode_token(t, HPW_TOKEN_SPECIAL);
	buf_varint(&t->specials, HPW_SP_FAILED);
	buf_varint(&t->specials, site);
	buf_varint(&t->specials, size);
}

void encode_lost(struct encoder *encoder, uint32_t thread, uint64_t allocations, uint64_t count,
	uint64_t stamp)
{
	struct encode_thread *t = encode_step(encoder, thread, allocations, stamp);
	if (!t)
		return;
	encode_token(t, HPW_TOKEN_SPECIAL);
	buf_varint(&t->specials, HPW_SP_LOST);
	buf_varint(&t->specials, count);
}

void encode_mark(struct encoder *encoder, uint32_t thread, uint64_t allocations,
	const struct encode_mark *mark, uint64_t stamp)
{
	stamp = encode_exactly(encoder, stamp);
	struct encode_thread *t = encode_step(encoder, thread, allocations, stamp);
	if (!t)
		return;
	encode_token(t, HPW_TOKEN_SPECIAL);
	buf_varint(&t->specials, HPW_SP_MARK);
	buf_varint(&t->specials, mark->name_bytes);
	buf_bytes(&t->specials, mark->name, mark->name_bytes);
	buf_varint(&encoder->marks, encoder->steps - 1);
	buf_varint(&encoder->marks, mark->name_bytes);
	buf_bytes(&encoder->marks, mark->name, mark->name_bytes);
	buf_varint(&encoder->mark_stamps, stamp);
	buf_varint(&encoder->mark_blocks, mark->live_blocks);
	buf_varint(&encoder->mark_bytes, mark->live_bytes);
}

void encode_thread(struct encoder *encoder, uint32_t thread, uint64_t allocations,
	enum hpw_special start_or_end, uint64_t stamp)
{
	/* Of very many threads only those that begin or end after a pause. */
	if (stamp > encoder->not_before && stamp - encoder->not_before >= encoder->gaps.least)
		encode_exactly(encoder, stamp);
	struct encode_thread *t = encode_step(encoder, thread, allocations, stamp);
	if (!t)
		return;
	encode_token(t, HPW_TOKEN_SPECIAL);
	buf_varint(&t->specials, start_or_end);
	t->ended = start_or_end == HPW_SP_THREAD_END;
}

static void put_meta(struct encoder *encoder, struct buf *meta, uint64_t now_tsc, uint64_t now_ns)
{
	buf_varint(meta, encoder->first_step);
	buf_varint(meta, encoder->steps);
	buf_varint(meta, encoder->first_stamp);
	buf_varint(meta, now_tsc);
	buf_varint(meta, now_ns);
	buf_varint(meta, encoder->slot_count);
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		const struct encode_thread *t = encoder->threads[encoder->slots[s]];
		buf_varint(meta, encoder->slots[s]);
		buf_varint(meta, t->first_allocation);
		buf_varint(meta, t->tokens);
	}
}

/* The last run of frees has no token after it. */
static void close_threads(struct encoder *encoder)
{
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		struct encode_thread *t = encoder->threads[encoder->slots[s]];
		buf_varint(&t->runs, t->frees);
	}
}

static const struct buf *slot_column(const struct encoder *encoder, uint32_t slot, int column)
{
	const struct encode_thread *t = encoder->threads[encoder->slots[slot]];
	const struct buf *const columns[HPW_SLOT_COLUMNS] = {
		&t->runs, &t->token, &t->sizes, &t->refs, &t->specials};
	return columns[column];
}

static void encode_add(struct encoder *encoder, const struct buf *column, struct buf *ret)
{
	encoder->failed |= column->failed;
	buf_bytes(ret, column->data, column->len);
}

static void put_columns(struct encoder *encoder, const struct buf *meta, struct buf *ret)
{
	buf_varint(ret,
		3 + (uint64_t)HPW_SLOT_COLUMNS * encoder->slot_count + (encoder->gap_rows.len > 0));
	const struct buf *const first[3] = {meta, &encoder->order, &encoder->time};
	for (uint32_t c = 0; c < 3; c++) {
		buf_varint(ret, c);
		buf_varint(ret, first[c]->len);
	}
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		for (int c = 0; c < HPW_SLOT_COLUMNS; c++) {
			buf_varint(ret,
				HPW_EV_FIRST_SLOT + (uint64_t)HPW_SLOT_COLUMNS * s + (uint64_t)c);
			buf_varint(ret, slot_column(encoder, s, c)->len);
		}
	}
	if (encoder->gap_rows.len) {
		buf_varint(ret, HPW_EV_GAPS);
		buf_varint(ret, encoder->gap_rows.len);
	}
	for (uint32_t c = 0; c < 3; c++)
		encode_add(encoder, first[c], ret);
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		for (int c = 0; c < HPW_SLOT_COLUMNS; c++)
			encode_add(encoder, slot_column(encoder, s, c), ret);
	}
	encode_add(encoder, &encoder->gap_rows, ret);
}

/* This many threads keep what they need from chunk to chunk. */
#define THREADS_KEPT 64u
/* Of more than that, those that hold no more than this. */
#define BYTES_KEPT 4096u

static bool is_small(const struct encode_thread *t)
{
	return t->memory == t->few && t->runs.cap + t->token.cap + t->sizes.cap + t->refs.cap +
						      t->specials.cap + t->deaths.rows.cap <=
					      BYTES_KEPT;
}

/* A program may start ten thousands of threads one after another, or have thousands that work in
 * turns. */
static void forget_threads(struct encoder *encoder)
{
	for (uint32_t s = 0; s < encoder->slot_count; s++) {
		struct encode_thread **t = &encoder->threads[encoder->slots[s]];
		if (!(*t)->ended && (encoder->thread_count <= THREADS_KEPT || is_small(*t)))
			continue;
		thread_destroy(*t);
		*t = NULL;
		encoder->thread_count--;
	}
}

bool encoder_finish(struct encoder *encoder, uint64_t now_tsc, uint64_t now_ns, struct buf *ret)
{
	encoder_close_turn(encoder);
	close_threads(encoder);
	gaps_put(&encoder->gaps, encoder->steps, encoder->first_stamp, &encoder->gap_rows);
	struct buf meta;
	buf_init(&meta);
	put_meta(encoder, &meta, now_tsc, now_ns);
	put_columns(encoder, &meta, ret);
	buf_deinit(&meta);
	bool ok = !encoder->failed && !ret->failed;
	encoder_drop(encoder);
	return ok;
}

void encoder_drop(struct encoder *encoder)
{
	encoder->first_step += encoder->steps;
	encoder->steps = 0;
	forget_threads(encoder);
	encoder->slot_count = 0;
	encoder->chunk++;
	buf_clear(&encoder->order);
	buf_clear(&encoder->time);
	gaps_clear(&encoder->gaps);
	buf_clear(&encoder->gap_rows);
	buf_clear(&encoder->marks);
	buf_clear(&encoder->mark_stamps);
	buf_clear(&encoder->mark_blocks);
	buf_clear(&encoder->mark_bytes);
	encoder->run_slot = 0;
	encoder->run_length = 0;
	encoder->failed = false;
}
