/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nearly every event of nearly every program passes here, so this one loop does what merge, live,
 * tally and encode do step by step for other events: what can't change from one event of a thread
 * to the next (its slot, its buffers, its counters) is looked up once for up to 255 of them. The
 * counting is not duplicated: both paths call tally_count_alloc() and tally_count_free(), the loop
 * with counters of the thread that it has at hand.
 */
#include "capture/recorder/drain_fast_path.h"

/* The longest usual record: [op | address] [stack | size] [stamp]. */
#define USUAL_WORDS 3

/* What the loop keeps in registers. */
struct run {
	struct recorder *r;
	struct encode_thread *encode;
	uint32_t thread;
	struct call_counters calls; /* of the thread: allocations so far; else of this run */
	uint64_t owner;             /* live_owner() of all blocks that it allocates in this run */
	uint64_t old;               /* own blocks before this number are of earlier chunks */
	uint64_t peak_step;         /* the latest peak of this run is after so many steps of it */
	uint32_t frees, last_site;  /* as in struct encode_thread */
	uint32_t *follower;         /* of the site before */
	uint8_t *runs, *token, *sizes, *refs;
};

static inline __attribute__((always_inline)) uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; __builtin_expect(value >= 0x80, 0); value >>= 7)
		*at++ = (uint8_t)value | 0x80;
	*at++ = (uint8_t)value;
	return at;
}

/* How many steps may come before one that this loop leaves to others; 0: none. */
static uint64_t steps_free(const struct recorder *r, uint32_t thread)
{
	const struct encoder *encoder = &r->encoder;
	if (thread >= encoder->thread_capacity || encoder->steps >= ENCODE_STEPS_MAX ||
		r->bad_frees.all || r->stopped || r->pools.covers.len || r->heap_pages.is_on ||
		r->mode.kind == MODE_SAMPLE)
		return 0;
	const struct encode_thread *t = encoder->threads[thread];
	if (!t || t->chunk != encoder->chunk || r->tally.threads[thread].fresh)
		return 0;
	uint64_t since = encoder->steps % HPW_TIME_STEP, until = since ? HPW_TIME_STEP - since : 0;
	/* Its memory grows with the first step after this many tokens, as of any other step. */
	uint64_t grows = t->memory_grows > t->tokens ? t->memory_grows - t->tokens : until;
	uint64_t steps = until < grows ? until : grows;
	/* Numbers of blocks differ in their lower halves only, and are not too large. */
	uint64_t number = r->tally.threads[thread].allocations, last = number + steps;
	return number >> 32 != last >> 32 || last >> LIVE_NUMBER_BITS ? 0 : steps;
}

static inline bool reserve_room(struct buf *buf, size_t bytes)
{
	return buf->cap - buf->len >= bytes || buf_reserve(buf, bytes);
}

static bool begin_run(struct run *run, struct recorder *r, uint32_t thread, uint64_t steps)
{
	struct encode_thread *t = r->encoder.threads[thread];
	size_t bytes = steps * VARINT_BYTES_MAX;
	/* A reference can be two numbers. */
	if (!reserve_room(&t->runs, bytes) || !reserve_room(&t->token, bytes) ||
		!reserve_room(&t->sizes, bytes) || !reserve_room(&t->refs, 2 * bytes))
		return false;
	encode_make_room(t);
	encoder_turn(&r->encoder, t);
	uint64_t allocations = r->tally.threads[thread].allocations;
	*run = (struct run){.r = r,
		.encode = t,
		.thread = thread,
		.calls.allocations = allocations,
		.owner = live_owner(thread, allocations),
		.old = r->encoder.with_deaths ? t->first_allocation : 0,
		.frees = t->frees,
		.last_site = t->last_site,
		.follower = t->last_site
				    ? &encode_remembered(&r->encoder, t, t->last_site - 1)->follower
				    : &t->first_follower,
		.runs = t->runs.data + t->runs.len,
		.token = t->token.data + t->token.len,
		.sizes = t->sizes.data + t->sizes.len,
		.refs = t->refs.data + t->refs.len};
	return true;
}

/* Of a recording without events a run needs nothing of the encoder: its length is only bounded so
 * that a chunk of what they refer to is written now and then. */
#define FOLDED_STEPS 1024u

static uint64_t steps_free_folding(const struct recorder *r, uint32_t thread)
{
	if (thread >= r->tally.thread_count || r->encoder.steps >= ENCODE_STEPS_MAX ||
		r->bad_frees.all || r->stopped || r->pools.covers.len || r->heap_pages.is_on ||
		r->tally.threads[thread].fresh)
		return 0;
	uint64_t number = r->tally.threads[thread].allocations, last = number + FOLDED_STEPS;
	return number >> 32 != last >> 32 || last >> LIVE_NUMBER_BITS ? 0 : FOLDED_STEPS;
}

