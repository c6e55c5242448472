/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See hpw_lives.h. The table of blocks says where in an array a block's life stands; places of
 * blocks that have died are used again.
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

DEFINE_VEC(life_vec, struct hpw_life)
DEFINE_VEC(place_vec, uint64_t)

/* What a thread has of a realloc that is half done. */
struct half {
	bool is;
	struct hpw_life from;
};
DEFINE_VEC(half_vec, struct half)

struct lives {
	const struct hpw_lives_sink *sink;
	struct hpw_blocks blocks; /* size: place in `lives` */
	struct life_vec lives;
	struct place_vec free;
	struct half_vec halves; /* by thread */
	uint64_t allocations, step, stamp, to_step;
	uint64_t most;
	bool enough; /* the rest is of no interest */
};

static void lives_deinit(struct lives *lives)
{
	hpw_blocks_deinit(&lives->blocks);
	life_vec_deinit(&lives->lives);
	place_vec_deinit(&lives->free);
	half_vec_deinit(&lives->halves);
}

static struct half *half_of(struct lives *lives, uint32_t thread)
{
	while (lives->halves.len <= thread)
		if (!half_vec_push(&lives->halves, (struct half){.is = false}))
			return NULL;
	return &lives->halves.data[thread];
}

static struct error *hpw_lives_begin(
	struct lives *lives, const struct hpw_step *step, struct half *half)
{
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
	return hpw_blocks_add(&lives->blocks, hpw_block_key(step->thread, step->number), place, 0)
		       ? NULL
		       : error_no_memory();
}

static struct error *hpw_lives_end(
	struct lives *lives, const struct hpw_step *step, struct half *half)
{
	struct hpw_block block;
	half->is = false;
	if (!step->known || step->owner >= HPW_BLOCK_THREADS ||
		step->number >= HPW_BLOCK_NUMBERS - 1 ||
		!hpw_blocks_take(&lives->blocks, hpw_block_key(step->owner, step->number), &block))
		return NULL;
	struct hpw_life life = lives->lives.data[block.size];
	lives->lives.data[block.size].site = DEAD;
	if (!place_vec_push(&lives->free, block.size))
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
	lives->enough = lives->step >= lives->to_step || lives->blocks.len >= lives->most;
	if (lives->enough)
		return NULL;
	struct half *half = half_of(lives, step->thread);
	if (!half)
		return error_no_memory();
	struct error *error = NULL;
	if (step->kind == HPW_STEP_ALLOC)
		error = hpw_lives_begin(lives, step, half);
	else if (step->kind == HPW_STEP_FREE)
		error = hpw_lives_end(lives, step, half);
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
	hpw_blocks_expect(&lives.blocks, min(sink->expected, story->blocks_max));
	struct error *error = story->each(story->context, &visitor, &lives.enough);
	return error ? error : emit_stayed(&lives, span->to_stamp);
}
