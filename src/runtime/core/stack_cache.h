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
 * Only stacks whose frames were all found by their return addresses are kept: those that need rbp,
 * a guess or a signal frame are walked.
 */
#ifndef RUNTIME_STACK_CACHE_H
#define RUNTIME_STACK_CACHE_H

#include "runtime/core/rules.h"

#include <stdbool.h>
#include <stdint.h>

/* Two places for stacks that begin alike. */
#define RT_CACHED_PAIRS_BITS 8
#define RT_CACHED_STACKS (2u << RT_CACHED_PAIRS_BITS)
/* Return addresses that are compared; a deeper stack is not kept. */
#define RT_CACHED_WORDS 18
/* At least so many: a shorter one repeats its last one. */
#define RT_CACHED_FEW 8

/* A stack. All bytes 0: none. */
struct rt_cached_stack {
	uint64_t sp, pc;
	uint32_t epoch; /* of the cache when it was kept; 0: none, or being written */
	uint32_t stack;
	uint32_t count;                 /* of words, RT_CACHED_FEW or more */
	uint32_t at[RT_CACHED_WORDS];   /* where each word is: bytes from sp, innermost first */
	uint64_t word[RT_CACHED_WORDS]; /* what it has to be */
	uint64_t spare;
};
_Static_assert(sizeof(struct rt_cached_stack) == 256, "whole cache lines");

/*
 * Returns the two places for a stack that begins at (pc, sp): stacks with other callers, and
 * callers of these, have other places. NULL: its two innermost frames are none that nearly every
 * stack has. `high`: up to where the stack in use can be read.
 */
static inline struct rt_cached_stack *rt_stack_cache_pair(struct rt_cached_stack *cache,
	const struct rt_rules *rules, uint64_t pc, uint64_t sp, uint64_t high)
{
	const struct rt_rule_entry *own = &rules->entries[rt_rules_slot(pc)];
	uint64_t outer = sp + own->cfa_bytes; /* RT_RULE_RARE leads beyond every stack */
	if (__atomic_load_n(&own->address, __ATOMIC_ACQUIRE) != pc || outer > high)
		return NULL;
	uint64_t caller = *(const uint64_t *)(outer - 8);
	const struct rt_rule_entry *next = &rules->entries[rt_rules_slot(caller)];
	outer += next->cfa_bytes;
	if (__atomic_load_n(&next->address, __ATOMIC_ACQUIRE) != caller || outer > high)
		return NULL;
	uint64_t second = *(const uint64_t *)(outer - 8);
	uint64_t mix = (sp << 20) + pc + caller * 31 + second * 1021;
	return &cache[2 * (mix * 0x9e3779b97f4a7c15ull >> (64 - RT_CACHED_PAIRS_BITS))];
}

/*
 * Whether a walk from (pc, sp) comes to what is kept at this place. The words are read outward, and
 * none after one that differs: as long as they are the same, so are the frames, and the next one is
 * where a walk would read it. What is farther may be memory that is there no more.
 */
static inline bool rt_stack_cache_holds(
	const struct rt_cached_stack *c, uint32_t epoch, uint64_t pc, uint64_t sp)
{
	if (c->sp != sp || c->pc != pc || c->epoch != epoch)
		return false;
	for (uint32_t i = 0; i < RT_CACHED_FEW; i++) {
		if (*(const uint64_t *)(sp + c->at[i]) != c->word[i])
			return false;
	}
	for (uint32_t i = RT_CACHED_FEW; i < c->count; i++) {
		if (*(const uint64_t *)(sp + c->at[i]) != c->word[i])
			return false;
	}
	return true;
}

#endif
