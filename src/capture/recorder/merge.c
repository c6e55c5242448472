/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/lane.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Stores of another processor are visible long before this. */
#define MARGIN_SECONDS (1.0 / 50000)
/*
 * The longest time that a busy ring without progress delays the others, also those that wait for
 * room: they are told that they are waited for. If hundreds of threads share a processor, one of
 * them may have to wait for seconds until it has its turn.
 */
#define BUSY_SECONDS 5.0

void merge_move_lane(struct merge *merge, uint32_t lane, const struct event_lane *memory)
{
	struct merge_lane *l = &merge->lanes[lane];
	l->data = memory->words;
	l->words = memory->size;
	l->lap = memory->lap ? memory->lap : memory->size;
}

void merge_init(struct merge *merge, struct event_source *source, const struct merge_sink *sink)
{
	assert(source->lanes < EVENT_LANES_MAX);
	memset(merge, 0, sizeof(*merge));
	merge->source = source;
	merge->sink = *sink;
	for (uint32_t i = 0; i < source->lanes + source->has_shared; i++) {
		struct merge_lane *lane = &merge->lanes[i];
		struct event_lane memory = {.lap = 0};
		source->ops->lane(source, i, &memory);
		merge_move_lane(merge, i, &memory);
		lane->number = i;
		lane->shared = i == source->lanes;
		lane->thread = MERGE_NO_THREAD;
		lane->foreign = MERGE_NO_TID;
	}
}

/* Where a source has no shared lane, one that is always empty. */
static inline struct merge_lane *shared_lane(struct merge *merge)
{
	return &merge->lanes[merge->source->lanes];
}

void merge_deinit(struct merge *merge)
{
	merge_threads_deinit(&merge->threads);
}

/* A new thread has taken the lane over; the old one's events have all been delivered, or the lane
 * would not have been free. */
static void lane_renew(struct merge_lane *lane, const struct event_look *look)
{
	lane->generation = look->generation;
	lane->tid = look->tid;
	lane->thread = MERGE_NO_THREAD;
	lane->idle_at = lane->stamp = 0;
	lane->stack_next = lane->stack_low = 0;
	lane->half = lane->broken = lane->usual = false;
}

void merge_go_on(struct merge *merge, const struct merge *before)
{
	merge->lane_count = before->lane_count;
	for (uint32_t i = 0; i < EVENT_LANES_MAX; i++) {
		merge->lanes[i].tail = merge->lanes[i].head = before->lanes[i].tail;
		merge->lanes[i].published = before->lanes[i].published;
		merge->lanes[i].generation = before->lanes[i].generation;
	}
}

/* A new thread has words from `began` on. What is before, if anything, is not to be delivered. */
static void lane_pass_over(
	struct merge *merge, struct merge_lane *lane, uint64_t began, uint64_t *head)
{
	if (began - lane->tail > lane->words || *head - lane->tail > lane->words)
		return; /* nonsense, of which the lane breaks */
	merge->missed += lane_pass_words(lane, began);
	/* It was looked at before that was said. */
	if ((int64_t)(*head - began) < 0)
		*head = began;
}

/* All that is in the lane is of a recording before. What comes to this one comes later. */
static void lane_pass_by(
	struct merge *merge, struct merge_lane *lane, const struct event_look *look, uint64_t idle)
{
	lane->tid = look->tid;
	lane->thread = MERGE_NO_THREAD;
	merge->missed += lane_pass_words(lane, look->head);
	lane->busy_seen = 0;
	lane->bound = idle;
}

/* The lane goes on in the recording after this one. Its words until then may be of a thread that
 * was not seen before. */
static void lane_near_end(struct merge_lane *lane, struct event_look *look)
{
	uint32_t generation = lane->generation;
	if (!lane->shared && lane->tid != look->tid)
		lane_renew(lane, look);
	lane->generation = look->generation = generation;
}

bool merge_has_settled(const struct merge *merge)
{
	struct event_source *source = merge->source;
	struct event_look look;
	for (uint32_t i = 0; i < source->lanes + source->has_shared; i++) {
		const struct merge_lane *lane = &merge->lanes[i];
		if (source->ops->look(source, i, &look) && !lane->broken &&
			(look.busy || look.head != lane->tail))
			return false;
	}
	return true;
}

/* What is not to be seen at `now` has a later stamp than this. */
static uint64_t merge_idle(const struct merge *merge, uint64_t now)
{
	uint64_t margin = (uint64_t)((double)merge->source->hz * MARGIN_SECONDS);
	return now > margin ? now - margin : 0;
}

