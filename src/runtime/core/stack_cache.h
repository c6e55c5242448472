/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see unwind.h. May touch: the calling thread's own stack (read only), its cache, the
 * rule table.
 *
 * Whole stacks of one thread that were walked before: for each the words that its walk read, and
 * the number that came of it. A walk from the same address and stack pointer that would read the
 * same words comes to the same stack, so comparing them is as exact as walking, and a chain of
 * rules becomes a row of comparisons. Programs that make most of their allocations through one
 * function (xmalloc, operator new) from several callers leave the memo of the last walk without
 * use; this is for them.
 *
 * *Keys.* A stack's place comes from its innermost address and stack pointer. Where several stacks
 * that begin so take turns, the place says that the caller's address counts as well, and so on
 * outward: as many addresses as it takes to tell them apart, and rules are looked up for no more.
 *
 * *Order.* Programs repeat themselves: what comes after a stack is mostly one of two that came
 * after it before. These are compared first, with no key at all.
 *
 * *Thrift.* Where many walks are of stacks that do not come again soon, looking here is work in
 * vain: a thread does without for a while, and then tries again.
 *
 * No stack with a guess or a signal frame is kept: these are walked.
 */
#ifndef RUNTIME_STACK_CACHE_H
#define RUNTIME_STACK_CACHE_H

#include "runtime/core/rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_CACHE_SETS_BITS 8
#define RT_CACHE_SETS (1u << RT_CACHE_SETS_BITS)
/* Words that are compared: one a frame, two where frame pointers are used. What needs more is not
 * kept. */
#define RT_CACHED_GROUPS 5u
#define RT_CACHED_WORDS ((size_t)4 * RT_CACHED_GROUPS)
/* So many groups are always compared: of a shorter stack the last word again. */
#define RT_CACHED_GROUPS_FEW 2u
/* A key has at most so many addresses outward of the first one. */
#define RT_CACHE_OUTWARD_MAX 6

/* Words of a stack, in the order in which a walk reads them. */
struct rt_cached_words {
	uint16_t at[4];   /* where each is: words from sp */
	uint64_t word[4]; /* what it has to be */
};

/* A stack. All bytes 0: none. */
struct rt_cached_stack {
	uint64_t sp, pc, rbp;
	uint32_t epoch; /* of the cache when it was kept; 0: none, or being written */
	uint32_t stack;
	uint8_t groups;   /* that are compared, RT_CACHED_GROUPS_FEW or more */
	bool needs_rbp;   /* rbp has to be the same, too */
	uint8_t caller;   /* the word that is the first return address */
	uint16_t next[2]; /* which stacks came after this one */
	struct rt_cached_words words[RT_CACHED_GROUPS];
	uint64_t pad[2];
};
_Static_assert(sizeof(struct rt_cached_stack) == 256, "whole cache lines");

/* Two places of equal rank. All bytes 0: both are free. */
struct rt_cache_set {
	uint32_t tag[2];    /* of the key; 0: free */
	bool outward[2];    /* stacks with this key have places by one more address */
	uint8_t changed[2]; /* how often it was given another stack with the same key */
};

struct rt_stack_cache {
	struct rt_cached_stack stacks[2 * RT_CACHE_SETS] __attribute__((aligned(64)));
	struct rt_cache_set sets[RT_CACHE_SETS];
	uint32_t latest; /* the stack that was found last */
};

/* Where a search ended. */
struct rt_cache_place {
	struct rt_cache_set *set; /* NULL: such a stack can't be kept */
	uint32_t tag;
	uint32_t outward; /* addresses of the key, outward of the first one */
};

/* The registers of a frame. */
struct rt_cache_state {
	uint64_t pc, sp, rbp;
};

/* From a frame to its caller, by the rules that nearly every frame has; false: by another one. */
static inline bool rt_stack_cache_step(
	const struct rt_rules *rules, struct rt_cache_state *s, uint64_t high)
{
	const struct rt_rule_entry *e = &rules->entries[rt_rules_slot(s->pc)];
	if (__atomic_load_n(&e->address, __ATOMIC_ACQUIRE) != s->pc)
		return false;
	uint64_t cfa = s->sp + e->cfa_bytes; /* RT_RULE_RARE leads beyond every stack */
	if (cfa <= high) {
		if (e->rbp_bytes)
			s->rbp = *(const uint64_t *)(cfa + (uint64_t)(int64_t)e->rbp_bytes);
	} else {
		if (rt_rule_kinds(e->rule) != RT_RULE_KINDS(RT_CFA_RBP, RT_RBP_AT_CFA))
			return false;
		cfa = s->rbp + rt_rule_cfa_offset(e->rule);
		uint64_t at = cfa + rt_rule_rbp_offset(e->rule);
		if (cfa <= s->sp || cfa > high || cfa & 7 || at < s->sp || at >= cfa)
			return false;
		s->rbp = *(const uint64_t *)at;
	}
	s->sp = cfa;
	s->pc = *(const uint64_t *)(cfa - 8);
	return true;
}

