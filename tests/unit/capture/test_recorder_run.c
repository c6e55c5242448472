/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast loop over runs of usual records leaves live table, books and encoder as they are when
 * each record is told by itself: two recorders, one without the loop, over the same random rings.
 */
#include "capture/recorder/recorder.h"
#include "lib/tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LANES 3
#define BLOCKS 3000
#define HZ 1000000000u

static uint64_t random_state;

/* xorshift64* */
static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dull >> 16) % limit;
}

/* The producers' side, and what is needed to make mostly sensible records. */
struct feed {
	uint64_t words[LANES][HW_RING_WORDS_LARGE];
	uint64_t head[LANES];
	uint8_t kind_of[BLOCKS]; /* of the live block, + 1 */
	uint64_t stamp;
	unsigned odd; /* one record in so many is no usual one; 0: none */
	bool stamped;
};

static void put(struct feed *f, unsigned lane, uint64_t word)
{
	f->words[lane][f->head[lane]++] = word;
}

static uint64_t address_of(unsigned block)
{
	return 0x10000 + (uint64_t)block * 48;
}

static void put_stamp(struct feed *f, unsigned lane)
{
	if (f->stamped)
		put(f, lane, f->stamp += 1 + random_below(9));
}

static uint64_t random_size(const struct feed *f)
{
	if (f->odd && !random_below(f->odd))
		return random_below(2) ? (uint64_t)HW_R_SIZE_BIG + random_below(3) - 1 : 1ull << 40;
	return random_below(4) ? 8 * (1 + random_below(4)) : random_below(5000);
}

static void put_alloc(struct feed *f, unsigned lane, unsigned block)
{
	uint64_t flag = f->stamped ? HW_R_STAMPED : 0, size = random_size(f);
	unsigned kind = random_below(10) ? HW_MALLOC : (unsigned)random_below(HW_ALLOC_KINDS);
	uint64_t stack = random_below(20) ? 1 + random_below(12) : 1 + random_below(5000);
	put(f, lane, (HW_R_ALLOC + kind) | flag | address_of(block) << 8);
	if (size < HW_R_SIZE_BIG) {
		put(f, lane, stack | size << 32);
	} else {
		put(f, lane, stack | (uint64_t)HW_R_SIZE_BIG << 32);
		put(f, lane, size);
	}
	put_stamp(f, lane);
	f->kind_of[block] = (uint8_t)(kind + 1);
}

static void put_free(struct feed *f, unsigned lane, unsigned block)
{
	unsigned alloc_kind = f->kind_of[block] ? f->kind_of[block] - 1u : HW_MALLOC;
	unsigned kind = hw_matching_free(alloc_kind);
	if (f->odd && !random_below(f->odd))
		kind = (unsigned)random_below(HW_FREE_KINDS);
	unsigned op = random_below(5) ? HW_R_FREE : HW_R_FREE_SAME_FRAME;
	put(f, lane, (op + kind) | (f->stamped ? HW_R_STAMPED : 0u) | address_of(block) << 8);
	put_stamp(f, lane);
	f->kind_of[block] = 0;
}

static void put_odd(struct feed *f, unsigned lane)
{
	if (random_below(2)) {
		put(f, lane, HW_R_FAILED | (uint64_t)HW_MALLOC << 8);
		put(f, lane, 1 + random_below(12));
		put(f, lane, 1 + random_below(1u << 20));
	} else {
		put(f, lane, HW_R_LOST | (1 + random_below(3)) << 8);
	}
}

/* One record; mostly the alternation that a program makes, of one lane for a while. */
static void step(struct feed *f, unsigned lane)
{
	unsigned block = (unsigned)random_below(random_below(3) ? 40 : BLOCKS);
	bool live = f->kind_of[block];
	if (f->odd && !random_below(f->odd))
		put_odd(f, lane);
	else if (live != (f->odd && !random_below(f->odd)))
		put_free(f, lane, block);
	else
		put_alloc(f, lane, block);
}

static struct recorder *recorder_make(FILE *file)
{
	const struct recorder_start start = {.pid = getpid(),
		.target_pid = getpid(),
		.tsc_hz = HZ,
		.began = clock_pair_now(),
		.file = dup(fileno(file)),
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	struct hw_node *nodes = (struct hw_node *)((char *)r->shm + HW_SHM_NODES);
	for (uint32_t i = 1; i < 6000; i++)
		nodes[i] = (struct hw_node){.frame = 0x1000 + i, .parent = i / 2};
	for (unsigned lane = 0; lane < LANES; lane++) {
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
	for (unsigned lane = 0; lane < LANES; lane++) {
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
static struct live_block *blocks_of(const struct live *live, size_t *ret_count)
{
	size_t room = live->blocks + LIVE_WALK_ROOM;
	struct live_block *blocks = malloc(room * sizeof(*blocks));
	struct live_walk walk;
	CHECK(blocks && live_walk_begin(live, &walk));
	*ret_count = live_walk_next(&walk, blocks, room);
	CHECK_U64(*ret_count, live->blocks);
	live_walk_end(&walk);
	return blocks;
}

static bool same_live(const struct live *a, const struct live *b)
{
	size_t m, n;
	struct live_block *x = blocks_of(a, &m), *y = blocks_of(b, &n);
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

static void compare(unsigned odd, bool stamped, unsigned lanes, uint64_t seed)
{
	random_state = seed;
	static struct feed feed;
	memset(&feed, 0, sizeof(feed));
	feed.odd = odd;
	feed.stamped = stamped;
	feed.stamp = 1000;
	FILE *files[2] = {tmpfile(), tmpfile()};
	CHECK(files[0] && files[1]);
	struct recorder *fast = recorder_make(files[0]), *slow = recorder_make(files[1]);
	slow->merge.sink.on_run = NULL;
	/* So that blocks outlive the chunks that they were allocated in. */
	fast->chunk_steps = slow->chunk_steps = 28 * HPW_TIME_STEP;
	uint64_t began = feed.head[0];
	for (unsigned round = 0; round < 40; round++) {
		unsigned lane = 0;
		for (unsigned i = (unsigned)random_below(3000); i--;) {
			if (!random_below(60))
				lane = (unsigned)random_below(lanes);
			step(&feed, lane);
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
	CHECK(same_encoders(&fast->encoder, &slow->encoder));
	CHECK(same_tallies(&fast->tally, &slow->tally));
	CHECK(same_live(&fast->live, &slow->live));
	CHECK(same_sums(fast, slow));
	recorder_destroy(fast);
	recorder_destroy(slow);
	fclose(files[0]);
	fclose(files[1]);
}

CASE(usual, "a run of usual records is told as each by itself")
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		compare(0, false, 1, seed);
}

CASE(odd, "so it is with records between that are not usual")
{
	for (uint64_t seed = 11; seed <= 16; seed++)
		compare(30, false, 1, seed);
}

CASE(threads, "so it is with several threads and stamps")
{
	for (uint64_t seed = 21; seed <= 26; seed++)
		compare(seed % 2 ? 40 : 0, true, LANES, seed);
}

TAP_MAIN
