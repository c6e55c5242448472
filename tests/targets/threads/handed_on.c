/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handed_on EVENTS THREADS: as many allocations and frees as one likes, in threads that hand blocks
 * on to each other: through few slots, where all meet all the time, and from each thread to the
 * next one by a table that outlasts a thread's share of the processor, so that many blocks are
 * freed, or resized, by another thread than the one that allocated them, and their addresses are
 * soon allocated again. Each thread counts for itself, since counters of all would order its
 * events.
 */
#include "truth.h"
#include <pthread.h>

enum { SLOTS = 16, PASSED = 1 << 15, KEPT = 512, THREADS_MOST = 64, SITES = 4 };
enum site { KEPT_SITE, PASSED_SITE, HANDED_SITE, CHANGED_SITE };

/* What each thread counts, of each site. */
struct counts {
	uint64_t allocations, allocated_bytes, frees, freed_bytes;
};

struct hand {
	_Alignas(64) struct counts counts[SITES];
	uint64_t events, wanted, by_others;
	uint32_t number, random, passed, taken;
	struct hand *before; /* whose blocks it gets */
	struct block *to_next[PASSED];
};

struct block {
	uint32_t site, by;
	uint64_t bytes;
};

struct slot {
	_Alignas(64) struct block *block;
};

static struct slot slots[SLOTS];
static struct hand hands[THREADS_MOST];

static uint32_t next(struct hand *hand)
{
	hand->random = hand->random * 1664525u + 1013904223u;
	return hand->random >> 8;
}

static struct block *born(struct hand *hand, struct block *block, enum site site, uint64_t bytes)
{
	truth_need(block != NULL, "no memory");
	*block = (struct block){site, hand->number, bytes};
	hand->counts[site].allocations++;
	hand->counts[site].allocated_bytes += bytes;
	hand->events++;
	return block;
}

static void died(struct hand *hand, const struct block *block)
{
	hand->counts[block->site].frees++;
	hand->counts[block->site].freed_bytes += block->bytes;
	hand->by_others += block->by != hand->number;
	hand->events++;
}

TRUTH_LEAF static struct block *site_kept(struct hand *hand, uint64_t bytes)
{
	return born(hand, malloc(bytes), KEPT_SITE, bytes);
}

TRUTH_LEAF static struct block *site_passed(struct hand *hand, uint64_t bytes)
{
	return born(hand, malloc(bytes), PASSED_SITE, bytes);
}

TRUTH_LEAF static struct block *site_handed(struct hand *hand, uint64_t bytes)
{
	return born(hand, malloc(bytes), HANDED_SITE, bytes);
}

TRUTH_LEAF static struct block *site_changed(struct hand *hand, struct block *old, uint64_t bytes)
{
	died(hand, old);
	return born(hand, realloc(old, bytes), CHANGED_SITE, bytes);
}

static void let_go(struct hand *hand, struct block *block)
{
	if (!block)
		return;
	died(hand, block);
	free(block);
}

/* Puts a block there, or nothing, and frees what was. */
static void hand_over(struct hand *hand, struct slot *slot, struct block *block)
{
	let_go(hand, __atomic_exchange_n(&slot->block, block, __ATOMIC_ACQ_REL));
}

static struct block *resize(struct hand *hand, struct slot *slot, uint64_t bytes)
{
	struct block *block = __atomic_exchange_n(&slot->block, NULL, __ATOMIC_ACQ_REL);
	return block ? site_changed(hand, block, bytes) : NULL;
}

static void let_all_go(struct hand *hand, struct block **blocks, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		let_go(hand, __atomic_exchange_n(&blocks[i], NULL, __ATOMIC_ACQ_REL));
}

/* Frees the next block that came, or, before it does, one that it has not passed on. */
static void take_and_pass(struct hand *from, struct hand *hand, struct block *block)
{
	struct block **taken = &from->to_next[hand->taken % PASSED];
	struct block **passed = &hand->to_next[hand->passed++ % PASSED];
	struct block *other = __atomic_exchange_n(taken, NULL, __ATOMIC_ACQ_REL);
	hand->taken += other != NULL;
	let_go(hand, other);
	let_go(hand, __atomic_exchange_n(passed, block, __ATOMIC_ACQ_REL));
}

static void *hand_on(void *argument)
{
	struct hand *hand = argument;
	struct block *kept[KEPT] = {NULL};
	while (hand->events < hand->wanted) {
		uint32_t r = next(hand);
		uint64_t bytes = sizeof(struct block) + (r >> 4) % 5 * 23;
		struct slot *slot = &slots[r % SLOTS];
		if (r >> 8 & 1) {
			take_and_pass(hand->before, hand, site_passed(hand, bytes));
		} else if (r >> 9 & 1) {
			struct block **mine = &kept[(r >> 10) % KEPT];
			let_go(hand, *mine);
			*mine = site_kept(hand, bytes);
		} else if (r >> 10 & 15) {
			hand_over(hand, slot, site_handed(hand, bytes));
		} else {
			hand_over(hand, slot, resize(hand, slot, bytes));
		}
	}
	let_all_go(hand, kept, KEPT);
	let_all_go(hand, hand->before->to_next, PASSED);
	return NULL;
}

/* Of all threads; what is still in the slots is live. */
static void tell(enum site site, const char *name)
{
	struct counts all = {0, 0, 0, 0};
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		const struct counts *one = &hands[i].counts[site];
		all.allocations += one->allocations;
		all.allocated_bytes += one->allocated_bytes;
		all.frees += one->frees;
		all.freed_bytes += one->freed_bytes;
	}
	truth_say("# expect: site=%s allocations=%lu allocated_bytes=%lu live_blocks=%lu "
		  "live_bytes=%lu",
		name, all.allocations, all.allocated_bytes, all.allocations - all.frees,
		all.allocated_bytes - all.freed_bytes);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000, by_others = 0;
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
	pthread_t ids[THREADS_MOST];
	truth_need(threads && threads <= THREADS_MOST, "so many threads");
	for (unsigned i = 0; i < threads; i++) {
		hands[i].wanted = events / threads;
		hands[i].number = i;
		hands[i].before = &hands[(i + threads - 1) % threads];
		hands[i].random = (i + 1) * 2654435761u;
	}
	for (unsigned i = 0; i < threads; i++)
		truth_need(!pthread_create(&ids[i], NULL, hand_on, &hands[i]), "thread");
	events = 0;
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		events += hands[i].events;
		by_others += hands[i].by_others;
	}
	tell(KEPT_SITE, "site_kept");
	tell(PASSED_SITE, "site_passed");
	tell(HANDED_SITE, "site_handed");
	tell(CHANGED_SITE, "site_changed");
	truth_threads(1 + threads);
	truth_say("%lu events, %lu blocks freed by others", events, by_others);
	truth_say("# end");
	return 0;
}
