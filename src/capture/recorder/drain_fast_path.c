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
	struct call_counters calls;     /* of the thread: allocations so far; else of this run */
	uint64_t peak_epoch, peak_step; /* of the latest peak; its place if it is in this run */
	uint32_t *follower;             /* of the site before */
	uint8_t *runs, *token, *sizes, *refs;
};

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; __builtin_expect(value >= 0x80, 0); value >>= 7)
		*at++ = (uint8_t)value | 0x80;
	*at++ = (uint8_t)value;
	return at;
}

/* How many steps may come before one that this loop leaves to others; 0: none. */
static uint64_t steps_free(const struct encoder *encoder, uint32_t thread)
{
	if (thread >= encoder->thread_capacity || encoder->steps >= ENCODE_STEPS_MAX)
		return 0;
	const struct encode_thread *t = encoder->threads[thread];
	if (!t || t->chunk != encoder->chunk)
		return 0;
	uint64_t since = encoder->steps % HPW_TIME_STEP, until = since ? HPW_TIME_STEP - since : 0;
	/* Its memory grows with the first step after this many tokens, as of any other step. */
	uint64_t grows = t->memory_grows > t->tokens ? t->memory_grows - t->tokens : until;
	return until < grows ? until : grows;
}

static inline bool reserve_room(struct buf *buf, size_t bytes)
{
	return buf->cap - buf->len >= bytes || buf_reserve(buf, bytes);
}

static bool begin_run(struct run *run, struct recorder *r, uint32_t thread, uint64_t steps)
{
	struct encode_thread *t = r->encoder.threads[thread];
	if (r->tally.threads[thread].fresh)
		return false;
	size_t bytes = steps * VARINT_BYTES_MAX;
	/* A reference can be two numbers. */
	if (!reserve_room(&t->runs, bytes) || !reserve_room(&t->token, bytes) ||
		!reserve_room(&t->sizes, bytes) || !reserve_room(&t->refs, 2 * bytes))
		return false;
	encode_make_room(t);
	encoder_turn(&r->encoder, t);
	*run = (struct run){.r = r,
		.encode = t,
		.thread = thread,
		.calls.allocations = r->tally.threads[thread].allocations,
		.peak_epoch = r->tally.heap.peak_epoch,
		.peak_step = UINT64_MAX,
		.follower = t->last_site
				    ? &encode_remembered(&r->encoder, t, t->last_site - 1)->follower
				    : &t->first_follower,
		.runs = t->runs.data + t->runs.len,
		.token = t->token.data + t->token.len,
		.sizes = t->sizes.data + t->sizes.len,
		.refs = t->refs.data + t->refs.len};
	return true;
}

static void end_run(const struct run *run, uint64_t steps, uint64_t stamp)
{
	struct recorder *r = run->r;
	struct encode_thread *t = run->encode;
	t->runs.len = (size_t)(run->runs - t->runs.data);
	t->token.len = (size_t)(run->token - t->token.data);
	t->sizes.len = (size_t)(run->sizes - t->sizes.data);
	t->refs.len = (size_t)(run->refs - t->refs.data);
	if (run->peak_step != UINT64_MAX)
		r->tally.peak_stamp = encoder_peak(
			&r->encoder, r->encoder.steps + run->peak_step, r->tally.peak_stamp);
	r->encoder.steps += steps;
	r->encoder.run_length += (uint32_t)steps;
	r->tally.steps += steps;
	struct tally_thread *totals = &r->tally.threads[run->thread];
	uint64_t allocations = run->calls.allocations - totals->allocations;
	t->tokens += allocations;
	struct call_counters more = run->calls;
	more.allocations = allocations;
	call_counters_add(&totals->calls, &more);
	if (steps) {
		totals->last_stamp = stamp;
		totals->in_realloc = false;
		r->sums.calls += steps;
	}
}

static inline void encode_event(struct run *run, uint32_t site, uint32_t size)
{
	if (run->r->folds)
		return;
	struct encode_thread *t = run->encode;
	uint64_t value = HPW_TOKEN_PREDICTED;
	if (*run->follower != site + 1) {
		*run->follower = site + 1;
		value = HPW_TOKEN_SITE + 2 * (uint64_t)site;
	}
	struct encode_memory *m = encode_remembered(&run->r->encoder, t, site);
	run->follower = &m->follower;
	t->last_site = site + 1;
	if (m->size != size) {
		m->size = size;
		value++;
		run->sizes = put_varint(run->sizes, size);
	}
	run->runs = put_varint(run->runs, t->frees);
	t->frees = 0;
	run->token = put_varint(run->token, value);
}

