/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see unwind.h. May touch: the same. */
#include "runtime/core/unwind.h"

/* So often stacks with one key may follow each other before the next address outward counts: a
 * program's phases change less often. */
#define CHANGES_MAX 3

/* After so many walks of stacks that were not found it is decided whether to go on looking. */
#define WALKS_TO_JUDGE 256
/* A third of all stacks has to be walked: looking for them and keeping them costs more than the
 * others save. (espresso of mimalloc-bench: 38 in 100.) */
#define WALKED_PART 3
/* Walks without looking, before the cache is tried again; twice as many after each trial in vain.
 */
#define WITHOUT_MIN 8192
#define WITHOUT_MAX (1u << 20)

/* Adds a word to what is compared; false: there is no room, or it is too far away. */
static bool put_word(struct rt_cached_stack *to, uint32_t *count, uint64_t address, uint64_t word)
{
	uint64_t at = (address - to->sp) / 8;
	if (*count >= RT_CACHED_WORDS || at > UINT16_MAX)
		return false;
	struct rt_cached_words *w = &to->words[*count / 4];
	w->at[*count % 4] = (uint16_t)at;
	w->word[*count % 4] = word;
	++*count;
	return true;
}

/* As is_frame_unchanged() of unwind.c has it: in the order in which a walk reads them. */
static bool put_frame(struct rt_cached_stack *to, uint32_t *count, const struct rt_frame *f)
{
	uint64_t flags = rt_frame_flags(f);
	if (rt_likely(!(flags & (RT_FRAME_COMPARE | RT_FRAME_GUESSED))))
		return put_word(to, count, f->sp - 8, f->pc);
	if (flags & RT_FRAME_GUESSED)
		return false;
	int64_t cfa_slot = rt_frame_cfa_slot(f + 1), rbp_slot = rt_frame_rbp_slot(f + 1);
	if (cfa_slot && !put_word(to, count, f->sp + (uint64_t)(cfa_slot * 8), f->sp))
		return false;
	bool rbp = flags & RT_FRAME_RBP_NEEDED && rbp_slot;
	return put_word(to, count, f->sp - 8, f->pc) &&
	       (!rbp || put_word(to, count, f->sp + (uint64_t)(rbp_slot * 8), f->rbp));
}

/* Writes the stack that the memo has now to this place. */
static void write_stack(const struct rt_walk *walk, struct rt_cached_stack *to, uint32_t stack)
{
	const struct rt_frame *top = walk->top;
	to->epoch = 0; /* until all of it is there: control may leave for good */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	to->sp = top->sp;
	to->pc = top->pc;
	to->rbp = top->rbp;
	to->needs_rbp = rt_frame_flags(top) & RT_FRAME_RBP_NEEDED;
	to->stack = stack;
	to->caller = rt_frame_cfa_slot(top) && rt_frame_flags(top - 1) & RT_FRAME_COMPARE;
	uint32_t count = 0;
	for (const struct rt_frame *f = top - 1; f > walk->memo; f--) {
		if (!put_frame(to, &count, f))
			return;
	}
	const struct rt_cached_words *w = &to->words[(count - 1) / 4];
	uint64_t last = to->sp + 8ull * w->at[(count - 1) % 4], word = w->word[(count - 1) % 4];
	while (count < 4 * RT_CACHED_GROUPS_FEW || count % 4)
		put_word(to, &count, last, word);
	to->groups = (uint8_t)(count / 4);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	to->epoch = walk->epoch;
}

/* Which of the two places a stack with this tag gets; 2: one farther outward, next time. */
static uint32_t choose_way(struct rt_walk *walk, const struct rt_cache_place *place)
{
	struct rt_cache_set *set = place->set;
	for (uint32_t way = 0; way < 2; way++) {
		if (set->tag[way] != place->tag)
			continue;
		if (set->changed[way] >= CHANGES_MAX && place->outward < RT_CACHE_OUTWARD_MAX) {
			set->outward[way] = true;
			return 2;
		}
		set->changed[way] += set->changed[way] < CHANGES_MAX;
		return way;
	}
	uint32_t way = !set->tag[0] ? 0 : !set->tag[1] ? 1 : walk->kept++ & 1;
	set->outward[way] = false;
	set->changed[way] = 0;
	return way;
}

/* One more stack was not found: does it pay to look for them? */
static void cache_judge(struct rt_walk *walk)
{
	if (++walk->walked < WALKS_TO_JUDGE)
		return;
	if (walk->found >= (WALKED_PART - 1) * (uint64_t)WALKS_TO_JUDGE) {
		walk->without = 0;
	} else {
		walk->uses_cache = false;
		walk->without = walk->without ? 2 * walk->without : WITHOUT_MIN;
		if (walk->without > WITHOUT_MAX)
			walk->without = WITHOUT_MAX;
		walk->without_left = walk->without;
	}
	walk->walked = 0;
	walk->found = 0;
}

void rt_stack_cache_without(struct rt_walk *walk)
{
	if (walk->without_left && !--walk->without_left)
		walk->uses_cache = true;
}

void rt_stack_cache_keep(struct rt_walk *walk, const struct rt_cache_place *place, uint32_t stack)
{
	cache_judge(walk);
	const struct rt_frame *top = walk->top;
	if (!place->set || top < walk->memo + 2 || top > walk->memo + 1 + RT_CACHED_WORDS ||
		rt_frame_flags(top) & RT_FRAME_GUESSED)
		return;
	uint32_t way = choose_way(walk, place);
	if (way > 1)
		return;
	size_t index = (size_t)(place->set - walk->cache->sets);
	place->set->tag[way] = 0;
	write_stack(walk, &walk->cache->stacks[2 * index + way], stack);
	place->set->tag[way] = place->tag;
}
