/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see unwind.h. May touch: the same.
 *
 * walk_fresh() goes outward frame by frame until the memo takes over or the stack ends; memo_append() then gives the new frames
 * their numbers, inward, and makes them the new inner part of the memo.
 */
#include "runtime/core/unwind.h"

/* struct rt_sigframe as the kernel pushes it: at the trampoline rsp points at the ucontext (arch/x86/include/asm/sigframe.h). */
#define UCONTEXT_RBP (40 + 10 * 8)
#define UCONTEXT_RSP (40 + 15 * 8)
#define UCONTEXT_RIP (40 + 16 * 8)

struct state {
	uint64_t pc, sp, rbp;
};

static inline uint64_t load(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* Makes sure that the word at `address` (at or above the stack in use) can be read. */
static __attribute__((noinline)) bool readable_extend(struct rt_walk *walk, uint64_t address)
{
	for (unsigned pages = 0; pages < 4096; pages++) {
		if (address + 8 <= walk->readable_high)
			return true;
		if (!sys_readable(walk->readable_high))
			return false;
		walk->readable_high += 4096;
	}
	return false;
}

static inline bool readable(struct rt_walk *walk, uint64_t address)
{
	if (rt_likely(address >= walk->readable_low && address + 8 <= walk->readable_high))
		return !(address & 7);
	if (address & 7 || address < walk->readable_low || address > 1ull << 47)
		return false;
	return readable_extend(walk, address);
}

/* The stack in use is another one than last time (thread start, coroutine, alternate signal stack). */
static void readable_reset(struct rt_walk *walk, uint64_t sp)
{
	walk->readable_low = sp & ~4095ull;
	walk->readable_high = walk->readable_low + 4096;
}

static bool step_signal(struct rt_walk *walk, struct state *s)
{
	uint64_t context = s->sp;
	if (!readable(walk, context + UCONTEXT_RIP) || !readable(walk, context + UCONTEXT_RBP))
		return false;
	s->rbp = load(context + UCONTEXT_RBP);
	s->pc = load(context + UCONTEXT_RIP) | RT_EXACT;
	uint64_t sp = load(context + UCONTEXT_RSP);
	if (sp < walk->readable_low || sp > walk->readable_high + (8u << 20)) {
		if (!sys_readable(sp & ~7ull))
			return false;
		readable_reset(walk, sp);
	}
	s->sp = sp;
	return true;
}

/* Code without unwind information: is there a plausible frame pointer chain? */
static bool guess(const struct rt_unwinder *u, struct rt_walk *walk, const struct state *s)
{
	if (s->rbp < s->sp || s->rbp - s->sp > 1u << 20 || !readable(walk, s->rbp) ||
		!readable(walk, s->rbp + 8) || !sys_readable(s->rbp) || !sys_readable(s->rbp + 8))
		return false;
	uint64_t caller = load(s->rbp + 8);
	return caller > 4096 && rt_modules_at(u->modules, caller - 1);
}

enum step { STEP_ON, STEP_END, STEP_LOST };

/*
 * From frame *s to its caller. Slots and flags that describe how the caller was reached go to *next (its sp, pc, rbp
 * too); flags of the frame itself to *here.
 */
static inline enum step step(const struct rt_unwinder *u, struct rt_walk *walk, struct rt_rule rule,
	const struct state *s, struct rt_frame *here, struct rt_frame *next)
{
	uint64_t cfa;
	int64_t cfa_slot = 0;
	if (rt_likely(rule.cfa == RT_CFA_RSP)) {
		cfa = s->sp + (uint64_t)rule.cfa_offset * 8;
	} else if (rule.cfa == RT_CFA_RBP) {
		cfa = s->rbp + (uint64_t)rule.cfa_offset * 8;
		here->flags |= RT_FRAME_RBP_USED;
	} else if (rule.cfa == RT_CFA_RBP_DEREF) {
		uint64_t at = s->rbp + (uint64_t)rule.cfa_offset * 8;
		here->flags |= RT_FRAME_RBP_USED;
		if (at < s->sp || !readable(walk, at) || !sys_readable(at))
			return STEP_LOST;
		cfa = load(at);
		cfa_slot = ((int64_t)at - (int64_t)cfa) / 8;
		if (cfa_slot < INT8_MIN || cfa_slot > -1 || (int64_t)(at - cfa) % 8)
			here->flags |= RT_FRAME_NO_MEMO;
	} else if (rule.cfa == RT_CFA_SIGNAL) {
		struct state after = *s;
		here->flags |= RT_FRAME_NO_MEMO;
		if (!step_signal(walk, &after))
			return STEP_LOST;
		*next = (struct rt_frame){.sp = after.sp, .pc = after.pc, .rbp = after.rbp};
		return STEP_ON;
	} else if (rule.cfa == RT_CFA_END) {
		return STEP_END;
	} else {
		if (!guess(u, walk, s))
			return STEP_LOST;
		here->flags |= RT_FRAME_GUESSED | RT_FRAME_RBP_USED;
		rule.rbp = RT_RBP_AT_CFA;
		rule.rbp_offset = -2;
		cfa = s->rbp + 16;
	}
	if (rt_unlikely(cfa <= s->sp || !readable(walk, cfa - 8)))
		return STEP_LOST;
	next->sp = cfa;
	next->pc = load(cfa - 8);
	next->rbp = s->rbp;
	next->rbp_slot = 0;
	next->cfa_slot = (int8_t)cfa_slot;
	next->flags = 0;
	if (rule.rbp != RT_RBP_SAME) {
		here->flags |= RT_FRAME_RBP_RESTORED;
		uint64_t at = (uint64_t)rule.rbp_offset * 8;
		at += rule.rbp == RT_RBP_AT_CFA ? cfa : s->rbp;
		if (rt_unlikely(at < s->sp || at >= cfa || !readable(walk, at)))
			return STEP_LOST;
		if (rule.rbp == RT_RBP_AT_RBP)
			here->flags |= RT_FRAME_RBP_USED;
		next->rbp = load(at);
		next->rbp_slot = (int16_t)(((int64_t)at - (int64_t)cfa) / 8);
		if ((int64_t)(at - cfa) / 8 < INT16_MIN)
			here->flags |= RT_FRAME_NO_MEMO;
	}
	return next->pc ? STEP_ON : STEP_END;
}

/* Compares the words that frame `f` was entered by. */
static inline bool unchanged(const struct rt_frame *f)
{
	if (load(f->sp - 8) != f->pc)
		return false;
	if (rt_unlikely(f->cfa_slot) && load(f->sp + (uint64_t)((int64_t)f->cfa_slot * 8)) != f->sp)
		return false;
	return !(f->flags & RT_FRAME_RBP_NEEDED) || !f->rbp_slot ||
		load(f->sp + (uint64_t)((int64_t)f->rbp_slot * 8)) == f->rbp;
}

static inline bool same_state(const struct rt_frame *memo, const struct rt_frame *now)
{
	return memo->sp == now->sp && memo->pc == now->pc &&
		(memo->rbp == now->rbp || !(memo->flags & RT_FRAME_RBP_NEEDED));
}

/*
 * The memo's frame `top` equals the walk's state. Returns the number of outer frames that still hold: top + 1 when everything does;
 * less: frame [result] is the innermost whose words changed.
 */
static inline uint32_t memo_verify(const struct rt_walk *walk, uint32_t top)
{
	for (uint32_t i = top; i-- > 0;) {
		if (!unchanged(&walk->memo[i]))
			return i;
	}
	return top + 1;
}

/*
 * Frames [changed + 1, top] of the memo are right but for rbp where nobody needed it: they become fresh ones, with the true rbp.
 * `entered` is frame `top` as this walk entered it.
 */
static uint32_t memo_keep_inner(const struct rt_unwinder *u, struct rt_walk *walk, uint32_t changed,
	uint32_t top, const struct rt_frame *entered, uint32_t fresh)
{
	uint64_t rbp = entered->rbp;
	for (uint32_t i = top + 1; i-- > changed + 1;) {
		struct rt_frame *f = &walk->fresh[fresh++];
		*f = walk->memo[i];
		if (i == top) {
			f->rbp_slot = entered->rbp_slot;
			f->cfa_slot = entered->cfa_slot;
		} else if (f->rbp_slot) {
			rbp = load(f->sp + (uint64_t)((int64_t)f->rbp_slot * 8));
		}
		f->rbp = rbp;
		f->flags &= (uint8_t)~RT_FRAME_RBP_NEEDED;
		uint16_t unused;
		f->stack = (uint32_t)rt_rules_find(u->rules, f->pc, &unused).module;
	}
	return fresh;
}

/*
 * Numbers the fresh frames from the outermost inward on top of `base`, and appends them to the first `kept` frames of the
 * memo. `needed`: whether the walk outward of them depends on their rbp.
 */
static uint32_t memo_append(const struct rt_unwinder *u, struct rt_walk *walk, uint32_t kept,
	uint32_t base, uint32_t fresh, bool needed)
{
	uint32_t memo_from = 0;
	for (uint32_t i = fresh; i-- > 0;) {
		struct rt_frame *f = &walk->fresh[i];
		/* What is outward needs this frame's rbp too, unless the frame restores it from its own memory. */
		needed = f->flags & RT_FRAME_RBP_USED ||
			(needed && !(f->flags & RT_FRAME_RBP_RESTORED));
		if (needed)
			f->flags |= RT_FRAME_RBP_NEEDED;
		if (rt_unlikely(f->flags & RT_FRAME_GUESSED))
			base = rt_stacks_child(&u->stacks, base, HW_MARK_GUESS);
		if (rt_unlikely(f->pc & RT_EXACT))
			base = rt_stacks_child(&u->stacks, base, HW_MARK_SIGNAL);
		base = rt_stacks_child(&u->stacks, base,
			(f->pc & ~RT_EXACT & HW_FRAME_ADDRESS_MASK) |
				(uint64_t)f->stack << HW_FRAME_ADDRESS_BITS);
		f->stack = base;
		walk->memo[kept++] = *f;
		if (rt_unlikely(f->flags & RT_FRAME_NO_MEMO))
			memo_from = kept;
	}
	/* Beyond a step that can't be verified the old walk proves nothing. */
	walk->memo_frames = rt_unlikely(memo_from) ? 0 : kept;
	return base;
}

uint32_t rt_unwind(const struct rt_unwinder *u, struct rt_walk *walk, uint64_t pc, uint64_t sp,
	uint64_t rbp)
{
	if (rt_unlikely(sp < walk->readable_low || sp >= walk->readable_high)) {
		if (sp + (64u << 10) < walk->readable_low || sp >= walk->readable_high)
			readable_reset(walk, sp);
		else
			walk->readable_low = sp & ~4095ull; /* the same stack grew down */
	}
	uint32_t generation = __atomic_load_n(&u->modules->generation, __ATOMIC_ACQUIRE);
	if (rt_unlikely(walk->generation != generation)) {
		walk->memo_frames = 0;
		walk->generation = generation;
	}
	uint32_t memo = walk->memo_frames; /* frames from here on lie inward of the walk */
	uint32_t fresh = 0;
	struct rt_frame now = {.sp = sp, .pc = pc, .rbp = rbp};
	for (;;) {
		while (memo && walk->memo[memo - 1].sp < now.sp)
			memo--;
		if (memo && same_state(&walk->memo[memo - 1], &now)) {
			uint32_t top = memo - 1;
			struct rt_frame *m = &walk->memo[top];
			uint32_t holds = memo_verify(walk, top);
			if (rt_likely(holds == top + 1)) {
				m->rbp = now.rbp;
				m->rbp_slot = now.rbp_slot;
				m->cfa_slot = now.cfa_slot;
				walk->memo_frames = memo;
				return fresh ? memo_append(u, walk, memo, m->stack, fresh,
						       m->flags & RT_FRAME_RBP_NEEDED)
					     : m->stack;
			}
			if (fresh + (top - holds) + 2 >= RT_DEPTH_MAX)
				goto cut;
			fresh = memo_keep_inner(u, walk, holds, top, &now, fresh);
			now = walk->fresh[--fresh];
			now.flags = 0;
			memo = holds + 1;
		}
		if (rt_unlikely(fresh == RT_DEPTH_MAX - 1))
			goto cut;
		struct rt_frame *here = &walk->fresh[fresh++];
		*here = now;
		uint16_t unused;
		struct rt_rule rule = rt_rules_find(u->rules, now.pc, &unused);
		here->stack = (uint32_t)rule.module;
		struct state s = {now.pc, now.sp, now.rbp};
		enum step result = step(u, walk, rule, &s, here, &now);
		if (rt_likely(result == STEP_ON)) {
			if (rt_unlikely(here->flags & RT_FRAME_NO_MEMO))
				memo = 0;
			continue;
		}
		uint32_t base = 0;
		if (result == STEP_LOST)
			base = rt_stacks_child(&u->stacks, 0, HW_MARK_NO_UNWIND_INFO);
		return memo_append(u, walk, 0, base, fresh, false);
	}
cut:
	return memo_append(u, walk, 0, rt_stacks_child(&u->stacks, 0, HW_MARK_CUT), fresh, false);
}

bool rt_same_frame(const struct rt_unwinder *u, const struct rt_walk *walk, uint64_t pc, uint64_t sp,
	uint64_t rbp)
{
	if (walk->memo_frames < 2)
		return false;
	const struct rt_frame *f = &walk->memo[walk->memo_frames - 1];
	const struct rt_frame *caller = f - 1;
	if (f->sp != sp)
		return false;
	uint16_t function_then, function_now;
	rt_rules_find(u->rules, f->pc, &function_then);
	struct rt_rule rule = rt_rules_find(u->rules, pc, &function_now);
	if (function_then != function_now)
		return false;
	uint64_t cfa;
	if (rule.cfa == RT_CFA_RSP)
		cfa = sp + (uint64_t)rule.cfa_offset * 8;
	else if (rule.cfa == RT_CFA_RBP)
		cfa = rbp + (uint64_t)rule.cfa_offset * 8;
	else
		return false;
	return cfa == caller->sp && load(cfa - 8) == caller->pc;
}
