/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see choice.h. May touch: the same. */
#include "runtime/guard/choice.h"

#include "runtime/guard/limit.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/sums.h"

#include <sys/mman.h>

#define STACKS (1ul << 16) /* places in the table; a power of 2 */
#define PROBES 16u
#define FIRST_SHIFT 6u /* K is 2 to that, */
#define LATER_SHIFT 3u /* and to that once FREE_GUARDED is spent */
/* What guarding costs, in nanoseconds of a block's life; one of malloc and free without. Measured
 * on slow virtual machines: where it costs less, more could be guarded. FREE_… blocks are guarded
 * whatever that costs. */
#define FREE_GUARDED 3000u
#define FREE_FIRST 9000u
#define GUARD_COST 4000u
#define PLAIN_COST 100ull
/* A block's pages beyond the first cost as much again as so many. */
#define PAGES_OF_COST 2u
#define CLOCK_SLACK 100000000ull /* cycles: no less is spent before the clock decides */

struct stack_count {
	uint64_t key;    /* 0: free; set once, by compare-and-swap */
	uint32_t blocks; /* threads may count in each other's way: it only steers the choice */
	uint32_t guarded;
};

static struct stack_count *stack_counts; /* NULL: no room, every stack is as one */
static uint32_t stacks_known;
static uint64_t guarded_cost; /* in units of a block of one page; relaxed */
static uint64_t clock_start, clock_spent;

void choice_init(void)
{
	long at = sys_call6(__NR_mmap, 0, (long)(STACKS * sizeof(*stack_counts)),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!sys_failed(at))
		stack_counts = (struct stack_count *)at;
	clock_start = sys_tsc_fenced();
}

void choice_fork_child(void)
{
	if (stack_counts && !sys_no_calls())
		sys_call(__NR_madvise, stack_counts, STACKS * sizeof(*stack_counts), MADV_DONTNEED);
	stacks_known = 0;
	guarded_cost = clock_spent = 0;
	clock_start = sys_tsc_fenced();
}

/* The place of a stack; NULL: there is none left for it. */
static struct stack_count *find_stack(uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15ull >> 40;
	for (unsigned i = 0; stack_counts && i < PROBES; i++) {
		struct stack_count *c = &stack_counts[(hash + i) % STACKS];
		uint64_t there = __atomic_load_n(&c->key, __ATOMIC_RELAXED);
		if (rt_likely(there == key))
			return c;
		if (there)
			continue;
		if (__atomic_compare_exchange_n(
			    &c->key, &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&stacks_known, 1, __ATOMIC_RELAXED);
			sums_add_stack();
			return c;
		}
		if (there == key)
			return c;
	}
	return NULL;
}

/* Of which power of 2 K is, as many stacks and as much live memory have left of it. */
static uint32_t first_shift(void)
{
	uint32_t known = __atomic_load_n(&stacks_known, __ATOMIC_RELAXED), shift = FIRST_SHIFT;
	uint64_t live = __atomic_load_n(&slots_live_bytes, __ATOMIC_RELAXED);
	for (uint32_t many = 512; many < known && shift > 2; many *= 4)
		shift--;
	if (__atomic_load_n(&guarded_cost, __ATOMIC_RELAXED) > FREE_GUARDED)
		shift = shift > LATER_SHIFT ? LATER_SHIFT : shift;
	if (live > GUARD_LIVE_MOST / 2)
		shift = shift > 2 ? 2 : shift;
	if (live > GUARD_LIVE_MOST / 4 * 3)
		shift = 0;
	return shift;
}

/* Of how many blocks after block `n` of a stack one is guarded. */
static uint32_t period_at(uint32_t n)
{
	uint32_t times = n >> first_shift();
	uint32_t halvings = times ? 32 - (uint32_t)__builtin_clz(times) : 0;
	return 1u << (halvings < 31 ? halvings : 31);
}

/*
 * What a thread has drawn for a stack: `passes` blocks of it are not guarded, and the next one is.
 * That saves the common counters, which threads would take from each other. Another stack in its
 * place ends it.
 */