static void begin_run_folding(struct run *run, struct recorder *r, uint32_t thread)
{
	uint64_t allocations = r->tally.threads[thread].allocations;
	*run = (struct run){.r = r,
		.thread = thread,
		.calls.allocations = allocations,
		.owner = live_owner(thread, allocations)};
}

static void end_run_columns(const struct run *run, uint64_t steps)
{
	struct encode_thread *t = run->encode;
	t->tokens += run->calls.allocations - run->r->tally.threads[run->thread].allocations;
	t->runs.len = (size_t)(run->runs - t->runs.data);
	t->token.len = (size_t)(run->token - t->token.data);
	t->sizes.len = (size_t)(run->sizes - t->sizes.data);
	t->refs.len = (size_t)(run->refs - t->refs.data);
	t->frees = run->frees;
	t->last_site = run->last_site;
	run->r->encoder.run_length += (uint32_t)steps;
}

static void end_run(const struct run *run, uint64_t steps, uint64_t stamp)
{
	struct recorder *r = run->r;
	if (run->encode)
		end_run_columns(run, steps);
	if (run->peak_step)
		r->tally.peak_stamp = encoder_peak(
			&r->encoder, r->encoder.steps + run->peak_step - 1, r->tally.peak_stamp);
	r->encoder.steps += steps;
	r->tally.steps += steps;
	struct tally_thread *totals = &r->tally.threads[run->thread];
	uint64_t allocations = run->calls.allocations - totals->allocations;
	struct call_counters more = run->calls;
	more.allocations = allocations;
	call_counters_add(&totals->calls, &more);
	if (steps) {
		totals->last_stamp = stamp;
		totals->in_realloc = false;
		r->sums.calls += steps;
	}
}

static inline __attribute__((always_inline)) void encode_event(
	struct run *run, uint32_t site, uint32_t size)
{
	uint64_t value = HPW_TOKEN_PREDICTED;
	if (*run->follower != site + 1) {
		*run->follower = site + 1;
		value = HPW_TOKEN_SITE + 2 * (uint64_t)site;
	}
	struct encode_memory *m = encode_remembered(&run->r->encoder, run->encode, site);
	run->follower = &m->follower;
	run->last_site = site + 1;
	if (m->size != size) {
		m->size = size;
		value++;
		run->sizes = put_varint(run->sizes, size);
	}
	run->runs = put_varint(run->runs, run->frees);
	run->frees = 0;
	run->token = put_varint(run->token, value);
}

/* Places the block that the thread allocates now. False: it can't be, and nothing has been done. */
static inline __attribute__((always_inline)) bool place_block(
	struct run *run, uint64_t address, uint32_t site, uint32_t size)
{
	struct live_table *live = &run->r->live;
	uint64_t owner = run->owner | (uint64_t)(site + 1) << 12;
	uint64_t what = (run->calls.allocations & UINT32_MAX) | (uint64_t)size << 32;
	struct live_page *page = live_page_of(live, address);
	struct live_place *place = live_own_empty(page, address);
	if (__builtin_expect(place != NULL, 1)) {
		live_put_own(live, page, place, owner | live_offset(address), what);
		return true;
	}
	place = live_table_make_place(live, page, address, &page);
	if (!place || place->owner)
		return false;
	page->displaced += place != live_own_place(page, live_offset(address));
	live_put_own(live, page, place, owner | live_offset(address), what);
	return true;
}

/* The step after `steps` of this run. False: the record is not a usual one, and nothing has been
 * done. */
static inline __attribute__((always_inline)) bool take_alloc(
	struct run *run, uint64_t w0, uint64_t w1, uint64_t stamp, uint64_t steps, bool folds)
{
	struct tally *tally = &run->r->tally;
	uint64_t address = w0 >> 8;
	uint32_t stack = (uint32_t)w1, size = (uint32_t)(w1 >> 32);
	if (!address || size == HW_R_SIZE_BIG || stack >= tally->stack_capacity ||
		!tally->site_of_stack[stack])
		return false;
	uint32_t site = tally->site_of_stack[stack] - 1;
	struct tally_site *s = &tally->sites[site];
	if (s->kind != (w0 & 0x7f) - HW_R_ALLOC || !place_block(run, address, site, size))
		return false;
	if (!folds)
		encode_event(run, site, size);
	if (__builtin_expect(tally_count_alloc(tally, s, &run->calls, size, stamp), 0))
		run->peak_step = steps + 1;
	return true;
}

static inline __attribute__((always_inline)) void encode_reference(
	struct run *run, uint32_t owner, uint64_t number, uint64_t age, uint64_t flags)
{
	if (__builtin_expect(owner == run->thread, 1)) {
		run->refs = put_varint(run->refs, age << 2 | flags);
	} else {
		run->refs = put_varint(run->refs, (uint64_t)owner << 2 | flags | 1);
		run->refs = put_varint(run->refs, number);
	}
}