/* Looks at one lane: what there is, and what can still come. */
static void lane_look(struct merge *merge, struct merge_lane *lane, uint64_t now, bool last)
{
	struct event_look look = {.began = 0};
	lane->active = merge->source->ops->look(merge->source, lane->number, &look);
	if (!lane->active)
		return;
	uint64_t busy = look.busy, head = look.head;
	if (merge->limits && (int64_t)(head - merge->limits[lane->number]) > 0)
		head = merge->limits[lane->number];
	if (look.is_past) {
		lane_pass_by(merge, lane, &look, last ? UINT64_MAX : merge_idle(merge, now));
		return;
	}
	if (look.is_over)
		lane_near_end(lane, &look);
	if (look.generation != lane->generation) {
		lane_renew(lane, &look);
		lane_pass_over(merge, lane, look.began, &head);
	}
	if (head - lane->tail > lane->words) {
		lane->head = head;
		lane_break(merge, lane);
	}
	lane->head = lane->broken ? lane->tail : head;
	if (lane->broken)
		lane->tail = lane->head = head;
	uint64_t idle = merge_idle(merge, now);
	if (last) {
		lane->bound = UINT64_MAX;
		return;
	}
	if (!busy) {
		lane->busy_seen = 0;
		lane->idle_at = lane->bound = idle;
		return;
	}
	if (busy != lane->busy_seen || head != lane->busy_head) {
		lane->busy_seen = busy;
		lane->busy_head = head;
		lane->busy_since = now;
	}
	double seconds = (double)(now - lane->busy_since) / (double)merge->source->hz;
	bool stuck = seconds > BUSY_SECONDS;
	lane->bound = stuck ? idle : lane->idle_at;
	merge->waits |= !stuck;
}

/* Binary heap of lanes by stamp. */
static void heap_sift_down(struct merge *merge, uint32_t i)
{
	for (;;) {
		uint32_t child = 2 * i + 1;
		if (child >= merge->heap_count)
			return;
		if (child + 1 < merge->heap_count && merge->lanes[merge->heap[child + 1]].stamp <
							     merge->lanes[merge->heap[child]].stamp)
			child++;
		if (merge->lanes[merge->heap[i]].stamp <= merge->lanes[merge->heap[child]].stamp)
			return;
		uint32_t swap = merge->heap[i];
		merge->heap[i] = merge->heap[child];
		merge->heap[child] = swap;
		i = child;
	}
}

/* How far the first lane may go before another one's turn comes. */
static uint64_t second_stamp(const struct merge *merge)
{
	uint64_t second = UINT64_MAX;
	for (uint32_t i = 1; i < 3 && i < merge->heap_count; i++) {
		uint64_t stamp = merge->lanes[merge->heap[i]].stamp;
		if (stamp < second)
			second = stamp;
	}
	return second;
}

static uint64_t lane_bound(const struct merge_lane *lane)
{
	/* A busy lane's next event comes after its last one, whatever was seen before. */
	return lane->bound > lane->stamp ? lane->bound : lane->stamp;
}

/* What there is goes to the heap, what there is not limits what is safe to tell. */
static bool lane_enter(
	struct merge *merge, uint32_t number, uint64_t now, bool last, uint64_t *safe)
{
	struct merge_lane *lane = &merge->lanes[number];
	lane_look(merge, lane, now, last);
	if (!lane->active)
		return false;
	if (!lane->shared && number >= merge->lane_count)
		merge->lane_count = number + 1;
	struct record r;
	if (lane_peek(merge, lane, &r))
		merge->heap[merge->heap_count++] = number;
	else if (lane_bound(lane) < *safe)
		*safe = lane_bound(lane);
	return true;
}

static void lane_publish(struct merge *merge, struct merge_lane *lane)
{
	if (lane->active)
		lane_give_room(merge, lane);
}

/* What there is in all lanes. Narrows *safe to what is safe to tell. */
static void enter_lanes(struct merge *merge, uint64_t now, bool last, uint64_t *safe)
{
	const struct event_source *source = merge->source;
	uint32_t unused = 0;
	merge->heap_count = 0;
	for (uint32_t i = 0; i < source->lanes; i++) {
		if (unused > source->unused_most && i > merge->lane_count)
			break;
		unused = lane_enter(merge, i, now, last, safe) ? 0 : unused + 1;
	}
	if (source->has_shared)
		lane_enter(merge, source->lanes, now, last, safe);
	for (uint32_t i = merge->heap_count / 2; i-- > 0;)
		heap_sift_down(merge, i);
}

