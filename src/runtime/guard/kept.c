/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see kept.h. May touch: the same. */
#include "runtime/guard/kept.h"

#define QUEUES 8u
/* A power of 2. More small blocks would be found a little longer, at the price of the processor's
 * caches, where the program's memory is no more. */
#define QUEUE_ENTRIES (1u << 10)
#define ENTRY_OVERHEAD 48u /* bytes of libc's memory beyond those of the program */

struct kept_queue {
	struct rt_lock lock; /* leaf; guards the rest */
	uint32_t first, entries;
	uint64_t bytes;
	char fill[64 - 24];
};
static_assert(sizeof(struct kept_queue) == 64, "a cache line each");

static struct kept_queue queues[QUEUES];
static struct kept_entry places[QUEUES][QUEUE_ENTRIES];
static uint32_t next_queue, queues_used = 1;

static __thread uint32_t own_queue __attribute__((tls_model("initial-exec"))); /* 1 + index */

static uint32_t queue_index(void)
{
	if (rt_unlikely(!own_queue)) {
		uint32_t n = __atomic_fetch_add(&next_queue, 1, __ATOMIC_RELAXED);
		own_queue = 1 + n % QUEUES;
		if (n < QUEUES)
			__atomic_store_n(&queues_used, n + 1, __ATOMIC_RELAXED);
	}
	return own_queue - 1;
}

static uint64_t weight_of(const struct kept_entry *entry)
{
	return entry->bytes + ENTRY_OVERHEAD;
}

static bool queue_is_over(const struct kept_queue *q, uint64_t share)
{
	return q->bytes > share || q->entries == QUEUE_ENTRIES;
}

/* What leaves has not been touched for long: it is fetched so many frees before. An entry that is
 * none (any more) does no harm. */
#define PREFETCHED 6u

static void prefetch_entry(const struct kept_entry *entry)
{
	__builtin_prefetch((const char *)entry->start - 16, 1);
}

unsigned kept_add(struct kept_entry entry, struct kept_entry *out)
{
	uint32_t index = queue_index();
	struct kept_queue *q = &queues[index];
	struct kept_entry *ring = places[index];
	uint64_t share = guard_settings.keep / __atomic_load_n(&queues_used, __ATOMIC_RELAXED);
	if (weight_of(&entry) > share / 2 || !rt_lock_try(&q->lock)) {
		out[0] = entry;
		return 1;
	}
	ring[(q->first + q->entries++) % QUEUE_ENTRIES] = entry;
	q->bytes += weight_of(&entry);
	prefetch_entry(&ring[(q->first + PREFETCHED) % QUEUE_ENTRIES]);
	unsigned n = 0;
	while (n < KEPT_OUT && queue_is_over(q, share)) {
		out[n] = ring[q->first];
		q->first = (q->first + 1) % QUEUE_ENTRIES;
		q->entries--;
		q->bytes -= weight_of(&out[n++]);
	}
	rt_unlock(&q->lock);
	return n;
}

void kept_lock_all(void)
{
	for (unsigned i = 0; i < QUEUES; i++)
		rt_lock_try(&queues[i].lock);
}

void kept_unlock_all(bool child)
{
	for (unsigned i = 0; i < QUEUES; i++) {
		if (child)
			rt_unlock(&queues[i].lock); /* another holder is not in this process */
		else
			rt_lock_abandon(&queues[i].lock);
	}
}