#define DRAWN 32u /* a power of 2 */
struct drawn {
	uint64_t key;
	uint32_t passes, passed;
};
static __thread struct drawn drawn[DRAWN] __attribute__((tls_model("initial-exec")));

static struct drawn *drawn_of(uint64_t key)
{
	return &drawn[key * 0x9e3779b97f4a7c15ull >> 59];
}

static uint64_t cost_of(size_t bytes)
{
	return 1 + (bytes >> GUARD_PAGE_SHIFT) / PAGES_OF_COST;
}

static bool clock_allows(void)
{
	uint64_t spent = __atomic_load_n(&clock_spent, __ATOMIC_RELAXED);
	if (spent < CLOCK_SLACK)
		return true;
	return spent / 2 < (sys_tsc_fenced() - clock_start) / 100 * guard_settings.budget;
}

/* Whether the whole may cost so much more, for block `n` of a stack. */
static bool budget_allows(size_t bytes, uint32_t n)
{
	uint64_t cost = __atomic_load_n(&guarded_cost, __ATOMIC_RELAXED) + cost_of(bytes);
	uint64_t share = sums_blocks() * PLAIN_COST / GUARD_COST * guard_settings.budget / 100;
	/* There is to be one of each stack. */
	uint64_t free_blocks = FREE_GUARDED + (n ? 0 : FREE_FIRST);
	if (cost > free_blocks + share)
		return false;
	if (__atomic_load_n(&slots_live_bytes, __ATOMIC_RELAXED) + bytes > GUARD_LIVE_MOST) {
		guard_limit_set(HW_CHECK_LIMIT_MEMORY);
		return false;
	}
	if (cost <= free_blocks || clock_allows())
		return true;
	guard_limit_set(HW_CHECK_LIMIT_BUDGET);
	return false;
}

/* Draws how many blocks of a stack pass after block `n`: as many on average as the period says.
 * Returns whether block `n` itself, which nothing was drawn for, is guarded. */
static bool draw_passes(struct drawn *d, uint64_t key, uint32_t n)
{
	uint64_t period = period_at(n), random = guard_random(key ^ (uint64_t)n << 32);
	uint64_t passes = period > 1 ? random & (2 * period - 1) : 0;
	*d = (struct drawn){.key = key, .passes = (uint32_t)passes};
	return !(random >> 32 & (period - 1));
}

static __attribute__((noinline)) enum block_choice choose(
	struct drawn *d, uint64_t key, size_t bytes)
{
	struct stack_count *c = find_stack(key);
	if (rt_unlikely(!c)) {
		sums_add_uncounted();
		return guard_settings.full ? CHOICE_GUARDED : CHOICE_PLAIN;
	}
	bool is_due = d->key == key;
	uint32_t n = __atomic_load_n(&c->blocks, __ATOMIC_RELAXED) + (is_due ? d->passed : 0);
	__atomic_store_n(&c->blocks, n + 1, __ATOMIC_RELAXED);
	if (rt_likely(!guard_settings.full) &&
		!((draw_passes(d, key, n) || is_due) && budget_allows(bytes, n)))
		return CHOICE_PLAIN;
	return n ? CHOICE_GUARDED : CHOICE_FIRST;
}

enum block_choice choice_of(uint64_t key, size_t bytes)
{
	struct drawn *d = drawn_of(key = key ? key : 1);
	if (rt_likely(d->key == key && d->passed < d->passes)) {
		d->passed++;
		return CHOICE_PLAIN;
	}
	return choose(d, key, bytes);
}

void choice_guarded(uint64_t key, size_t bytes)
{
	struct stack_count *c = find_stack(key ? key : 1);
	__atomic_fetch_add(&guarded_cost, cost_of(bytes), __ATOMIC_RELAXED);
	bool first = c && !__atomic_exchange_n(&c->guarded, 1, __ATOMIC_RELAXED);
	sums_add_guarded(bytes, first);
}

uint64_t choice_clock(void)
{
	return guard_settings.full ? 0 : sys_tsc_fenced();
}

void choice_spent(uint64_t since)
{
	if (since)
		__atomic_fetch_add(&clock_spent, sys_tsc_fenced() - since, __ATOMIC_RELAXED);
}