uint64_t merge_pass(struct merge *merge, bool last)
{
	struct event_source *source = merge->source;
	/* Nothing later than now, even if every lane has more: a lane that had no thread when it
	 * was looked at can have got one since. */
	uint64_t now = source->ops->stamp(source),
		 safe = last ? UINT64_MAX : merge_idle(merge, now);
	merge->moved = 0;
	merge->waits = false;
	if (source->ops->pass_begin)
		source->ops->pass_begin(source);
	enter_lanes(merge, now, last, &safe);
	while (merge->heap_count) {
		struct merge_lane *lane = &merge->lanes[merge->heap[0]];
		uint64_t until = second_stamp(merge);
		if (lane->stamp > safe)
			break;
		if (!lane_run(merge, lane, until < safe ? until : safe)) {
			if (lane_bound(lane) < safe)
				safe = lane_bound(lane);
			merge->heap[0] = merge->heap[--merge->heap_count];
		}
		heap_sift_down(merge, 0);
	}
	for (uint32_t i = 0; i < merge->lane_count; i++)
		lane_publish(merge, &merge->lanes[i]);
	lane_publish(merge, shared_lane(merge));
	if (!merge->moved && merge->waits && source->ops->waits)
		source->ops->waits(source);
	merge->delivered_until = safe;
	merge->idle_since = merge->heap_count || last ? 0 : safe;
	return merge->moved;
}

static void lane_pass_time(struct merge_lane *lane, uint64_t stamp)
{
	if (lane->active && lane->stamp < stamp)
		lane->stamp = stamp;
}

uint64_t merge_idle_since(struct merge *merge)
{
	if (!merge->idle_since)
		return 0;
	for (uint32_t i = 0; i < merge->lane_count; i++)
		lane_pass_time(&merge->lanes[i], merge->idle_since);
	/* Also where there is none: threads that have ended do so at its stamp. */
	if (shared_lane(merge)->stamp < merge->idle_since)
		shared_lane(merge)->stamp = merge->idle_since;
	return merge->idle_since;
}

void merge_read_heads(const struct merge *merge, uint64_t ret[EVENT_LANES_MAX])
{
	struct event_source *source = merge->source;
	for (uint32_t i = 0; i < EVENT_LANES_MAX; i++) {
		struct event_look look;
		bool has = i < source->lanes + source->has_shared &&
			   source->ops->look(source, i, &look);
		ret[i] = has ? look.head : merge->lanes[i].tail;
	}
}

void merge_pass_until(struct merge *merge, const uint64_t heads[EVENT_LANES_MAX])
{
	merge->limits = heads;
	merge_pass(merge, true);
	merge->limits = NULL;
}

/* No larger one can be measured. */
#define STACK_MAX (1ull << 30)

void merge_each_stack(struct merge *merge,
	void (*found)(void *context, uint32_t thread, uint64_t bytes), void *context)
{
	struct event_source *source = merge->source;
	for (uint32_t i = 0; source->ops->stack_top && i < merge->lane_count; i++) {
		struct merge_lane *lane = &merge->lanes[i];
		uint64_t low = lane->stack_low;
		if (!lane->active || lane->thread == MERGE_NO_THREAD || !low)
			continue;
		lane->stack_low = 0;
		uint64_t top = source->ops->stack_top(source, i);
		if (low && low < top && top - low <= STACK_MAX)
			found(context, lane->thread, top - low);
	}
}

uint32_t merge_in_flight(const struct merge *merge)
{
	uint32_t count = 0, unused = 0;
	struct event_source *source = merge->source;
	struct event_look look;
	for (uint32_t i = 0; i < source->lanes; i++) {
		if (unused > source->unused_most && i > merge->lane_count)
			break;
		bool active = source->ops->look(source, i, &look);
		unused = active ? 0 : unused + 1;
		count += active && look.busy;
	}
	if (source->has_shared)
		count += source->ops->look(source, source->lanes, &look) && look.busy;
	return count;
}

/* Whether the lane's thread is resizing a block. */
static bool lane_moves(
	const struct merge *merge, const struct merge_lane *lane, struct event_realloc *ret)
{
	struct event_source *source = merge->source;
	return source->ops->open_realloc && source->ops->open_realloc(source, lane->number, ret);
}

/* Where the lane's head is now; 0 if it has no thread. */
static uint64_t lane_head(const struct merge *merge, const struct merge_lane *lane)
{
	struct event_source *source = merge->source;
	struct event_look look;
	return lane->words && source->ops->look(source, lane->number, &look) ? look.head : 0;
}

