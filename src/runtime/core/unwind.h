/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the calling thread's own stack (read only), rule
 * table, shared nodes.
 *
 * The call stack of the calling thread as a stack number, fast because it remembers.
 *
 * *Verified memo.* The last walk of a thread is kept: for each frame the state in which it was
 * entered (address, stack pointer, rbp) and the words that were read from memory to get there. A
 * new walk goes from the top only until its state equals a remembered one. From an equal state the
 * old walk would be repeated word by word as long as the words it read are unchanged, so they are
 * compared, outward: independent loads, no lookups. If all are equal the rest of the stack is the
 * old rest, and so is its number. If one differs, walking goes on from the last good frame. The
 * result is exact, whatever the program did in between (longjmp, exceptions, coroutines), and
 * nothing is ever written to the program's stack.
 *
 * A word need not be compared when it is not needed: a saved rbp in a chain of frames where the
 * next one outward restores its own before it is used (`needed` below). Code without frame pointers
 * keeps arbitrary values in rbp; without this rule they would spoil every match.
 *
 * *Stacks that come again.* Where calls from several places take turns the last walk is of little
 * use; for them a thread keeps some whole stacks (stack_cache.h).
 *
 * Dropped: return-address trampolines (they write the stack: shadow stacks, exceptions, longjmp),
 * trusting the memo without comparing (wrong stacks).
 */
#ifndef RUNTIME_UNWIND_H
#define RUNTIME_UNWIND_H

#include "runtime/core/rules.h"
#include "runtime/core/stack_cache.h"
#include "runtime/core/stacks.h"

#include <stddef.h>
#include <stdint.h>

/* More frames than this are cut, and marked so. */
#define RT_DEPTH_MAX 4096
/* How many innermost frames of a cut stack are kept. */
#define RT_DEPTH_CUT 512

/*
 * One frame of a walk: four whole words, written and copied as such (a narrow store before a wide
 * load costs more than all the rest). Invariant of a memo: frame i was entered from frame i + 1
 * (inner) by reading the return address at sp - 8 and, if the inner one's slots say so, rbp and sp
 * themselves from memory.
 */
struct rt_frame {
	uint64_t sp; /* stack pointer in this frame at the call: the inner frame's CFA */
	uint64_t pc; /* return address into this frame, with RT_EXACT if it was interrupted there */
	uint64_t rbp;  /* its value in this frame */
	uint64_t meta; /* enum rt_frame_meta */
};
_Static_assert(sizeof(struct rt_frame) == 32, "two to a cache line");

enum rt_frame_meta {
	RT_META_STACK_BITS =
		32, /* low half: number of the stack that ends here; while fresh: of pc's rule */
	RT_META_FLAGS = 32, /* 8 bits, enum rt_frame_flag */
	/* The next frame outward, with the stack pointer SP: */
	RT_META_CFA_SLOT = 40, /* signed 8 bits: SP was read at SP + 8 * slot; 0: it was computed */
	RT_META_RBP_SLOT =
		48, /* signed 16 bits: rbp was read at SP + 8 * slot; 0: it was not read */
};

/* As bits of meta. */
enum rt_frame_flag {
	RT_FRAME_RBP_NEEDED = 1,   /* the walk outward depends on rbp as it is here */
	RT_FRAME_RBP_USED = 2,     /* the very next step outward does */
	RT_FRAME_RBP_RESTORED = 4, /* the next frame outward has rbp from memory */
	RT_FRAME_GUESSED = 8,      /* the next frame outward was found by frame pointer alone */
	RT_FRAME_NO_MEMO = 16,     /* the step outward can't be verified cheaply (signal frame) */
	RT_FRAME_COMPARE = 64,     /* in a memo: more than the return address has to be compared */
};

static inline uint32_t rt_frame_stack(const struct rt_frame *f)
{
	return (uint32_t)f->meta;
}

static inline uint64_t rt_frame_flags(const struct rt_frame *f)
{
	return f->meta >> RT_META_FLAGS & 0xff;
}