/* False: the record is not a usual one, and nothing has been done. */
static inline bool take_alloc(struct run *run, uint64_t w0, uint64_t w1, uint64_t stamp)
{
	struct recorder *r = run->r;
	struct tally *tally = &r->tally;
	uint64_t address = w0 >> 8;
	uint32_t stack = (uint32_t)w1, size = (uint32_t)(w1 >> 32);
	if (!address || size == HW_R_SIZE_BIG || stack >= tally->stack_capacity ||
		!tally->site_of_stack[stack] || run->calls.allocations >> LIVE_NUMBER_BITS)
		return false;
	uint32_t site = tally->site_of_stack[stack] - 1;
	struct tally_site *s = &tally->sites[site];
	if (s->kind != (w0 & 0x7f) - HW_R_ALLOC)
		return false;
	struct live_page *page;
	struct live_place *place = live_place_for(&r->live, address, &page);
	if (!place || place->owner)
		return false;
	live_put(&r->live, page, place,
		&(struct live_entry){.address = address,
			.size = size,
			.number = run->calls.allocations,
			.thread = run->thread,
			.site = site});
	encode_event(run, site, size);
	tally_count_alloc(tally, s, &run->calls, size, stamp);
	return true;
}

static inline bool take_free(struct run *run, uint64_t w0)
{
	struct recorder *r = run->r;
	struct tally *tally = &r->tally;
	uint64_t address = w0 >> 8;
	struct live_page *page = live_page_of(&r->live, address);
	if (!page || !page->used)
		return false;
	struct live_place *place = live_place_of(page, address);
	if (!place || live_size(place) == LIVE_SIZE_LARGE)
		return false;
	uint32_t size = live_size(place);
	struct tally_site *s = &tally->sites[live_site(place)];
	if ((w0 & 7) != hw_matching_free(s->kind) || r->bad_frees.all)
		return false;
	bool same_frame = (w0 & 0x7f) >= HW_R_FREE_SAME_FRAME;
	uint64_t flags = same_frame ? 2 : 0;
	uint64_t number = live_number(place), age = run->calls.allocations - number;
	uint32_t owner = live_thread(place);
	bool own = owner == run->thread;
	if (r->folds) {
		/* nothing is kept of it */
	} else if (own) {
		run->refs = put_varint(run->refs, age << 2 | flags);
	} else {
		run->refs = put_varint(run->refs, (uint64_t)owner << 2 | flags | 1);
		run->refs = put_varint(run->refs, number);
	}
	run->encode->frees++;
	if (r->encoder.with_deaths && (own ? number < run->encode->first_allocation
					   : encode_is_death(&r->encoder, owner, number)))
		encode_death(&r->encoder, run->encode,
			&(struct encode_block){owner, live_site(place), number, size});
	tally_count_free(tally, s, &run->calls,
		&(struct account_free){
			.size = size, .temporary = own && age == 1, .same_frame = same_frame});
	bad_frees_pass(&r->bad_frees, address, live_site(place), run->thread);
	live_close(&r->live, page, place);
	return true;
}

/* So far ahead, in words: what a fetch from memory takes. Looked at in portions of half of it. */
#define AHEAD_WORDS 64

/* Whatever comes of these records, in this run or, after those of other threads, in a later one. */
static void look_ahead(const struct live_table *live, struct merge_run *run, uint64_t at)
{
	uint64_t end_run = at + AHEAD_WORDS, i = run->looked > at ? run->looked : at;
	while (i < end_run && i + USUAL_WORDS <= run->count) {
		uint64_t w0 = __atomic_load_n(&run->words[i], __ATOMIC_RELAXED);
		live_table_prefetch(live, w0 >> 8);
		i += 1u + merge_is_alloc(w0 & 0x7f) + !!(w0 & HW_R_STAMPED);
	}
	run->looked = i;
}

uint64_t recorder_drain_fast(struct recorder *recorder, uint32_t thread, struct merge_run *given)
{
	struct run run;
	uint64_t limit = steps_free(&recorder->encoder, thread), steps = 0, at = 0;
	uint64_t stamp = given->stamp;
	if (limit > given->count)
		limit = given->count;
	if (!limit || !begin_run(&run, recorder, thread, limit))
		return 0;
	while (steps < limit && at + USUAL_WORDS <= given->count) {
		if (given->look_ahead && at + AHEAD_WORDS / 2 >= given->looked)
			look_ahead(&recorder->live, given, at);
		const uint64_t *w = given->words + at;
		uint64_t w0 = __atomic_load_n(&w[0], __ATOMIC_RELAXED), now = stamp;
		uint32_t op = w0 & 0x7f, n = 1;
		bool alloc = merge_is_alloc(op);
		if (!alloc && !merge_is_free(op))
			break;
		uint64_t w1 = alloc ? __atomic_load_n(&w[n++], __ATOMIC_RELAXED) : 0;
		if (w0 & HW_R_STAMPED)
			now = __atomic_load_n(&w[n++], __ATOMIC_RELAXED);
		if (now > given->until ||
			!(alloc ? take_alloc(&run, w0, w1, now) : take_free(&run, w0)))
			break;
		if (recorder->tally.heap.peak_epoch != run.peak_epoch) {
			run.peak_epoch = recorder->tally.heap.peak_epoch;
			run.peak_step = steps;
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
