/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/lane.h"

#include <string.h>

/* Tell the producer about room every this many words, not only at the end of a pass. */
#define PUBLISH_WORDS 4096

static inline uint64_t lane_word(const struct merge_lane *lane, uint64_t at)
{
	return __atomic_load_n(&lane->data[at & (lane->words - 1)], __ATOMIC_RELAXED);
}

void lane_break(struct merge *merge, struct merge_lane *lane)
{
	lane->broken = true;
	lane->usual = false;
	lane->tail = lane->head;
	merge->damaged++;
}

/* The record at word `at`; words = 0 when it makes no sense or is not all there. Without a stamp of
 * its own it has the lane's. */
static inline struct record read_record(const struct merge_lane *lane, uint64_t at)
{
	uint64_t w0 = lane_word(lane, at), left = lane->head - at;
	struct record r = {.op = (uint32_t)w0 & 0x7f,
		.stamped = w0 & HW_R_STAMPED,
		.number = w0 >> 8,
		.stamp = lane->stamp};
	uint32_t n = 1;
	if (merge_is_free(r.op)) {
		/* one word */
	} else if (merge_is_alloc(r.op) || r.op == HW_R_REALLOC) {
		if (left < 2)
			return r;
		uint64_t w1 = lane_word(lane, at + n++);
		r.stack = (uint32_t)w1;
		r.size = w1 >> 32;
		if (r.size == HW_R_SIZE_BIG)
			r.size = lane_word(lane, at + n++);
		if (r.op == HW_R_REALLOC)
			r.old = lane_word(lane, at + n++);
		if (!r.number)
			return r;
	} else if (r.op == HW_R_FAILED) {
		r.stack = (uint32_t)lane_word(lane, at + 1);
		r.size = lane_word(lane, at + 2);
		n = 3;
	} else if (r.op == HW_R_ANNOTATION) {
		r.stack = (uint32_t)lane_word(lane, at + 1) & 0xff;
		r.size = lane_word(lane, at + n++) >> 8;
	} else if (r.op == HW_R_TIME) {
		r.stamp = lane_word(lane, at + 1);
		n = 2;
	} else if (r.op == HW_R_MARK) {
		if (!r.number || r.number > HW_MARK_NAME_MAX || !r.stamped)
			return r;
		n += (uint32_t)(r.number + 7) / 8;
	} else if (r.op == HW_R_MAP || r.op == HW_R_UNMAP) {
		if (!r.stamped)
			return r;
		r.old = r.op == HW_R_MAP ? lane_word(lane, at + n++) : 0;
		r.stack = (uint32_t)r.old;
		r.size = lane_word(lane, at + n++);
	} else if (r.op == HW_R_POOL) {
		if (!r.stamped || left < HW_R_WORDS_POOL)
			return r;
		r.old = lane_word(lane, at + n++);
		r.size = lane_word(lane, at + n++);
		uint64_t w3 = lane_word(lane, at + n++);
		r.stack = (uint32_t)w3;
		r.name_bytes = (uint32_t)(w3 >> 32);
		if (r.name_bytes > HW_MARK_NAME_MAX)
			return r;
		n += (r.name_bytes + 7) / 8;
	} else if (r.op == HW_R_ERROR) {
		if (!r.stamped)
			return r;
		n += HW_ERROR_WORDS;
	} else if (r.op == HW_R_PAD) {
		n = lane->lap - (uint32_t)(at & (lane->lap - 1));
	} else if (r.op != HW_R_LOST && r.op != HW_R_FOREIGN && r.op != HW_R_STACK &&
		   !((r.op == HW_R_FORK || r.op == HW_R_MOVING) && r.stamped)) {
		return r;
	}
	if (r.stamped) {
		r.stamp = lane_word(lane, at + n++);
		if (r.op == HW_R_REALLOC)
			r.stamp2 = lane_word(lane, at + n++);
	} else {
		r.stamp2 = r.stamp;
	}
	if (n <= left)
		r.words = n;
	return r;
}

