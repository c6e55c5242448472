/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast loop over runs of usual records leaves live table, books and encoder as they are when
 * each record is told by itself: two recorders, one without the loop, over the same random rings.
 */
#include "capture/recorder/recorder.h"
#include "lib/tap.h"
#include "unit/record_feed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HZ 1000000000u

static struct recorder *recorder_make(FILE *file, enum mode_kind mode)
{
	const struct recorder_start start = {.pid = getpid(),
		.target_pid = getpid(),
		.tsc_hz = HZ,
		.mode = {.kind = mode},
		.began = clock_pair_now(),
		.file = dup(fileno(file)),
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	struct hw_node *nodes = (struct hw_node *)((char *)r->shm + HW_SHM_NODES);
	for (uint32_t i = 1; i < FEED_NODES; i++)
		nodes[i] = (struct hw_node){.frame = 0x1000 + i, .parent = i / 2};
	for (unsigned lane = 0; lane < FEED_LANES; lane++) {
		struct hw_ring *ring = (struct hw_ring *)((char *)r->shm + HW_SHM_RINGS) + lane;
		ring->tid = 100 + lane;
		ring->generation = 1;
		ring->state = HW_RING_ACTIVE;
	}
	return r;
}

/* Publishes up to `head`. */
static void publish(struct recorder *r, const struct feed *f, const uint64_t *head)
{
	uint64_t *data = (uint64_t *)((char *)r->shm + HW_SHM_DATA);
	for (unsigned lane = 0; lane < FEED_LANES; lane++) {
		struct hw_ring *ring = (struct hw_ring *)((char *)r->shm + HW_SHM_RINGS) + lane;
		memcpy(data + hw_ring_start(lane) + ring->head, f->words[lane] + ring->head,
			(head[lane] - ring->head) * 8);
		ring->head = head[lane];
	}
}

static bool same_buf(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static bool same_encoders(const struct encoder *a, const struct encoder *b)
{
	bool same = a->steps == b->steps && a->run_slot == b->run_slot &&
		    a->run_length == b->run_length && a->slot_count == b->slot_count &&
		    same_buf(&a->order, &b->order) && same_buf(&a->time, &b->time);
	for (uint32_t i = 0; same && i < a->thread_capacity; i++) {
		const struct encode_thread *s = a->threads[i], *t = b->threads[i];
		if (!s || !t) {
			same = s == t;
			continue;
		}
		same = s->tokens == t->tokens && s->frees == t->frees &&
		       s->last_site == t->last_site && same_buf(&s->runs, &t->runs) &&
		       same_buf(&s->token, &t->token) && same_buf(&s->sizes, &t->sizes) &&
		       same_buf(&s->refs, &t->refs) && same_buf(&s->specials, &t->specials) &&
		       same_buf(&s->deaths.rows, &t->deaths.rows) &&
		       s->memory_mask == t->memory_mask &&
		       !memcmp(s->memory, t->memory, (s->memory_mask + 1) * sizeof(*s->memory));
	}
	return same;
}

static bool same_sizes(const struct tally_sizes *a, const struct tally_sizes *b)
{
	return !a->capacity || !memcmp(a->places, b->places, a->capacity * sizeof(*a->places));
}

static bool same_tallies(const struct tally *a, const struct tally *b)
{
	struct tally x = *a, y = *b;
	x.sites = y.sites = NULL;
	x.site_of_stack = y.site_of_stack = NULL;
	x.threads = y.threads = NULL;
	x.sizes.places = y.sizes.places = NULL;
	x.part_sizes.places = y.part_sizes.places = NULL;
	x.before = y.before = NULL;
	if (memcmp(&x, &y, sizeof(x)) != 0 ||
		memcmp(a->sites, b->sites, a->site_count * sizeof(*a->sites)) != 0)
		return false;
	for (uint32_t i = 0; i < a->thread_count; i++) {
		struct tally_thread s = a->threads[i], t = b->threads[i];
		if (s.allocations != t.allocations || s.allocated_bytes != t.allocated_bytes ||
			s.frees != t.frees || s.temporary != t.temporary ||
			s.last_stamp != t.last_stamp)
			return false;
	}
	return same_sizes(&a->sizes, &b->sizes) && same_sizes(&a->part_sizes, &b->part_sizes) &&
	       (!a->before_count ||
		       !memcmp(a->before, b->before, a->before_count * sizeof(*a->before)));
}

/* All blocks by address, in memory of the caller's. */
static struct live_entry *blocks_of(const struct live_table *live, size_t *ret_count)
{
	size_t room = live->blocks + LIVE_WALK_ROOM;
	struct live_entry *blocks = malloc(room * sizeof(*blocks));
	struct live_walk walk;
	CHECK(blocks && live_table_walk_begin(live, &walk));
	*ret_count = live_table_walk_next(&walk, blocks, room);
	CHECK_U64(*ret_count, live->blocks);
	live_table_walk_end(&walk);
	return blocks;
}

static bool same_live(const struct live_table *a, const struct live_table *b)
{
	size_t m, n;
	struct live_entry *x = blocks_of(a, &m), *y = blocks_of(b, &n);
	bool same = m == n && (!n || !memcmp(x, y, n * sizeof(*x)));
	free(x);
	free(y);
	return same;
}

/* What goes with the last chunk. */
static bool same_sums(struct recorder *a, struct recorder *b)
{
	struct recorder *both[] = {a, b};
	struct buf sums[2], deaths[2];
	for (int i = 0; i < 2; i++) {
		buf_init(&sums[i]);
		buf_init(&deaths[i]);
		CHECK(sums_put_deaths(&both[i]->sums, &both[i]->encoder, &deaths[i]));
		CHECK(sums_put(&both[i]->sums, &both[i]->tally, &both[i]->encoder, &sums[i]));
	}
	bool same =
		same_buf(&sums[0], &sums[1]) && same_buf(&deaths[0], &deaths[1]) && sums[0].len > 0;
	for (int i = 0; i < 2; i++) {
		buf_deinit(&sums[i]);
		buf_deinit(&deaths[i]);
	}
	return same;
}

static void compare(enum mode_kind mode, unsigned odd, bool stamped, unsigned lanes, uint64_t seed)
{
	random_state = seed;
	static struct feed feed;
	memset(&feed, 0, sizeof(feed));
	feed.odd = odd;
	feed.stamped = stamped;
	feed.stamp = 1000;
	FILE *files[2] = {tmpfile(), tmpfile()};
	CHECK(files[0] && files[1]);
	struct recorder *fast = recorder_make(files[0], mode),
			*slow = recorder_make(files[1], mode);
	slow->merge.sink.on_run = NULL;
	/* So that blocks outlive the chunks that they were allocated in. */
	fast->chunk_steps = slow->chunk_steps = 28 * HPW_TIME_STEP;
	uint64_t began = feed.head[0];
	for (unsigned round = 0; round < 40; round++) {
		unsigned lane = 0;
		for (unsigned i = (unsigned)random_below(3000); i--;) {
			if (!random_below(60))
				lane = (unsigned)random_below(lanes);
			feed_step(&feed, lane);
		}
		publish(fast, &feed, feed.head);
		publish(slow, &feed, feed.head);
		fast->merge.look_ahead = round % 2;
		/* As after the end of the process: stamps of the test are not of this machine. */
		merge_pass(&fast->merge, true);
		merge_pass(&slow->merge, true);
	}
	CHECK(feed.head[0] > began + 10000);
	CHECK(fast->merge.events == slow->merge.events && fast->merge.damaged == 0);
	CHECK(fast->tally.steps > 5000);
	if (mode == MODE_EXACT)
		CHECK(same_encoders(&fast->encoder, &slow->encoder));
	CHECK(same_tallies(&fast->tally, &slow->tally));
	CHECK(same_live(&fast->live, &slow->live));
	if (mode == MODE_EXACT)
		CHECK(same_sums(fast, slow));
	recorder_destroy(fast);
	recorder_destroy(slow);
	fclose(files[0]);
	fclose(files[1]);
}

CASE(usual, "a run of usual records is told as each by itself")
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		compare(MODE_EXACT, 0, false, 1, seed);
}

CASE(odd, "so it is with records between that are not usual")
{
	for (uint64_t seed = 11; seed <= 16; seed++)
		compare(MODE_EXACT, 30, false, 1, seed);
}

CASE(threads, "so it is with several threads and stamps")
{
	for (uint64_t seed = 21; seed <= 26; seed++)
		compare(MODE_EXACT, seed % 2 ? 40 : 0, true, FEED_LANES, seed);
}

CASE(aggregate, "so it is if no event is kept")
{
	for (uint64_t seed = 31; seed <= 36; seed++)
		compare(MODE_AGGREGATE, seed % 2 ? 30 : 0, seed > 33, seed > 33 ? FEED_LANES : 1,
			seed);
}

TAP_MAIN