/* Whether these words are what they were. None is read after one that differs. */
static inline bool rt_cached_words_hold(const struct rt_cached_words *w, const uint64_t *stack)
{
	return stack[w->at[0]] == w->word[0] && stack[w->at[1]] == w->word[1] &&
	       stack[w->at[2]] == w->word[2] && stack[w->at[3]] == w->word[3];
}

/*
 * Whether a walk from (pc, sp, rbp) comes to what is kept at this place. The words are read
 * outward, and none after one that differs: as long as they are the same, so are the frames, and
 * the next one is where a walk would read it. What is farther may be memory that is there no more.
 */
static inline bool rt_cached_stack_holds(
	const struct rt_cached_stack *c, uint32_t epoch, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (c->sp != sp || c->pc != pc || c->epoch != epoch || (c->needs_rbp && c->rbp != rbp))
		return false;
	const uint64_t *stack = (const uint64_t *)sp;
	const struct rt_cached_words *w = c->words;
	_Static_assert(RT_CACHED_GROUPS_FEW == 2, "what comes next");
	if (!rt_cached_words_hold(w, stack) || !rt_cached_words_hold(w + 1, stack))
		return false;
	for (const struct rt_cached_words *end = w + c->groups; (w += 1) + 1 < end;) {
		if (!rt_cached_words_hold(w + 1, stack))
			return false;
	}
	return true;
}

/* As rt_stack_cache_find(), where the latest stack is followed by one that followed it before. */
static inline const struct rt_cached_stack *rt_stack_cache_follow(
	struct rt_stack_cache *cache, uint32_t epoch, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	const struct rt_cached_stack *latest = &cache->stacks[cache->latest];
	uint32_t next = latest->next[0];
	const struct rt_cached_stack *c = &cache->stacks[next];
	if (!rt_cached_stack_holds(c, epoch, pc, sp, rbp)) {
		next = latest->next[1];
		c = &cache->stacks[next];
		if (!rt_cached_stack_holds(c, epoch, pc, sp, rbp))
			return NULL;
	}
	cache->latest = next;
	return c;
}

/*
 * Returns the stack that a walk from (pc, sp, rbp) would come to; NULL: it has to be walked, and
 * *ret says where it may be kept. `high`: up to where the stack in use can be read.
 */
static inline const struct rt_cached_stack *rt_stack_cache_find(struct rt_stack_cache *cache,
	const struct rt_rules *rules, uint32_t epoch, const struct rt_cache_state *from,
	uint64_t high, struct rt_cache_place *ret)
{
	struct rt_cache_state s = *from;
	uint64_t mix = (s.sp << 20) + s.pc;
	for (uint32_t outward = 0;; outward++) {
		uint64_t key = mix * 0x9e3779b97f4a7c15ull;
		uint32_t tag = (uint32_t)(key >> 16) | 1,
			 index = (uint32_t)(key >> (64 - RT_CACHE_SETS_BITS));
		struct rt_cache_set *set = &cache->sets[index];
		uint32_t way = set->tag[0] != tag;
		*ret = (struct rt_cache_place){set, tag, outward};
		if (set->tag[way] != tag)
			return NULL;
		if (!set->outward[way]) {
			const struct rt_cached_stack *c = &cache->stacks[2 * index + way];
			if (!rt_cached_stack_holds(c, epoch, from->pc, from->sp, from->rbp))
				return NULL;
			uint16_t *next = cache->stacks[cache->latest].next;
			next[1] = next[0];
			next[0] = (uint16_t)(2 * index + way);
			cache->latest = 2 * index + way;
			return c;
		}
		if (!rt_stack_cache_step(rules, &s, high)) {
			ret->set = NULL;
			return NULL;
		}
		mix = key + s.pc;
	}
}

#endif