static inline bool is_call(uint32_t op)
{
	return op != HW_R_LOST && op != HW_R_FORK && op != HW_R_MOVING && op != HW_R_ANNOTATION &&
	       op != HW_R_MARK && op != HW_R_MAP && op != HW_R_UNMAP && op != HW_R_ERROR;
}

/* Whether a record is not an event itself: peek_record() passes over it. */
static inline bool is_beside(uint32_t op)
{
	return op == HW_R_PAD || op == HW_R_TIME || op == HW_R_STACK || op == HW_R_FOREIGN;
}

uint64_t lane_pass_words(struct merge_lane *lane, uint64_t until)
{
	uint64_t calls = 0, at = lane->tail;
	bool makes_sense = until - at <= lane->words;
	lane->head = until;
	while (makes_sense && at != until) {
		struct record r = read_record(lane, at);
		makes_sense = r.words;
		calls += makes_sense && is_call(r.op) && !is_beside(r.op);
		at += r.words;
	}
	lane->tail = until;
	return calls + !makes_sense;
}

/* A thread of that id begins: another one that had it has ended by then. */
static uint32_t thread_begin(struct merge *merge, uint32_t tid, uint32_t lane, uint64_t stamp)
{
	struct merge_thread *known = merge_threads_find(&merge->threads, tid);
	if (known && known->lane == MERGE_NO_LANE)
		merge->sink.on_thread_end(merge->sink.context, known->thread, stamp);
	uint32_t thread = merge->sink.on_thread(merge->sink.context, tid, stamp);
	if (thread == MERGE_NO_THREAD) {
		if (known && known->lane == MERGE_NO_LANE)
			merge_threads_remove(&merge->threads, tid);
		return thread;
	}
	known = merge_threads_insert(&merge->threads, tid, NULL);
	if (known)
		*known = (struct merge_thread){.thread = thread, .lane = lane};
	else if (lane == MERGE_NO_LANE)
		return MERGE_NO_THREAD;
	return thread;
}

/* The thread of the record at the shared lane's tail. */
static uint32_t foreign_thread(struct merge *merge, const struct merge_lane *lane, uint64_t stamp)
{
	const struct merge_thread *known = merge_threads_find(&merge->threads, lane->foreign);
	if (known && (!known->gone || lane->tail < known->gone))
		return known->thread;
	return thread_begin(merge, lane->foreign, MERGE_NO_LANE, stamp);
}

/* The thread of a lane of which nothing was delivered yet: a new one, or one that had to use the
 * shared lane first. */
static uint32_t own_thread(struct merge *merge, const struct merge_lane *lane, uint64_t stamp)
{
	struct merge_thread *known = merge_threads_find(&merge->threads, lane->tid);
	if (!known || known->lane != MERGE_NO_LANE || known->gone)
		return thread_begin(merge, lane->tid, lane->number, stamp);
	known->lane = lane->number;
	return known->thread;
}

inline uint32_t lane_thread(struct merge *merge, struct merge_lane *lane, uint64_t stamp)
{
	if (lane->shared)
		return lane->foreign == MERGE_NO_TID ? MERGE_NO_THREAD
						     : foreign_thread(merge, lane, stamp);
	if (lane->thread == MERGE_NO_THREAD)
		lane->thread = own_thread(merge, lane, stamp);
	return lane->thread;
}

/* Of a mark that the program has set. The name is hostile input: it ends at the first NUL. */
static void put_mark(const struct merge *merge, const struct merge_lane *lane, uint32_t thread,
	const struct record *r)
{
	uint64_t name[HW_MARK_NAME_WORDS];
	for (uint64_t i = 0; i * 8 < r->number; i++)
		name[i] = lane_word(lane, lane->tail + 1 + i);
	size_t bytes = strnlen((const char *)name, r->number);
	if (bytes)
		merge->sink.on_mark(
			merge->sink.context, thread, (const char *)name, bytes, r->stamp);
}

