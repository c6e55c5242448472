/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an attached process had allocated before: entered as if a thread of no program had allocated
 * it, one block after another, just before the first event. So that there is no event before them,
 * the events are held until the list is there.
 */
#include "capture/recorder/recorder_impl.h"

#include "base/cleanup.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long somebody who needs all that has happened waits for types, and for blocks at all. */
#define TYPES_WAIT_NS 10000000000ull
#define BLOCKS_WAIT_NS 20000000000ull
/* For what was held to be told. */
#define EMPTY_WAIT_NS 5000000000ull
/* So often threads get room while the list is entered. */
#define FILL_BLOCKS 16384u
#define LOOK_PAUSE_NS 1000000
#define THREAD_NAME "before attach"
/* Row 1 of the code is the outer frame of all. */
#define OUTER_NAME "before the attach"
#define SIZED_NAME "block of unknown type"

/* Blocks of each type have a site; number 0: those whose type is not known. */
struct entering {
	struct recorder *recorder;
	uint32_t thread, outer;
	uint32_t *stacks; /* by type; 0: none yet */
};

static uint64_t frame_of_code(uint32_t row)
{
	return (uint64_t)HW_FRAME_CODE << HW_FRAME_ADDRESS_BITS |
	       (uint64_t)row << HW_FRAME_INSTRUCTION_BITS;
}

/* Names of all types, after that of the outer frame and that of none. */
static bool name_types(struct recorder *r, uint32_t types)
{
	const struct older_list *list = r->older.list;
	const char **names = calloc(types + 2ul, sizeof(*names));
	if (!names)
		return false;
	const char *at = list->names;
	names[0] = OUTER_NAME;
	names[1] = SIZED_NAME;
	for (uint32_t i = 0; i < types; i++, at += strlen(at) + 1)
		names[i + 2] = at;
	r->older.code.names = names;
	r->older.code.count = types + 2;
	return true;
}

static uint32_t stack_of(struct entering *e, uint64_t type)
{
	uint32_t *known = &e->stacks[type];
	if (!*known)
		*known =
			recorder_add_node(e->recorder, e->outer, frame_of_code((uint32_t)type + 2));
	return *known ? *known : e->outer;
}

static void enter_blocks(struct entering *e, bool with_types, uint32_t types)
{
	struct recorder *r = e->recorder;
	const struct older_list *list = r->older.list;
	for (uint64_t i = 0; i < list->head->blocks; i++) {
		const struct older_block *block = &list->blocks[i];
		uint64_t type = with_types && block->type <= types ? block->type : 0;
		recorder_on_alloc(r, e->thread, HW_ALLOC_UNKNOWN, block->address, stack_of(e, type),
			block->size, r->began.tsc);
		if (i % FILL_BLOCKS == 0)
			(void)!held_source_fill(r->held);
	}
	const struct tally_thread *t = &r->tally.threads[e->thread];
	r->older.thread = e->thread;
	r->older.blocks = t->allocations;
	r->older.bytes = t->allocated_bytes;
}

/* Returns false if there is no memory. */
static bool enter_list(struct recorder *r, bool with_types)
{
	uint32_t types = with_types ? min(r->older.list->head->types, OLDER_TYPES_MAX) : 0;
	struct entering e = {.recorder = r};
	e.thread = tally_thread_new(&r->tally, 0, r->began.tsc);
	e.stacks = calloc(types + 1ul, sizeof(*e.stacks));
	bool ok = e.stacks && e.thread != UINT32_MAX && name_types(r, types);
	if (ok) {
		struct tally_thread *t = &r->tally.threads[e.thread];
		snprintf(t->name, sizeof(t->name), "%s", THREAD_NAME);
		encode_thread(&r->encoder, e.thread, 0, HPW_SP_THREAD_START, r->began.tsc);
		r->tally.steps++;
		e.outer = recorder_add_node(r, 0, frame_of_code(1));
		enter_blocks(&e, with_types, types);
		tally_thread_end(&r->tally, e.thread);
		encode_thread(
			&r->encoder, e.thread, r->older.blocks, HPW_SP_THREAD_END, r->began.tsc);
		r->tally.steps++;
	}
	free(e.stacks);
	return ok;
}

