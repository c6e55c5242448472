/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See hpw_lives.h. Lives stand in an array; places of blocks that have died are used again. Where a
 * block's life stands is known by its number: of the first some million blocks in an array of each
 * thread, of all others in a table, which needs six times the memory and a cache miss.
 */
#include "sources/events/hpw_lives.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "sources/events/hpw_blocks.h"
#include "sources/events/hpw_events.h"
#include "sources/events/hpw_replay.h"

/* Instead of the site of a life that has ended: sites are below HPW_SITES_MAX. */
#define DEAD UINT32_MAX

/* So many blocks of all threads are in arrays by their numbers, 16 MiB. */
#define NUMBERED_MAX ((size_t)1 << 22)

DEFINE_VEC(life_vec, struct hpw_life)
DEFINE_VEC(place_vec, uint64_t)
DEFINE_VEC(numbered_vec, uint32_t)

/* What a thread has of a realloc that is half done. */
struct half {
	bool is;
	struct hpw_life from;
};

struct lives_thread {
	struct half half;
	struct numbered_vec numbered; /* by number of the block: place + 1, or 0: not live */
};
DEFINE_VEC(lives_thread_vec, struct lives_thread)

struct lives {
	const struct hpw_lives_sink *sink;
	struct hpw_blocks blocks; /* size: place in `lives` */
	struct life_vec lives;
	struct place_vec free;
	struct lives_thread_vec threads;
	size_t numbered;      /* entries of all threads' arrays */
	size_t numbered_live; /* of these, live blocks */
	uint64_t allocations, step, stamp, to_step;
	uint64_t most;
	bool enough; /* the rest is of no interest */
};

static void lives_deinit(struct lives *lives)
{
	hpw_blocks_deinit(&lives->blocks);
	life_vec_deinit(&lives->lives);
	place_vec_deinit(&lives->free);
	for (size_t i = 0; i < lives->threads.len; i++)
		numbered_vec_deinit(&lives->threads.data[i].numbered);
	lives_thread_vec_deinit(&lives->threads);
}

/* Returns NULL if there is no memory. The thread's place is valid until the next call. */
static struct lives_thread *find_thread(struct lives *lives, uint32_t thread)
{
	while (lives->threads.len <= thread)
		if (!lives_thread_vec_push(
			    &lives->threads, (struct lives_thread){.half.is = false}))
			return NULL;
	return &lives->threads.data[thread];
}

/* Says where the block's life stands. Numbers come in order, from 0 unless the file begins later;
 * only then are they in the thread's array. */
static bool put_place(
	struct lives *lives, struct lives_thread *thread, const struct hpw_step *step, size_t place)
{
	struct numbered_vec *numbered = &thread->numbered;
	if (step->number > numbered->len || place >= UINT32_MAX ||
		(step->number == numbered->len && lives->numbered >= NUMBERED_MAX))
		return hpw_blocks_add(
			&lives->blocks, hpw_block_key(step->thread, step->number), place, 0);
	if (step->number == numbered->len) {
		if (!numbered_vec_push(numbered, 0))
			return false;
		lives->numbered++;
	}
	uint32_t *entry = &numbered->data[step->number];
	lives->numbered_live += !*entry;
	*entry = (uint32_t)place + 1;
	return true;
}

/* Forgets where the block's life stands; false: it is not live. */
static bool take_place(struct lives *lives, const struct hpw_step *step, size_t *ret)
{
	struct hpw_block block;
	struct lives_thread *owner =
		step->owner < lives->threads.len ? &lives->threads.data[step->owner] : NULL;
	uint32_t *entry = owner && step->number < owner->numbered.len
				  ? &owner->numbered.data[step->number]
				  : NULL;
	if (entry && *entry) {
		*ret = *entry - 1;
		*entry = 0;
		lives->numbered_live--;
		return true;
	}
	if (!hpw_blocks_take(&lives->blocks, hpw_block_key(step->owner, step->number), &block))
		return false;
	*ret = block.size;
	return true;
}

