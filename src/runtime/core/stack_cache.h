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
 * No stack with a guess or a signal frame is kept: these are walked.
 */
#ifndef RUNTIME_STACK_CACHE_H
#define RUNTIME_STACK_CACHE_H

#include "runtime/core/rules.h"

#include <stdbool.h>
#include <stdint.h>

/* Two places for stacks that begin alike. */
#define RT_CACHED_PAIRS_BITS 8
#define RT_CACHED_STACKS (2u << RT_CACHED_PAIRS_BITS)
/* Words that are compared: one a frame, two where frame pointers are used. What needs more is not
 * kept. */
#define RT_CACHED_WORDS 22
/* At least so many are compared: of a shorter stack the last word again. */
#define RT_CACHED_FEW 8

/* A stack. All bytes 0: none. */
struct rt_cached_stack {
	uint64_t sp, pc, rbp;
	uint32_t epoch; /* of the cache when it was kept; 0: none, or being written */
	uint32_t stack;
	uint16_t count;                 /* of words, RT_CACHED_FEW or more */
	bool needs_rbp;                 /* rbp has to be the same, too */
	uint8_t caller;                 /* the word that is the first return address */
	uint16_t at[RT_CACHED_WORDS];   /* where each is: words from sp, in the order of a walk */
	uint64_t word[RT_CACHED_WORDS]; /* what it has to be */
};
_Static_assert(sizeof(struct rt_cached_stack) == 256, "whole cache lines");

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

/*
 * Returns the two places for a stack that begins at (pc, sp, rbp): stacks with other callers, and
 * callers of these, have other places. NULL: it can't be kept. `high`: up to where the stack in use
 * can be read.
 */
static inline struct rt_cached_stack *rt_stack_cache_pair(struct rt_cached_stack *cache,
	const struct rt_rules *rules, uint64_t pc, uint64_t sp, uint64_t rbp, uint64_t high)
{
	struct rt_cache_state s = {pc, sp, rbp};
	if (!rt_stack_cache_step(rules, &s, high))
		return NULL;
	uint64_t mix = (sp << 20) + pc + s.pc * 31;
	if (!rt_stack_cache_step(rules, &s, high))
		return NULL;
	mix += s.pc * 1021;
	return &cache[2 * (mix * 0x9e3779b97f4a7c15ull >> (64 - RT_CACHED_PAIRS_BITS))];
}

/*
 * Whether a walk from (pc, sp, rbp) comes to what is kept at this place. The words are read
 * outward, and none after one that differs: as long as they are the same, so are the frames, and
 * the next one is where a walk would read it. What is farther may be memory that is there no more.
 */
static inline bool rt_stack_cache_holds(
	const struct rt_cached_stack *c, uint32_t epoch, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (c->sp != sp || c->pc != pc || c->epoch != epoch || (c->needs_rbp && c->rbp != rbp))
		return false;
	const uint64_t *stack = (const uint64_t *)sp;
	for (uint32_t i = 0; i < RT_CACHED_FEW; i++) {
		if (stack[c->at[i]] != c->word[i])
			return false;
	}
	for (uint32_t i = RT_CACHED_FEW; i < c->count; i++) {
		if (stack[c->at[i]] != c->word[i])
			return false;
	}
	return true;
}

#endif