bool merge_open_realloc(
	struct merge *merge, uint32_t lane, uint64_t stamp, struct merge_realloc *ret)
{
	struct event_source *source = merge->source;
	struct event_realloc open;
	struct event_look look;
	if (!lane_moves(merge, &merge->lanes[lane], &open) ||
		!source->ops->look(source, lane, &look))
		return false;
	uint32_t thread = lane_thread(merge, &merge->lanes[lane], stamp);
	if (thread == MERGE_NO_THREAD)
		return false;
	*ret = (struct merge_realloc){
		.address = open.address, .thread = thread, .stack = open.stack};
	return true;
}

/* The lane's thread is gone. What it left in the shared lane, it did before. */
static void lane_free(struct merge *merge, struct merge_lane *lane)
{
	struct merge_thread *known = merge_threads_find(&merge->threads, lane->tid);
	bool has_thread = lane->thread != MERGE_NO_THREAD;
	if (has_thread && known && known->thread == lane->thread) {
		known->lane = MERGE_NO_LANE;
		known->gone = lane_head(merge, shared_lane(merge)) + 1;
	} else if (has_thread) {
		merge->sink.on_thread_end(merge->sink.context, lane->thread, lane->stamp);
	}
	lane->active = false;
	lane->thread = MERGE_NO_THREAD;
	lane->tid = 0;
	if (merge->source->ops->release)
		merge->source->ops->release(merge->source, lane->number);
}

/* Whether a thread that has ended had a lane in the end, the words of which are still to come. */
static bool has_lane(const struct merge *merge, uint32_t tid)
{
	struct event_source *source = merge->source;
	for (uint32_t i = 0; i < source->lanes; i++) {
		struct event_look look;
		if (source->ops->look(source, i, &look) && look.tid == tid)
			return true;
	}
	return false;
}

/* Whether nothing of the thread, which had no lane in the end, can still come. */
static bool thread_is_over(struct merge *merge, struct merge_thread *t, uint32_t tid,
	bool (*alive)(void *context, uint32_t tid), void *context)
{
	const struct merge_lane *shared = shared_lane(merge);
	if (t->lane != MERGE_NO_LANE)
		return false;
	if (!t->gone && !alive(context, tid) && !has_lane(merge, tid))
		t->gone = lane_head(merge, shared) + 1;
	return t->gone && shared->tail + 1 >= t->gone;
}

#define ENDED_AT_ONCE 64

/* Ends threads that are gone and have no lane; true if there may be more. */
static bool end_laneless(
	struct merge *merge, bool (*alive)(void *context, uint32_t tid), void *context)
{
	const struct merge_lane *shared = shared_lane(merge);
	uint32_t ended[ENDED_AT_ONCE], count = 0, at = 0;
	const uint32_t *tid;
	for (struct merge_thread *t;
		count < ENDED_AT_ONCE && (t = merge_threads_next(&merge->threads, &at, &tid));) {
		if (thread_is_over(merge, t, *tid, alive, context))
			ended[count++] = *tid;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct merge_thread *t = merge_threads_find(&merge->threads, ended[i]);
		merge->sink.on_thread_end(merge->sink.context, t->thread, shared->stamp);
		merge_threads_remove(&merge->threads, ended[i]);
	}
	return count == ENDED_AT_ONCE;
}

void merge_reclaim(struct merge *merge, bool (*alive)(void *context, uint32_t tid), void *context)
{
	uint32_t freed = 0;
	struct event_source *source = merge->source;
	struct event_realloc open;
	if (source->ops->reclaim_begin)
		source->ops->reclaim_begin(source);
	for (uint32_t i = 0; i < merge->lane_count; i++) {
		struct merge_lane *lane = &merge->lanes[i];
		/* No thread id: taken by a thread that has not set its thread id yet. A lane is
		 * read again once its thread has ended: only then it can't change any more. A
		 * thread that ended inside a realloc is delivered last, soon after. */
		if (lane->active && lane->tail == lane->head && lane->tid &&
			!alive(context, lane->tid) && lane_head(merge, lane) == lane->tail &&
			!lane_moves(merge, lane, &open)) {
			lane_free(merge, lane);
			freed++;
		}
	}
	if (source->ops->reclaim_end)
		source->ops->reclaim_end(source, freed);
	/* A thread id that is used again is another thread. */
	while (end_laneless(merge, alive, context))
		;
}
