/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector encodes, the reader decodes: random steps of many threads, chunk by chunk. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "capture/writer/encode.h"
#include "lib/tap.h"
#include "sources/events/hpw_events.h"

#define THREADS_MAX 300
#define CHUNK_MAX 20000

static uint64_t random_state;

/* xorshift64* */
static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

/* A chunk as it goes in, and how far it has come out. */
struct expected {
	struct hpw_step steps[CHUNK_MAX];
	uint64_t known[CHUNK_MAX]; /* stamp that the file has of the step; 0: none of its own */
	size_t count, seen;
	uint64_t first_step, now;
	size_t peak; /* a step; SIZE_MAX: in none of this chunk */
	uint64_t peak_stamp;
};

struct stream {
	struct encoder encoder;
	struct expected expected;
	uint64_t allocations[THREADS_MAX];
	uint64_t at_chunk[THREADS_MAX];
	uint64_t stamp, latest; /* latest: that the file has so far */
	uint64_t at_step;       /* of the step that comes out */
	uint32_t threads, sites;
};

/* Of one in so many steps the file has the stamp, and of those that begin or end a thread. Stamps
 * may go back a little; the file's do not. */
static void expect(struct stream *s, struct hpw_step step)
{
	struct expected *e = &s->expected;
	bool later = s->stamp > s->latest;
	bool exact = step.kind == HPW_STEP_THREAD_START || step.kind == HPW_STEP_THREAD_END;
	e->known[e->count] = 0;
	if (e->count % HPW_TIME_STEP == 0 || (exact && later)) {
		if (later)
			s->latest = s->stamp;
		e->known[e->count] = s->latest;
	}
	e->steps[e->count++] = step;
}

static void do_peak(struct stream *s)
{
	struct expected *e = &s->expected;
	if (s->stamp > s->latest)
		s->latest = s->stamp;
	e->peak = e->count - 1;
	e->peak_stamp = s->latest;
	CHECK_U64(encoder_peak(&s->encoder, s->encoder.steps - 1, s->stamp), s->latest);
}

static uint64_t random_size(void)
{
	static const uint64_t odd[] = {
		0, UINT32_MAX - 1ull, UINT32_MAX, UINT32_MAX + 1ull, UINT64_MAX};
	return random_below(50) ? random_below(1 + random_below(200)) : odd[random_below(5)];
}

static void do_alloc(struct stream *s, uint32_t thread)
{
	struct hpw_step step = {.kind = HPW_STEP_ALLOC,
		.thread = thread,
		/* Mostly few, so that predictions come true; some collide in a small memory. */
		.site = (uint32_t)(random_below(4) ? random_below(3) : random_below(s->sites)),
		.size = random_size(),
		.number = s->allocations[thread]};
	encode_alloc(&s->encoder, thread, step.number, step.site, step.size, s->stamp);
	s->allocations[thread]++;
	expect(s, step);
}

static void do_free(struct stream *s, uint32_t thread)
{
	uint32_t owner = (uint32_t)(random_below(3) ? thread : random_below(s->threads));
	uint64_t had = s->allocations[owner];
	struct encode_free f = {.thread = thread,
		.allocations = s->allocations[thread],
		.known = had && random_below(10),
		.owner = owner,
		.number = had ? had - 1 - random_below(had < 9 || !random_below(9) ? had : 9) : 0,
		.same_frame = random_below(2),
		.special_kind = random_below(6) ? -1 : (int)random_below(HW_FREE_KINDS),
		.stamp = s->stamp};
	encode_free(&s->encoder, &f);
	expect(s, (struct hpw_step){.kind = HPW_STEP_FREE,
			  .thread = thread,
			  .owner = f.known ? owner : thread,
			  .known = f.known,
			  .same_frame = f.same_frame,
			  .number = f.known ? f.number : s->allocations[thread],
			  .free_kind = f.special_kind < 0 ? HPW_FREE_MATCHING : f.special_kind});
}

static void do_special(struct stream *s, uint32_t thread)
{
	uint64_t size = random_size(), had = s->allocations[thread];
	uint32_t site = (uint32_t)random_below(s->sites);
	struct hpw_step step = {.thread = thread};
	switch (random_below(4)) {
	case 0:
		encode_failed(&s->encoder, thread, had, site, size, s->stamp);
		step.kind = HPW_STEP_FAILED;
		step.site = site;
		step.size = size;
		break;
	case 1:
		encode_lost(&s->encoder, thread, had, size, s->stamp);
		step.kind = HPW_STEP_LOST;
		step.size = size;
		break;
	case 2:
		encode_thread(&s->encoder, thread, had, HPW_SP_THREAD_START, s->stamp);
		step.kind = HPW_STEP_THREAD_START;
		break;
	default:
		encode_thread(&s->encoder, thread, had, HPW_SP_THREAD_END, s->stamp);
		step.kind = HPW_STEP_THREAD_END;
	}
	expect(s, step);
}

static struct error *on_head(void *context, const struct hpw_events_head *head)
{
	const struct expected *e = &((struct stream *)context)->expected;
	CHECK_U64(head->first_step, e->first_step);
	CHECK_U64(head->steps, e->count);
	CHECK_U64(head->first_stamp, e->known[0]);
	CHECK_U64(head->closed_tsc, 77);
	CHECK_U64(head->closed_ns, 78);
	return NULL;
}