static inline int64_t rt_frame_rbp_slot(const struct rt_frame *f)
{
	return (int64_t)f->meta >> RT_META_RBP_SLOT;
}

static inline int64_t rt_frame_cfa_slot(const struct rt_frame *f)
{
	return (int8_t)(f->meta >> RT_META_CFA_SLOT);
}

struct rt_walk {
	/* Memory known to be readable around the stack in use. */
	uint64_t readable_low, readable_high;
	uint32_t generation;  /* of the modules when the memo was made */
	uint32_t compare_top; /* no frame of the memo above this one has RT_FRAME_COMPARE; 0: none
				 has */
	/*
	 * RT_DEPTH_MAX places: first one that no walk passes (sp is the largest number), then one
	 * that never compares equal (its return address is `never`), at `memo`, then frames up to
	 * `top`, outermost first.
	 */
	struct rt_frame *memo, *top;
	struct rt_frame *fresh; /* RT_DEPTH_MAX, innermost first */
	uint64_t never;
	struct rt_rule_entry other;        /* of a frame that has none in the table */
	struct rt_stack_cache *cache;      /* NULL: none */
	const struct rt_cached_stack *hit; /* what the last walk came from; NULL: the memo */
	uint32_t epoch;                    /* of the cache: what is kept of another one is void */
	uint32_t kept;                     /* how many stacks it was given */
	bool uses_cache;                   /* or walks all stacks for a while */
	uint32_t walked;       /* stacks that the cache did not have, since that was decided */
	uint64_t found;        /* and that it had */
	uint32_t without;      /* walks of the latest while without the cache; 0: it paid */
	uint32_t without_left; /* of them to come */
	struct rt_child children[RT_CHILD_CACHE];
};

struct rt_unwinder {
	struct rt_stacks stacks;
	struct rt_modules *modules;
	struct rt_rules *rules;
};

/* Makes the next walk examine every frame. */
static inline void rt_walk_forget(struct rt_walk *walk)
{
	walk->top = walk->memo;
	walk->hit = NULL;
	walk->epoch++;
}

/* Gives a walk its memory: zeroed, 2 * RT_DEPTH_MAX frames, and RT_CACHED_STACKS of a cache, or
 * NULL for a walk whose thread changes. */
void rt_walk_init(struct rt_walk *walk, struct rt_frame *frames, struct rt_stack_cache *cache);

/* Keeps the stack that the memo has now, which the last walk came to, at `place`, or close to it.
 */
void rt_stack_cache_keep(struct rt_walk *walk, const struct rt_cache_place *place, uint32_t stack);

/* Counts a walk while the cache is not used, which may be used from the next one on. */
void rt_stack_cache_without(struct rt_walk *walk);

/* Makes sure that the whole stack above sp can be read, as far as it can, while the kernel can
 * still be asked. */
void rt_walk_reach(struct rt_walk *walk, uint64_t sp);

/*
 * As above, for when the kernel can't be asked: glibc puts the thread's control block (`pointer`)
 * above its stack, in the same mapping, so what lies between is readable if it is close enough.
 */
void rt_walk_trust(struct rt_walk *walk, uint64_t sp, uint64_t pointer);

/*
 * Returns the stack that begins at return address pc, with stack pointer sp and rbp as they are in
 * that frame. Never fails: what can't be walked is marked in the result. walk belongs to the
 * calling thread alone.
 */
uint32_t rt_unwind(const struct rt_unwinder *unwinder, struct rt_walk *walk, uint64_t pc,
	uint64_t sp, uint64_t rbp);

/*
 * Returns whether a call at (pc, sp, rbp) comes from the same activation of the same function as
 * the last walk did: same function, same stack pointer, and the caller's frame at the same place
 * with the same return address.
 */
bool rt_same_frame(const struct rt_unwinder *unwinder, const struct rt_walk *walk, uint64_t pc,
	uint64_t sp, uint64_t rbp);

#endif