/* The events are held no longer. */
static void end_hold(struct recorder *r, enum older_state state)
{
	const struct older_head *head = r->older.list->head;
	bool has = state == OLDER_TYPES || state == OLDER_BLOCKS;
	bool with_types = state == OLDER_TYPES && head->types;
	if (state == OLDER_NONE)
		r->older.why = min(head->why, (uint32_t)HPW_OLDER_KINDS - 1);
	else if (!has)
		r->older.why = HPW_OLDER_LATE;
	else if (!enter_list(r, with_types))
		r->older.why = HPW_OLDER_FAILED;
	else
		r->older.why = with_types ? HPW_OLDER_TYPED : HPW_OLDER_SIZED;
	if (has) {
		r->older.threads = head->threads;
		r->older.damaged = head->damaged;
	}
	r->held->holds = false;
}

bool recorder_is_held(struct recorder *r)
{
	if (!r->held || !r->held->holds)
		return false;
	bool fits = held_source_fill(r->held) && !r->older.is_urgent;
	enum older_state state = older_list_state(r->older.list);
	if (fits && (state == OLDER_MAKING || state == OLDER_BLOCKS))
		return true;
	end_hold(r, state);
	return false;
}

bool recorder_mistook(struct recorder *r, const struct live_entry *block)
{
	if (!r->older.blocks || block->thread != r->older.thread ||
		r->older.mistaken >= r->older.threads)
		return false;
	r->older.mistaken++;
	return true;
}

void recorder_end_held(struct recorder *r)
{
	struct held_source *held = r->held;
	struct event_lane memory;
	uint32_t left = 0;
	if (!held || held->holds)
		return;
	for (uint32_t i = 0; i < held->rings.source.lanes + held->rings.source.has_shared; i++) {
		if (held_source_lane_ends(held, i, &memory))
			merge_move_lane(&r->merge, i, &memory);
		left += !held->lanes[i].is_ring;
	}
	if (left)
		return;
	r->source = r->merge.source = &r->rings.source;
	held_source_destroy(steal_ptr(r->held));
}

void recorder_hurry_older(struct recorder *r)
{
	r->older.is_urgent = true;
}

void recorder_take_older(struct recorder *r)
{
	if (!r->held)
		return;
	uint64_t began = recorder_now(r).ns;
	while (recorder_is_held(r)) {
		uint64_t waited = recorder_now(r).ns - began;
		bool has_blocks = older_list_state(r->older.list) == OLDER_BLOCKS;
		r->older.is_urgent |= waited > (has_blocks ? TYPES_WAIT_NS : BLOCKS_WAIT_NS);
		nanosleep(&(struct timespec){0, LOOK_PAUSE_NS}, NULL);
	}
	began = recorder_now(r).ns;
	while (r->held && recorder_now(r).ns - began < EMPTY_WAIT_NS)
		recorder_drain(r);
	if (r->held)
		r->held->takes_all = true;
}

void recorder_open_older(struct recorder *r, const struct recorder_start *start)
{
	r->older.list = start->older;
	r->older.code.count = 0;
	if (!start->attached_ns)
		return;
	r->older.why = HPW_OLDER_FAILED;
	if (!start->older || !start->older->head)
		return;
	r->older.why = min(start->older->head->why, (uint32_t)HPW_OLDER_KINDS - 1);
	if (older_list_state(start->older) == OLDER_NONE)
		return;
	r->rings.code = &r->older.code;
	r->held = held_source_create(&r->rings);
	if (r->held)
		r->source = &r->held->rings.source;
	else
		r->older.why = HPW_OLDER_FAILED;
}