static struct error *on_slot(void *context, const struct hpw_slot_head *slot)
{
	const struct stream *s = context;
	CHECK(slot->thread < s->threads);
	CHECK_U64(slot->allocations, s->at_chunk[slot->thread]);
	return NULL;
}

static void on_time(void *context, uint64_t stamp)
{
	((struct stream *)context)->expected.now = stamp;
}

/* When the step was, by the file: the latest of what is known of it and of those before. */
static uint64_t time_of(struct stream *s, size_t step)
{
	const struct expected *e = &s->expected;
	if (e->known[step] > s->at_step)
		s->at_step = e->known[step];
	if (step == e->peak && e->peak_stamp > s->at_step)
		s->at_step = e->peak_stamp;
	return s->at_step;
}

static struct error *on_step(void *context, const struct hpw_step *is)
{
	struct expected *e = &((struct stream *)context)->expected;
	CHECK(e->seen < e->count);
	CHECK_U64(e->now, time_of(context, e->seen));
	const struct hpw_step *was = &e->steps[e->seen++];
	CHECK_U64(is->kind, was->kind);
	CHECK_U64(is->thread, was->thread);
	CHECK_U64(is->site, was->site);
	CHECK_U64(is->size, was->size);
	CHECK_U64(is->number, was->number);
	if (was->kind == HPW_STEP_FREE) {
		CHECK_U64(is->owner, was->owner);
		CHECK_U64(is->known, was->known);
		CHECK_U64(is->same_frame, was->same_frame);
		CHECK_U64(is->free_kind, was->free_kind);
	}
	return NULL;
}

static void check_chunk(struct stream *s)
{
	struct expected *e = &s->expected;
	_cleanup_(buf_deinit) struct buf raw;
	buf_init(&raw);
	CHECK(encoder_finish(&s->encoder, 77, 78, &raw));
	const struct hpw_payload payload = {.data = raw.data, .len = raw.len};
	const struct hpw_visitor visitor = {s, on_head, on_slot, on_time, on_step};
	CHECK_OK(hpw_events_decode(&payload, &visitor));
	CHECK_U64(e->seen, e->count);
	e->first_step += e->count;
	e->count = e->seen = 0;
	e->peak = SIZE_MAX;
	memcpy(s->at_chunk, s->allocations, sizeof(s->at_chunk));
}

static void check_stream(uint64_t seed, uint32_t threads, uint32_t sites, unsigned chunks)
{
	struct stream *s = calloc(1, sizeof(*s));
	CHECK(s);
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	encoder_init(&s->encoder);
	s->threads = threads;
	s->sites = sites;
	s->stamp = 1000;
	s->expected.peak = SIZE_MAX;
	uint32_t thread = 0;
	while (chunks--) {
		for (size_t n = 1 + random_below(CHUNK_MAX - 1); n; n--) {
			if (!random_below(20))
				thread = (uint32_t)random_below(threads);
			s->stamp += random_below(100);
			s->stamp -= random_below(10);
			unsigned what = (unsigned)random_below(100);
			if (what < 50)
				do_alloc(s, thread);
			else if (what < 98)
				do_free(s, thread);
			else
				do_special(s, thread);
			if (!random_below(100))
				do_peak(s);
		}
		check_chunk(s);
	}
	encoder_deinit(&s->encoder);
	free(s);
}

CASE(one_thread, "one thread")
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_stream(seed, 1, 5, 3);
}

CASE(threads, "several threads, more sites than an encoder remembers")
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_stream(seed, 7, 10000, 4);
}

CASE(many_threads, "very many threads, which end and come back")
{
	for (uint64_t seed = 1; seed <= 5; seed++)
		check_stream(seed, THREADS_MAX, 100, 4);
}

CASE(largest_site, "the largest site that a recording can have")
{
	check_stream(99, 2, HPW_SITES_MAX, 2);
}

CASE(one_step, "chunks of one step")
{
	struct stream *s = calloc(1, sizeof(*s));
	CHECK(s);
	random_state = 5;
	encoder_init(&s->encoder);
	s->threads = 2;
	s->sites = 3;
	s->expected.peak = SIZE_MAX;
	for (unsigned i = 0; i < 300; i++) {
		s->stamp = 1000 + i;
		if (i % 3)
			do_alloc(s, i % 2);
		else
			do_free(s, i % 2);
		check_chunk(s);
	}
	encoder_deinit(&s->encoder);
	free(s);
}

CASE(small, "a loop of equal allocations costs three bytes a pair before it is packed")
{
	struct encoder encoder;
	encoder_init(&encoder);
	for (uint64_t i = 0; i < 10000; i++) {
		encode_alloc(&encoder, 0, i, 3, 24, i);
		encode_free(&encoder, &(struct encode_free){.allocations = i + 1,
					      .known = true,
					      .number = i,
					      .special_kind = -1,
					      .stamp = i});
	}
	struct buf raw;
	buf_init(&raw);
	CHECK(encoder_finish(&encoder, 0, 0, &raw));
	CHECK(raw.len < 10000 * 3 + 300); /* token, run, reference */
	buf_deinit(&raw);
	encoder_deinit(&encoder);
}

TAP_MAIN