static struct error *hpw_lives_begin(
	struct lives *lives, const struct hpw_step *step, struct lives_thread *thread)
{
	struct half *half = &thread->half;
	struct hpw_life life = {.number = lives->allocations++,
		.stamp = lives->stamp,
		.step = lives->step,
		.size = step->size,
		.site = step->site,
		.grown = half->is ? half->from.grown + 1 : 0,
		.first_size = half->is ? half->from.first_size : step->size};
	if (half->is && lives->sink->grew)
		lives->sink->grew(lives->sink->context, &half->from, &life);
	half->is = false;
	if (step->thread >= HPW_BLOCK_THREADS || step->number >= HPW_BLOCK_NUMBERS - 1)
		return error_create(ERROR_INPUT, "invalid block number");
	uint64_t place = lives->lives.len;
	if (lives->free.len) {
		place = lives->free.data[--lives->free.len];
		lives->lives.data[place] = life;
	} else if (!life_vec_push(&lives->lives, life)) {
		return error_no_memory();
	}
	return put_place(lives, thread, step, place) ? NULL : error_no_memory();
}

static struct error *hpw_lives_end(
	struct lives *lives, const struct hpw_step *step, struct half *half)
{
	size_t place;
	half->is = false;
	if (!step->known || step->owner >= HPW_BLOCK_THREADS ||
		step->number >= HPW_BLOCK_NUMBERS - 1 || !take_place(lives, step, &place))
		return NULL;
	struct hpw_life life = lives->lives.data[place];
	lives->lives.data[place].site = DEAD;
	if (!place_vec_push(&lives->free, place))
		return error_no_memory();
	const struct hpw_life_end last = {lives->step, lives->stamp, lives->allocations};
	if (lives->sink->died)
		lives->sink->died(lives->sink->context, &life, &last);
	*half = (struct half){step->free_kind == HW_FREE_REALLOC, life};
	return NULL;
}

static struct error *hpw_lives_on_step(void *context, const struct hpw_step *step)
{
	struct lives *lives = context;
	lives->enough = lives->step >= lives->to_step ||
			lives->blocks.len + lives->numbered_live >= lives->most;
	if (lives->enough)
		return NULL;
	struct lives_thread *thread = find_thread(lives, step->thread);
	if (!thread)
		return error_no_memory();
	struct error *error = NULL;
	if (step->kind == HPW_STEP_ALLOC)
		error = hpw_lives_begin(lives, step, thread);
	else if (step->kind == HPW_STEP_FREE)
		error = hpw_lives_end(lives, step, &thread->half);
	lives->step++;
	return error;
}

static void hpw_lives_on_time(void *context, uint64_t stamp)
{
	struct lives *lives = context;
	if (lives->step < lives->to_step)
		lives->stamp = stamp;
}

static struct error *hpw_lives_on_head(void *context, const struct hpw_events_head *head)
{
	((struct lives *)context)->step = head->first_step;
	return NULL;
}

/* In the order of their places, not in that of the table: there may be millions. */
static struct error *emit_stayed(struct lives *lives, uint64_t to_stamp)
{
	uint64_t stamp = to_stamp > lives->stamp ? to_stamp : lives->stamp;
	const struct hpw_life_end last = {lives->step, stamp, lives->allocations};
	for (size_t i = 0; lives->sink->stayed && i < lives->lives.len; i++)
		if (lives->lives.data[i].site != DEAD)
			lives->sink->stayed(lives->sink->context, &lives->lives.data[i], &last);
	return NULL;
}

struct error *hpw_lives_read(const struct event_replay *story, const struct hpw_span *span,
	const struct hpw_lives_sink *sink)
{
	_cleanup_(lives_deinit) struct lives lives = {
		.sink = sink, .to_step = span->to_step, .most = story->blocks_max};
	const struct hpw_visitor visitor = {.context = &lives,
		.head = hpw_lives_on_head,
		.time = hpw_lives_on_time,
		.step = hpw_lives_on_step};
	hpw_blocks_init(&lives.blocks);
	uint64_t expected = min(sink->expected, story->blocks_max);
	if (expected > NUMBERED_MAX)
		hpw_blocks_expect(&lives.blocks, expected - NUMBERED_MAX);
	struct error *error = story->each(story->context, &visitor, &lives.enough);
	return error ? error : emit_stayed(&lives, span->to_stamp);
}