static inline __attribute__((always_inline)) bool take_free(
	struct run *run, uint64_t w0, bool folds)
{
	struct recorder *r = run->r;
	struct tally *tally = &r->tally;
	uint64_t address = w0 >> 8;
	struct live_page *page = live_page_of(&r->live, address);
	if (!page || !page->places)
		return false;
	struct live_place *place = live_place_of(page, address);
	if (!place || live_size(place) == LIVE_SIZE_LARGE)
		return false;
	uint32_t size = live_size(place), site = live_site(place), owner = live_thread(place);
	struct tally_site *s = &tally->sites[site];
	if ((w0 & 7) != s->free_kind)
		return false;
	uint64_t same_frame = (w0 & 0x7f) >= HW_R_FREE_SAME_FRAME;
	uint64_t number = live_number(place), age = run->calls.allocations - number;
	bool own = owner == run->thread;
	if (!folds)
		encode_reference(run, owner, number, age, same_frame << 1);
	run->frees++;
	if (r->encoder.with_deaths &&
		(own ? number < run->old : encode_is_death(&r->encoder, owner, number)))
		encode_death(&r->encoder, run->encode,
			&(struct encode_block){owner, site, number, size});
	tally_count_free(tally, s, &run->calls,
		&(struct account_free){
			.size = size, .temporary = own && age == 1, .same_frame = same_frame});
	bad_frees_pass(&r->bad_frees, address, site, run->thread);
	live_close(&r->live, page, place);
	return true;
}

/* So far ahead, in words: what a fetch from memory takes. Looked at in portions of half of it. */
#define AHEAD_WORDS 64

/* Whatever comes of these records, in this run or, after those of other threads, in a later one. */
static __attribute__((noinline)) void look_ahead(
	const struct live_table *live, struct merge_run *run, uint64_t at)
{
	uint64_t end_run = at + AHEAD_WORDS, i = run->looked > at ? run->looked : at;
	while (i < end_run && i + USUAL_WORDS <= run->count) {
		uint64_t w0 = __atomic_load_n(&run->words[i], __ATOMIC_RELAXED);
		live_table_prefetch(live, w0 >> 8);
		i += 1u + merge_is_alloc(w0 & 0x7f) + !!(w0 & HW_R_STAMPED);
	}
	run->looked = i;
}

/* Takes at most `limit` records; returns the words. */
static inline __attribute__((always_inline)) uint64_t take_records(
	struct recorder *r, uint32_t thread, struct merge_run *given, uint64_t limit, bool folds)
{
	struct run run;
	if (folds)
		begin_run_folding(&run, r, thread);
	else if (!begin_run(&run, r, thread, limit))
		return 0;
	const uint64_t *words = given->words;
	uint64_t steps = 0, at = 0, stamp = given->stamp, until = given->until;
	uint64_t last = given->count - USUAL_WORDS, look = given->look_ahead ? 0 : UINT64_MAX;
	while (steps < limit && at <= last) {
		if (at >= look) {
			look_ahead(&r->live, given, at);
			look = given->looked - AHEAD_WORDS / 2;
		}
		uint64_t w0 = __atomic_load_n(&words[at], __ATOMIC_RELAXED), now = stamp, n = 1;
		if (merge_is_alloc(w0 & 0x7f)) {
			uint64_t w1 = __atomic_load_n(&words[at + n++], __ATOMIC_RELAXED);
			if (w0 & HW_R_STAMPED)
				now = __atomic_load_n(&words[at + n++], __ATOMIC_RELAXED);
			if (now > until && w0 >> 8 && w1 >> 32 != HW_R_SIZE_BIG)
				given->later = now;
			if (now > until || !take_alloc(&run, w0, w1, now, steps, folds))
				break;
		} else if ((w0 & 0x70) == HW_R_FREE) {
			if (w0 & HW_R_STAMPED)
				now = __atomic_load_n(&words[at + n++], __ATOMIC_RELAXED);
			if (now > until)
				given->later = now;
			if (now > until || !take_free(&run, w0, folds))
				break;
		} else {
			break;
		}
		stamp = now;
		at += n;
		steps++;
	}
	end_run(&run, steps, stamp);
	given->stamp = stamp;
	given->events = steps;
	return at;
}

uint64_t recorder_drain_fast(struct recorder *recorder, uint32_t thread, struct merge_run *given)
{
	uint64_t limit = recorder->folds ? steps_free_folding(recorder, thread)
					 : steps_free(recorder, thread);
	if (limit > given->count)
		limit = given->count;
	if (!limit || given->count < USUAL_WORDS)
		return 0;
	return recorder->folds ? take_records(recorder, thread, given, limit, true)
			       : take_records(recorder, thread, given, limit, false);
}