/* As put_mark(). */
static void put_pool(const struct merge *merge, const struct merge_lane *lane, uint32_t thread,
	const struct record *r)
{
	uint64_t name[HW_MARK_NAME_WORDS];
	for (uint32_t i = 0; i * 8 < r->name_bytes; i++)
		name[i] = lane_word(lane, lane->tail + HW_R_WORDS_POOL - 1 + i);
	merge->sink.on_pool(merge->sink.context, thread,
		&(struct merge_pool){.what = (uint32_t)(r->old >> 56),
			.stack = r->stack,
			.pool = r->old & ((1ull << 56) - 1),
			.address = r->number,
			.size = r->size,
			.stamp = r->stamp,
			.name = (const char *)name,
			.name_bytes =
				r->name_bytes ? strnlen((const char *)name, r->name_bytes) : 0});
}

/* What the words say is checked by who keeps it. */
static void put_error(const struct merge *merge, const struct merge_lane *lane, uint32_t thread,
	const struct record *r)
{
	union {
		uint64_t words[HW_ERROR_WORDS];
		struct hw_error_report report;
	} copy;
	for (uint64_t i = 0; i < HW_ERROR_WORDS; i++)
		copy.words[i] = lane_word(lane, lane->tail + 1 + i);
	merge->sink.on_error(merge->sink.context, thread, r->number, &copy.report, r->stamp);
}

/* As put_error(). */
static void put_mapping(const struct merge *merge, uint32_t thread, const struct record *r)
{
	merge->sink.on_mapping(merge->sink.context, thread,
		&(struct merge_mapping){.maps = r->op == HW_R_MAP,
			.kind = (uint32_t)(r->old >> 32) & 0xff,
			.flags = (uint32_t)(r->old >> 40) & 0xff,
			.stack = r->stack,
			.address = r->number,
			.bytes = r->size,
			.stamp = r->stamp});
}

/* Delivers one record. */
static inline void emit_record(struct merge *merge, struct merge_lane *lane, const struct record *r)
{
	const struct merge_sink *s = &merge->sink;
	uint32_t thread = lane_thread(merge, lane, r->stamp);
	if (thread == MERGE_NO_THREAD) {
		merge->dropped += is_call(r->op) && !lane->half;
		return;
	}
	if (merge_is_alloc(r->op))
		s->on_alloc(s->context, thread, r->op - HW_R_ALLOC, r->number, r->stack, r->size,
			r->stamp);
	else if (merge_is_free(r->op))
		s->on_free(s->context, thread, r->op & 7, r->op >= HW_R_FREE_SAME_FRAME, r->number,
			r->stamp);
	else if (r->op == HW_R_FAILED)
		s->on_failed(s->context, thread, r->number % HW_ALLOC_KINDS, r->stack, r->size,
			r->stamp);
	else if (r->op == HW_R_LOST)
		s->on_lost(s->context, thread, r->number, r->stamp);
	else if (r->op == HW_R_MOVING && s->on_moving)
		s->on_moving(s->context, thread, r->number);
	else if (r->op == HW_R_ANNOTATION && s->on_annotation)
		s->on_annotation(s->context, thread, r->stack, r->number, r->size);
	else if (r->op == HW_R_MARK && s->on_mark)
		put_mark(merge, lane, thread, r);
	else if ((r->op == HW_R_MAP || r->op == HW_R_UNMAP) && s->on_mapping)
		put_mapping(merge, thread, r);
	else if (r->op == HW_R_POOL && s->on_pool)
		put_pool(merge, lane, thread, r);
	else if (r->op == HW_R_ERROR && s->on_error)
		put_error(merge, lane, thread, r);
	else if (r->op == HW_R_FORK && s->on_fork)
		s->on_fork(s->context, thread, r->stamp);
}

void lane_give_room(struct merge *merge, struct merge_lane *lane)
{
	lane->published = lane->tail;
	merge->source->ops->taken(merge->source, lane->number, lane->tail);
}

