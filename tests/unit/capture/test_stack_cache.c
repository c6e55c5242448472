/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread's cache of whole stacks: what is found in it, by how many addresses, and when it is left
 * alone. The stack is an array; each frame has one word, its return address. */
#include <stdlib.h>

#include "lib/tap.h"
#include "runtime/core/unwind.h"

enum { FRAMES = 12, FRAME_WORDS = 2, STACK_WORDS = FRAMES * FRAME_WORDS + 2 };

static uint64_t stack[STACK_WORDS];
static struct rt_frame frames[2 * RT_DEPTH_MAX];
static struct rt_rules *rules;
static struct rt_walk *walk;

static uint64_t base(void)
{
	return (uint64_t)stack;
}

/* The rule of a function all of whose frames have FRAME_WORDS. */
static void know(uint64_t pc)
{
	rules->entries[rt_rules_slot(pc)] =
		(struct rt_rule_entry){.address = pc, .cfa_bytes = 8 * FRAME_WORDS};
}

/* The address in frame `depth` (0: innermost) of a stack, which is another one if `variant` is. */
static uint64_t address_of(unsigned depth, unsigned variant)
{
	return 0x1000 + 0x100ull * depth + 4ull * variant;
}

/* Makes `stack` the one whose frames from `depth` on are of this variant. */
static void enter(unsigned depth, unsigned variant)
{
	for (unsigned i = 0; i + 1 < FRAMES; i++) {
		uint64_t pc = address_of(i + 1, i + 1 < depth ? 0 : variant);
		stack[(i + 1) * FRAME_WORDS - 1] = pc;
		know(pc);
	}
	know(address_of(0, 0));
}

/* What a walk leaves in the memo. */
static void put_memo(void)
{
	struct rt_frame *f = walk->memo;
	for (unsigned i = FRAMES; i-- > 0;) {
		uint64_t pc = i ? stack[i * FRAME_WORDS - 1] : address_of(0, 0);
		*++f = (struct rt_frame){base() + 8ull * FRAME_WORDS * i, pc, 0, 0};
	}
	walk->top = f;
}

/* As rt_unwind() does it; `number` is the stack's. Returns whether the cache had it. */
static bool find(uint32_t number)
{
	const struct rt_cache_state from = {address_of(0, 0), base(), 0};
	const struct rt_cached_stack *c =
		rt_stack_cache_follow(walk->cache, walk->epoch, from.pc, from.sp, from.rbp);
	struct rt_cache_place place;
	if (!c)
		c = rt_stack_cache_find(walk->cache, rules, walk->epoch, &from,
			(uint64_t)(stack + STACK_WORDS), &place);
	if (c) {
		CHECK_U64(c->stack, number);
		walk->found++;
		return true;
	}
	put_memo();
	rt_stack_cache_keep(walk, &place, number);
	return false;
}

static void begin(void)
{
	walk = calloc(1, sizeof(*walk));
	rules = calloc(1, sizeof(*rules));
	struct rt_stack_cache *cache = NULL;
	if (posix_memalign((void **)&cache, 64, sizeof(*cache)) || !walk || !rules)
		abort();
	*cache = (struct rt_stack_cache){.latest = 0};
	frames[0] = (struct rt_frame){.sp = UINT64_MAX};
	walk->memo = walk->top = frames + 1;
	walk->cache = cache;
	walk->uses_cache = true;
	walk->epoch = 1;
}

static void finish(void)
{
	free(walk->cache);
	free(walk);
	free(rules);
}

CASE(found_again, "a stack is found again, and none of which a word differs")
{
	begin();
	enter(1, 0);
	CHECK(!find(7));
	CHECK(find(7));
	/* Any word that differs makes it another stack. */
	for (unsigned depth = 1; depth < FRAMES; depth++) {
		enter(depth, 1);
		CHECK(!find(100 + depth));
		enter(1, 0);
		find(7);
	}
	finish();
}

/* So many stacks that differ from some depth on take turns: each is found soon, and then always. */
static void take_turns(unsigned depth, unsigned count)
{
	begin();
	unsigned missed = 0;
	for (unsigned turn = 0; turn < 400; turn++) {
		unsigned which = turn % count;
		enter(depth, which);
		bool found = find(10 + which);
		missed += turn >= 200 && !found;
	}
	CHECK_U64(missed, 0);
	CHECK(walk->uses_cache);
	finish();
}

CASE(turns, "stacks that take turns are told apart by as many addresses as it takes")
{
	for (unsigned depth = 1; depth <= RT_CACHE_OUTWARD_MAX; depth++) {
		take_turns(depth, 2);
		take_turns(depth, 7);
	}
}

CASE(other_epoch, "what was kept before modules changed is void")
{
	begin();
	enter(1, 0);
	CHECK(!find(7));
	walk->epoch++; /* modules came or went */
	CHECK(!find(8));
	CHECK(find(8));
	finish();
}

/* Stacks that don't come again: the cache is left alone, and tried again later. */
CASE(thrift, "where stacks do not come again, the cache is left alone for a while")
{
	begin();
	unsigned number = 0;
	for (; walk->uses_cache && number < 100000; number++) {
		enter(FRAMES - 1, 1 + number % 50000);
		find(number);
	}
	CHECK(number >= 200 && number <= 300);
	unsigned first = 0, second = 0;
	while (!walk->uses_cache && first < 10000000) {
		rt_stack_cache_without(walk);
		first++;
	}
	CHECK(walk->uses_cache);
	for (unsigned end_number = number + 1000; walk->uses_cache && number < end_number;
		number++) {
		enter(FRAMES - 1, 1 + number % 50000);
		find(number);
	}
	while (!walk->uses_cache && second < 10000000) {
		rt_stack_cache_without(walk);
		second++;
	}
	CHECK_U64(second, 2 * first);
	finish();
}

TAP_MAIN
