/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/event_emit.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "sources/events/hpw_blocks.h"

struct told_block {
	uint64_t size;
	uint32_t site;
};
DEFINE_VEC(told_block_vec, struct told_block)
DEFINE_VEC(told_number_vec, uint32_t)
DEFINE_VEC(told_flag_vec, bool)

struct telling {
	const struct event_sink *sink;
	const struct hpw_clock *clock;
	struct hpw_blocks places; /* size: number of the block */
	struct told_block_vec blocks;
	struct told_number_vec spare;
	struct told_flag_vec reallocs; /* by thread: it has freed the old block of a realloc */
	uint64_t step, to_step, blocks_max, now_ns;
	bool enough, too_many;
};

static void telling_deinit(struct telling *telling)
{
	hpw_blocks_deinit(&telling->places);
	told_block_vec_deinit(&telling->blocks);
	told_number_vec_deinit(&telling->spare);
	told_flag_vec_deinit(&telling->reallocs);
}

/* Whether the thread is in a realloc; `next`: what it is in from now on. */
static bool event_emit_turn(struct telling *telling, uint32_t thread, bool next)
{
	bool was = telling->reallocs.data[thread];
	telling->reallocs.data[thread] = next;
	return was;
}

static struct error *event_emit_take(struct telling *telling, struct event *event)
{
	event->time_ns = telling->now_ns;
	return telling->sink->take(telling->sink->context, event);
}

static struct error *tell_alloc(struct telling *telling, const struct hpw_step *step)
{
	uint32_t number = (uint32_t)telling->blocks.len;
	if (step->thread >= HPW_BLOCK_THREADS || step->number >= HPW_BLOCK_NUMBERS - 1)
		return error_create(ERROR_INPUT, "invalid block number");
	if (telling->places.len >= telling->blocks_max || number == UINT32_MAX) {
		telling->too_many = telling->enough = true;
		return NULL;
	}
	const struct told_block block = {.size = step->size, .site = step->site};
	if (telling->spare.len) {
		number = telling->spare.data[--telling->spare.len];
		telling->blocks.data[number] = block;
	} else if (!told_block_vec_push(&telling->blocks, block)) {
		return error_no_memory();
	}
	if (!hpw_blocks_add(&telling->places, hpw_block_key(step->thread, step->number), number, 0))
		return error_no_memory();
	struct event event = {.kind = EVENT_ALLOC,
		.of_realloc = event_emit_turn(telling, step->thread, false),
		.site = {step->site},
		.size = step->size,
		.block = number};
	return event_emit_take(telling, &event);
}

static struct error *tell_free(struct telling *telling, const struct hpw_step *step)
{
	struct hpw_block place;
	bool of_realloc = step->free_kind == HW_FREE_REALLOC;
	if (!step->known || step->owner >= HPW_BLOCK_THREADS ||
		step->number >= HPW_BLOCK_NUMBERS - 1 ||
		!hpw_blocks_take(
			&telling->places, hpw_block_key(step->owner, step->number), &place)) {
		event_emit_turn(telling, step->thread, false);
		return NULL;
	}
	event_emit_turn(telling, step->thread, of_realloc);
	uint32_t number = (uint32_t)place.size;
	if (!told_number_vec_push(&telling->spare, number))
		return error_no_memory();
	struct event event = {.kind = EVENT_FREE,
		.of_realloc = of_realloc,
		.site = {telling->blocks.data[number].site},
		.size = telling->blocks.data[number].size,
		.block = number};
	return event_emit_take(telling, &event);
}

static struct error *tell_failed(struct telling *telling, const struct hpw_step *step)
{
	struct event event = {.kind = EVENT_FAILED, .site = {step->site}, .size = step->size};
	event_emit_turn(telling, step->thread, false);
	return event_emit_take(telling, &event);
}

static struct error *event_emit_on_step(void *context, const struct hpw_step *step)
{
	struct telling *telling = context;
	telling->enough = telling->too_many || telling->step++ >= telling->to_step;
	if (telling->enough)
		return NULL;
	while (telling->reallocs.len <= step->thread)
		if (!told_flag_vec_push(&telling->reallocs, false))
			return error_no_memory();
	switch (step->kind) {
	case HPW_STEP_ALLOC:
		return tell_alloc(telling, step);
	case HPW_STEP_FREE:
		return tell_free(telling, step);
	case HPW_STEP_FAILED:
		return tell_failed(telling, step);
	default:
		return NULL;
	}
}

static void event_emit_on_time(void *context, uint64_t stamp)
{
	struct telling *telling = context;
	uint64_t ns = hpw_clock_ns(telling->clock, stamp);
	if (ns > telling->now_ns)
		telling->now_ns = ns;
}

static struct error *event_emit_on_head(void *context, const struct hpw_events_head *head)
{
	((struct telling *)context)->step = head->first_step;
	return NULL;
}

struct error *event_emit(const struct event_replay *story, const struct hpw_clock *clock,
	uint64_t to_step, const struct event_sink *sink)
{
	_cleanup_(telling_deinit) struct telling telling = {
		.sink = sink, .clock = clock, .to_step = to_step, .blocks_max = story->blocks_max};
	hpw_blocks_init(&telling.places);
	const struct hpw_visitor visitor = {.context = &telling,
		.head = event_emit_on_head,
		.time = event_emit_on_time,
		.step = event_emit_on_step};
	struct error *error = story->each(story->context, &visitor, &telling.enough);
	if (!error && telling.too_many)
		error = error_create(
			ERROR_INPUT, "more blocks are live than a file of this size has");
	return error;
}