static inline bool peek_record(struct merge *merge, struct merge_lane *lane, struct record *ret)
{
	while (lane->tail != lane->head) {
		*ret = read_record(lane, lane->tail);
		if (__builtin_expect(!ret->words, 0)) {
			lane_break(merge, lane);
			return false;
		}
		if (ret->op == HW_R_FOREIGN) {
			lane->foreign = (uint32_t)ret->number;
			lane->tail += ret->words;
			continue;
		}
		if (ret->op == HW_R_STACK) {
			if (!lane->stack_next || ret->number < lane->stack_next)
				lane->stack_next = ret->number;
			lane->tail += ret->words;
			continue;
		}
		if (ret->op == HW_R_TIME || ret->op == HW_R_PAD) {
			lane->stamp = ret->stamp;
			lane->tail += ret->words;
			continue;
		}
		if (lane->half && ret->op != HW_R_REALLOC) {
			lane_break(merge, lane);
			return false;
		}
		lane->stamp = lane->half ? ret->stamp2 : ret->stamp;
		return true;
	}
	return false;
}

bool lane_peek(struct merge *merge, struct merge_lane *lane, struct record *ret)
{
	return peek_record(merge, lane, ret);
}

/* The lane's tail has moved: gives the room back when it is worth it. */
static inline void moved_on(struct merge *merge, struct merge_lane *lane, uint64_t words)
{
	merge->moved += words;
	if (lane->tail - lane->published < PUBLISH_WORDS)
		return;
	lane_give_room(merge, lane);
}

static inline bool lane_has_runs(const struct merge *merge, const struct merge_lane *lane)
{
	return merge->sink.on_run && !lane->shared && !lane->half &&
	       lane->thread != MERGE_NO_THREAD;
}

/* Hands the sink runs of records for as long as it takes them. Returns whether it took any; notes
 * whether it stopped at one that is later. */
static bool lane_run_whole(struct merge *merge, struct merge_lane *lane, uint64_t until)
{
	const struct merge_sink *s = &merge->sink;
	uint64_t began = lane->tail, taken = 1;
	lane->usual = false;
	while (taken && !lane->usual && lane->tail != lane->head) {
		uint32_t at = (uint32_t)lane->tail & (lane->words - 1);
		uint64_t left = lane->head - lane->tail, lap = lane->words - at;
		struct merge_run run = {.words = &lane->data[at],
			.count = left < lap ? left : lap,
			.until = until,
			.stamp = lane->stamp,
			.look_ahead = merge->look_ahead,
			.looked = lane->looked > lane->tail ? lane->looked - lane->tail : 0};
		taken = s->on_run(s->context, lane->thread, &run);
		lane->usual = run.later;
		lane->stamp = run.later ? run.later : run.stamp;
		lane->looked = lane->tail + run.looked;
		lane->tail += taken;
		merge->events += run.events;
		moved_on(merge, lane, taken);
	}
	return lane->tail != began;
}

/* The record at tail is about to be delivered: the depth that HW_R_STACK gave for it counts now. */
static inline void lane_deepen(struct merge_lane *lane)
{
	if (!lane->stack_next)
		return;
	if (!lane->stack_low || lane->stack_next < lane->stack_low)
		lane->stack_low = lane->stack_next;
	lane->stack_next = 0;
}

/* Emits the record at tail. */
static void lane_emit(struct merge *merge, struct merge_lane *lane, struct record *r)
{
	/* A realloc counts with its first half: the second may never be seen. */
	merge->events += is_call(r->op) && !lane->half;
	if (__builtin_expect(r->op == HW_R_REALLOC, 0)) {
		uint64_t address = r->number;
		r->op = lane->half ? HW_R_ALLOC + HW_REALLOC : HW_R_FREE + HW_FREE_REALLOC;
		r->number = lane->half ? address : r->old;
		r->stamp = lane->stamp;
		emit_record(merge, lane, r);
		lane->half = !lane->half;
		if (lane->half)
			return;
	} else {
		emit_record(merge, lane, r);
	}
	lane->tail += r->words;
	moved_on(merge, lane, r->words);
}

bool lane_run(struct merge *merge, struct merge_lane *lane, uint64_t until)
{
	struct record r;
	if (lane->usual) {
		lane_run_whole(merge, lane, until);
		if (lane->usual)
			return true;
	}
	while (peek_record(merge, lane, &r)) {
		if (lane->stamp > until)
			return true;
		lane_deepen(lane);
		if (!lane_has_runs(merge, lane) || !lane_run_whole(merge, lane, until))
			lane_emit(merge, lane, &r);
		if (lane->usual)
			return true;
	}
	return false;
}
