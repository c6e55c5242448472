/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/held_source.h"

#include "base/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LANES_BYTES (HELD_LAPS * HW_SHM_DATA_WORDS * 8ull)
#define WORDS_MAX (HELD_BYTES_MAX / 8u)
/* While all lanes have more, threads that were not seen before go through this memory, too: they
 * would wait for what came before. */
#define WORDS_FEW (1u << 20)
/* So often all rings are looked at while one lane's words are taken. */
#define SWEEP_CALLS 16u
/* A lane with fewer words than this part of its ring is emptied, and moves no more. */
#define EMPTIED_PART 4u
/* All but such a part of the room: it is full. */
#define FULL_PART 4u

static struct held_source *held_of(struct event_source *source)
{
	return (struct held_source *)source;
}

static uint64_t *lane_words(const struct held_source *held, uint32_t lane)
{
	return held->words + hw_ring_start(lane) * HELD_LAPS;
}

static void held_lane(struct event_source *source, uint32_t lane, struct event_lane *ret)
{
	const struct held_source *held = held_of(source);
	held->under->lane(source, lane, ret);
	if (held->lanes[lane].is_ring)
		return;
	ret->lap = ret->size;
	ret->words = lane_words(held, lane);
	ret->size *= HELD_LAPS;
}

/* A record never wraps in the ring; here it may lie on the same words of any lap. */
static void move_words(struct held_source *held, uint32_t lane, uint64_t count)
{
	struct held_lane *to = &held->lanes[lane];
	struct event_lane ring;
	held->under->lane(&held->rings.source, lane, &ring);
	uint64_t *words = lane_words(held, lane), room = (uint64_t)ring.size * HELD_LAPS;
	held->moved += count;
	while (count) {
		uint64_t from = to->filled & (ring.size - 1), at = to->filled & (room - 1);
		uint64_t n = min(count, ring.size - from);
		memcpy(words + at, ring.words + from, n * sizeof(*words));
		to->filled += n;
		count -= n;
	}
	held->under->taken(&held->rings.source, lane, to->filled);
}

/* Whether the words that are in the ring are to be moved now: all of them, since only what was
 * published last is known to end with a record. */
static bool are_wanted(const struct held_source *held, uint32_t lane, uint64_t there)
{
	const struct held_lane *l = &held->lanes[lane];
	uint64_t ring = hw_ring_words(lane), has = l->filled - l->taken;
	if (!there || there > ring * HELD_LAPS - has)
		return false;
	if (held->takes_all)
		return true;
	if (!held->holds && held->moved < WORDS_FEW && has < ring / EMPTIED_PART)
		return false;
	/* The merge can't take what other lanes have while it does not know what this one brings.
	 */
	if (!held->holds && !has)
		return true;
	return held->moved + there <= held->most;
}

/* Returns how many words stay in the ring. */
static uint64_t move_wanted(struct held_source *held, uint32_t lane, uint64_t head)
{
	uint64_t there = head - held->lanes[lane].filled;
	if (there > hw_ring_words(lane))
		return 0; /* nonsense, of which the lane breaks when it is looked at */
	if (!are_wanted(held, lane, there))
		return there;
	move_words(held, lane, there);
	return 0;
}

static bool held_look(struct event_source *source, uint32_t lane, struct event_look *ret)
{
	struct held_source *held = held_of(source);
	struct held_lane *l = &held->lanes[lane];
	if (!held->under->look(source, lane, ret))
		return false;
	if (l->is_ring)
		return true;
	if (ret->head - l->filled > hw_ring_words(lane)) { /* nonsense, of which the lane breaks */
		ret->head = l->taken + (uint64_t)hw_ring_words(lane) * HELD_LAPS + 1;
		return true;
	}
	/* What stays in the ring may be earlier than what comes to other lanes. */
	if (move_wanted(held, lane, ret->head))
		ret->busy = ret->head | 1;
	ret->head = l->filled;
	return true;
}

/* A pass over all that was held takes long: threads are not to wait for its end. lane: the one to
 * be looked at; UINT32_MAX: all. */
static void move_meanwhile(struct held_source *held, uint32_t lane)
{
	struct event_source *source = &held->rings.source;
	bool all = lane == UINT32_MAX;
	uint32_t end = all ? source->lanes + source->has_shared : lane + 1;
	struct event_look look;
	for (uint32_t i = all ? 0 : lane; i < end; i++) {
		if (!held->lanes[i].is_ring && held->under->look(source, i, &look))
			move_wanted(held, i, look.head);
	}
}

static void held_taken(struct event_source *source, uint32_t lane, uint64_t tail)
{
	struct held_source *held = held_of(source);
	struct held_lane *l = &held->lanes[lane];
	if (l->is_ring) {
		held->under->taken(source, lane, tail);
		return;
	}
	uint64_t words = min(tail - l->taken, held->moved);
	held->moved -= words;
	if (!held->holds)
		held->most = min(held->most, held->moved + WORDS_FEW);
	l->taken = tail;
	if ((int64_t)(tail - l->filled) > 0) /* the lane broke */
		l->filled = tail;
	if (!words)
		return;
	__atomic_fetch_add(&held->rings.shm->progress, 1, __ATOMIC_RELAXED);
	move_meanwhile(held, held->calls++ % SWEEP_CALLS ? lane : UINT32_MAX);
}

bool held_source_lane_ends(struct held_source *held, uint32_t lane, struct event_lane *ret)
{
	struct held_lane *l = &held->lanes[lane];
	if (l->is_ring || held->holds || l->taken != l->filled || held->moved >= WORDS_FEW)
		return false;
	l->is_ring = true;
	if (l->filled)
		madvise(lane_words(held, lane), (size_t)hw_ring_words(lane) * HELD_LAPS * 8,
			MADV_DONTNEED);
	held->under->lane(&held->rings.source, lane, ret);
	ret->lap = ret->size;
	return true;
}

bool held_source_fill(struct held_source *held)
{
	struct event_source *source = &held->rings.source;
	bool fits = true;
	if (held->under->pass_begin)
		held->under->pass_begin(source);
	for (uint32_t i = 0; i < source->lanes + source->has_shared; i++) {
		struct event_look look = {.busy = 0};
		if (!held_look(source, i, &look))
			continue;
		uint64_t has = held->lanes[i].filled - held->lanes[i].taken;
		fits &= has < (uint64_t)hw_ring_words(i) * HELD_LAPS / FULL_PART * (FULL_PART - 1);
	}
	return fits && held->moved < WORDS_MAX / FULL_PART * (FULL_PART - 1);
}

struct held_source *held_source_create(const struct ring_source *rings)
{
	struct held_source *held = calloc(1, sizeof(*held));
	if (!held)
		return NULL;
	held->words = mmap(NULL, LANES_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (held->words == MAP_FAILED) {
		free(held);
		return NULL;
	}
	held->rings = *rings;
	held->under = rings->source.ops;
	held->ops = *held->under;
	held->ops.lane = held_lane;
	held->ops.look = held_look;
	held->ops.taken = held_taken;
	held->rings.source.ops = &held->ops;
	held->holds = true;
	held->most = WORDS_MAX;
	return held;
}

void held_source_destroy(struct held_source *held)
{
	if (!held)
		return;
	munmap(held->words, LANES_BYTES);
	free(held);
}
