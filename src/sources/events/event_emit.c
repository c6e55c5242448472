/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/event_emit.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "sources/events/hpw_blocks.h"

struct emitted_block {
	uint64_t size;
	uint32_t site;
};
DEFINE_VEC(emitted_block_vec, struct emitted_block)
DEFINE_VEC(emitted_number_vec, uint32_t)
DEFINE_VEC(emitted_flag_vec, bool)

struct emitter {
	const struct event_sink *sink;
	const struct hpw_clock *clock;
	struct hpw_blocks places; /* size: number of the block */
	struct emitted_block_vec blocks;
	struct emitted_number_vec spare;
	struct emitted_flag_vec reallocs; /* by thread: it has freed the old block of a realloc */
	uint64_t step, from_step, to_step, blocks_max, now_ns; /* step: after the present one */
	bool enough, too_many;
};

static void emitter_deinit(struct emitter *emitter)
{
	hpw_blocks_deinit(&emitter->places);
	emitted_block_vec_deinit(&emitter->blocks);
	emitted_number_vec_deinit(&emitter->spare);
	emitted_flag_vec_deinit(&emitter->reallocs);
}

/* Whether the thread is in a realloc; `next`: what it is in from now on. */
static bool event_emit_turn(struct emitter *emitter, uint32_t thread, bool next)
{
	bool was = emitter->reallocs.data[thread];
	emitter->reallocs.data[thread] = next;
	return was;
}

static struct error *event_emit_take(struct emitter *emitter, struct event *event)
{
	event->time_ns = emitter->now_ns;
	if (emitter->step <= emitter->from_step)
		return NULL;
	return emitter->sink->take(emitter->sink->context, event);
}

static struct error *emit_alloc(struct emitter *emitter, const struct hpw_step *step)
{
	uint32_t number = (uint32_t)emitter->blocks.len;
	if (step->thread >= HPW_BLOCK_THREADS || step->number >= HPW_BLOCK_NUMBERS - 1)
		return error_create(ERROR_INPUT, "invalid block number");
	if (emitter->places.len >= emitter->blocks_max || number == UINT32_MAX) {
		emitter->too_many = emitter->enough = true;
		return NULL;
	}
	const struct emitted_block block = {.size = step->size, .site = step->site};
	if (emitter->spare.len) {
		number = emitter->spare.data[--emitter->spare.len];
		emitter->blocks.data[number] = block;
	} else if (!emitted_block_vec_push(&emitter->blocks, block)) {
		return error_no_memory();
	}
	if (!hpw_blocks_add(&emitter->places, hpw_block_key(step->thread, step->number), number, 0))
		return error_no_memory();
	struct event event = {.kind = EVENT_ALLOC,
		.of_realloc = event_emit_turn(emitter, step->thread, false),
		.site = {step->site},
		.size = step->size,
		.block = number};
	return event_emit_take(emitter, &event);
}

static struct error *emit_free(struct emitter *emitter, const struct hpw_step *step)
{
	struct hpw_block place;
	bool of_realloc = step->free_kind == HW_FREE_REALLOC;
	if (!step->known || step->owner >= HPW_BLOCK_THREADS ||
		step->number >= HPW_BLOCK_NUMBERS - 1 ||
		!hpw_blocks_take(
			&emitter->places, hpw_block_key(step->owner, step->number), &place)) {
		event_emit_turn(emitter, step->thread, false);
		return NULL;
	}
	event_emit_turn(emitter, step->thread, of_realloc);
	uint32_t number = (uint32_t)place.size;
	if (!emitted_number_vec_push(&emitter->spare, number))
		return error_no_memory();
	struct event event = {.kind = EVENT_FREE,
		.of_realloc = of_realloc,
		.site = {emitter->blocks.data[number].site},
		.size = emitter->blocks.data[number].size,
		.block = number};
	return event_emit_take(emitter, &event);
}

static struct error *emit_failed(struct emitter *emitter, const struct hpw_step *step)
{
	struct event event = {.kind = EVENT_FAILED, .site = {step->site}, .size = step->size};
	event_emit_turn(emitter, step->thread, false);
	return event_emit_take(emitter, &event);
}

static struct error *event_emit_on_step(void *context, const struct hpw_step *step)
{
	struct emitter *emitter = context;
	emitter->enough = emitter->too_many || emitter->step++ >= emitter->to_step;
	if (emitter->enough)
		return NULL;
	while (emitter->reallocs.len <= step->thread)
		if (!emitted_flag_vec_push(&emitter->reallocs, false))
			return error_no_memory();
	switch (step->kind) {
	case HPW_STEP_ALLOC:
		return emit_alloc(emitter, step);
	case HPW_STEP_FREE:
		return emit_free(emitter, step);
	case HPW_STEP_FAILED:
		return emit_failed(emitter, step);
	default:
		return NULL;
	}
}

static void event_emit_on_time(void *context, uint64_t stamp)
{
	struct emitter *emitter = context;
	uint64_t ns = hpw_clock_ns(emitter->clock, stamp);
	if (ns > emitter->now_ns)
		emitter->now_ns = ns;
}

static struct error *event_emit_on_head(void *context, const struct hpw_events_head *head)
{
	((struct emitter *)context)->step = head->first_step;
	return NULL;
}

struct error *event_emit(const struct event_replay *story, const struct hpw_clock *clock,
	uint64_t from_step, uint64_t to_step, const struct event_sink *sink)
{
	_cleanup_(emitter_deinit) struct emitter emitter = {.sink = sink,
		.clock = clock,
		.from_step = from_step,
		.to_step = to_step,
		.blocks_max = story->blocks_max};
	hpw_blocks_init(&emitter.places);
	const struct hpw_visitor visitor = {.context = &emitter,
		.head = event_emit_on_head,
		.time = event_emit_on_time,
		.step = event_emit_on_step};
	struct error *error = story->each(story->context, &visitor, &emitter.enough);
	if (!error && emitter.too_many)
		error = error_create(
			ERROR_INPUT, "more blocks are live than a file of this size has");
	return error;
}
