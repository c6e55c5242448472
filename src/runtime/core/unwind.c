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

/* A frame being entered: its registers and, ready for meta, the slots they were read from. */
struct entered {
	uint64_t sp, pc, rbp, slots;
};

static uint64_t slot_bits(uint64_t at, uint64_t cfa, unsigned bits, unsigned shift, uint64_t *flags)
{
	int64_t slot = ((int64_t)at - (int64_t)cfa) / 8, limit = 1ll << (bits - 1);
	if (slot < -limit || slot >= limit || (at - cfa) % 8)
		*flags |= RT_FRAME_NO_MEMO;
	return ((uint64_t)slot & ((1ull << bits) - 1)) << shift;
}

/* What is rare: realigned frames, signal frames, code without unwind information. Gives the CFA, or 0 when *ret is complete. */
static __attribute__((noinline)) enum step step_rare(const struct rt_unwinder *u,
	struct rt_walk *walk, struct rt_rule *rule, struct entered *e, uint64_t *flags, uint64_t *ret_cfa)
{
	struct state s = {e->pc, e->sp, e->rbp};
	if (rule->cfa == RT_CFA_RBP_DEREF) {
		uint64_t at = s.rbp + (uint64_t)rule->cfa_offset * 8;
		*flags |= RT_FRAME_RBP_USED;
		if (at < s.sp || !readable(walk, at) || !sys_readable(at))
			return STEP_LOST;
		*ret_cfa = load(at);
		e->slots = slot_bits(at, *ret_cfa, 8, RT_META_CFA_SLOT, flags);
		return STEP_ON;
	}
	if (rule->cfa == RT_CFA_SIGNAL) {
		*flags |= RT_FRAME_NO_MEMO;
		if (!step_signal(walk, &s))
			return STEP_LOST;
		*e = (struct entered){s.sp, s.pc, s.rbp, 0};
		*ret_cfa = 0;
		return STEP_ON;
	}
	if (rule->cfa == RT_CFA_END)
		return STEP_END;
	if (!guess(u, walk, &s))
		return STEP_LOST;
	*flags |= RT_FRAME_GUESSED | RT_FRAME_RBP_USED;
	rule->rbp = RT_RBP_AT_CFA;
	rule->rbp_offset = -2;
	*ret_cfa = s.rbp + 16;
	return STEP_ON;
}

/* From the frame in *e to its caller, in *e. *flags: what the frame itself is like. */
static inline __attribute__((always_inline)) enum step step(const struct rt_unwinder *u,
	struct rt_walk *walk, struct rt_rule rule, struct entered *e, uint64_t *flags)
{
	uint64_t cfa, slots = 0;
	if (rt_likely(rule.cfa == RT_CFA_RSP)) {
		cfa = e->sp + (uint64_t)rule.cfa_offset * 8;
	} else if (rule.cfa == RT_CFA_RBP) {
		cfa = e->rbp + (uint64_t)rule.cfa_offset * 8;
		*flags |= RT_FRAME_RBP_USED;
	} else {
		enum step result = step_rare(u, walk, &rule, e, flags, &cfa);
		if (result != STEP_ON || !cfa)
			return result;
		slots = e->slots;
	}
	if (rt_unlikely(cfa <= e->sp || !readable(walk, cfa - 8)))
		return STEP_LOST;
	if (rule.rbp != RT_RBP_SAME) {
		uint64_t at = (uint64_t)rule.rbp_offset * 8;
		at += rule.rbp == RT_RBP_AT_CFA ? cfa : e->rbp;
		if (rt_unlikely(at < e->sp || at >= cfa || !readable(walk, at)))
			return STEP_LOST;
		*flags |= RT_FRAME_RBP_RESTORED;
		if (rt_likely(rule.rbp == RT_RBP_AT_CFA)) {
			slots |= (uint64_t)rule.rbp_offset << RT_META_RBP_SLOT;
		} else {
			*flags |= RT_FRAME_RBP_USED;
			slots |= slot_bits(at, cfa, 16, RT_META_RBP_SLOT, flags);
		}
		e->rbp = load(at);
	}
	e->sp = cfa;
	e->pc = load(cfa - 8);
	e->slots = slots;
	return rt_likely(e->pc) ? STEP_ON : STEP_END;
}

/* Compares the words that frame `f` was entered by. */
static inline bool unchanged(const struct rt_frame *f)
{
	if (load(f->sp - 8) != f->pc)
		return false;
	uint64_t meta = f->meta;
	if (rt_unlikely(meta & 0xffull << RT_META_CFA_SLOT) &&
		load(f->sp + (uint64_t)(rt_frame_cfa_slot(f) * 8)) != f->sp)
		return false;
	if (!(meta & (uint64_t)RT_FRAME_RBP_NEEDED << RT_META_FLAGS) || !(meta >> RT_META_RBP_SLOT))
		return true;
	return load(f->sp + (uint64_t)(rt_frame_rbp_slot(f) * 8)) == f->rbp;
}

/*
 * The memo's frame `top` equals the walk's state. Returns the number of outer frames that still hold: top + 1 when everything does;
 * less: frame [result] is the innermost whose words changed.
 */
static inline uint32_t memo_verify(const struct rt_walk *walk, uint32_t top)
{
	for (uint32_t i = top; i-- > 0;) {
		if (rt_unlikely(!unchanged(&walk->memo[i])))
			return i;
	}
	return top + 1;
}

#define FLAG(flag) ((uint64_t)(flag) << RT_META_FLAGS)
#define SLOTS_MASK (~0ull << RT_META_CFA_SLOT)

/*
 * Frames [changed + 1, top] of the memo are right but for rbp where nobody needed it: they become fresh ones, with the true rbp.
 * `e` is frame `top` as this walk entered it; at the end it is frame changed + 1, which is not among the fresh ones yet.
 */
static uint32_t memo_keep_inner(const struct rt_unwinder *u, struct rt_walk *walk, uint32_t changed,
	uint32_t top, struct entered *e, uint32_t fresh)
{
	for (uint32_t i = top; i > changed + 1; i--) {
		const struct rt_frame *old = &walk->memo[i];
		struct rt_frame *f = &walk->fresh[fresh++];
		uint16_t unused;
		uint64_t flags = old->meta & FLAG(0xff & ~RT_FRAME_RBP_NEEDED);
		f->sp = e->sp;
		f->pc = e->pc;
		f->rbp = e->rbp;
		f->meta = rt_rules_find(u->rules, e->pc, &unused).module | flags | e->slots;
		const struct rt_frame *next = &walk->memo[i - 1];
		*e = (struct entered){next->sp, next->pc, e->rbp, next->meta & SLOTS_MASK};
		if (rt_frame_rbp_slot(next))
			e->rbp = load(next->sp + (uint64_t)(rt_frame_rbp_slot(next) * 8));
	}
	return fresh;
}

/*
 * Numbers the fresh frames from the outermost inward on top of `base`, and appends them to the first `kept` frames of the
 * memo. `needed`: whether the walk outward of them depends on their rbp.
 */
static inline uint32_t memo_append(const struct rt_unwinder *u, struct rt_walk *walk, uint32_t kept,
	uint32_t base, uint32_t fresh, bool needed)
{
	bool verifiable = true;
	for (uint32_t i = fresh; i-- > 0;) {
		const struct rt_frame *f = &walk->fresh[i];
		struct rt_frame *out = &walk->memo[kept++];
		uint64_t pc = f->pc, meta = f->meta;
		/* What is outward needs this frame's rbp too, unless the frame restores it from its own memory. */
		needed = meta & FLAG(RT_FRAME_RBP_USED) ||
			(needed && !(meta & FLAG(RT_FRAME_RBP_RESTORED)));
		if (rt_unlikely(meta & FLAG(RT_FRAME_GUESSED)))
			base = rt_stacks_child(&u->stacks, base, HW_MARK_GUESS);
		if (rt_unlikely(pc & RT_EXACT))
			base = rt_stacks_child(&u->stacks, base, HW_MARK_SIGNAL);
		base = rt_stacks_child_cached(&u->stacks, walk->children, base,
			(pc & ~RT_EXACT & HW_FRAME_ADDRESS_MASK) | meta << HW_FRAME_ADDRESS_BITS);
		out->sp = f->sp;
		out->pc = pc;
		out->rbp = f->rbp;
		out->meta = (meta & ~0xffffffffull) | base | (needed ? FLAG(RT_FRAME_RBP_NEEDED) : 0);
		verifiable &= !(meta & FLAG(RT_FRAME_NO_MEMO));
	}
	/* Beyond a step that can't be verified the old walk proves nothing. */
	walk->memo_frames = rt_likely(verifiable) ? kept : 0;
	return base;
}

static inline bool same_state(const struct rt_frame *memo, const struct entered *e)
{
	return memo->sp == e->sp && memo->pc == e->pc &&
		(memo->rbp == e->rbp || !(memo->meta & FLAG(RT_FRAME_RBP_NEEDED)));
}

/* Another stack, more of this one, or other modules since the last walk. */
static __attribute__((noinline)) void walk_adjust(struct rt_walk *walk, uint64_t sp, uint32_t generation)
{
	if (sp < walk->readable_low && sp + (64u << 10) >= walk->readable_low)
		walk->readable_low = sp & ~4095ull; /* the same stack grew down */
	else if (sp < walk->readable_low || sp >= walk->readable_high)
		readable_reset(walk, sp);
	if (walk->generation != generation) {
		walk->memo_frames = 0;
		walk->generation = generation;
	}
}

uint32_t rt_unwind(const struct rt_unwinder *u, struct rt_walk *walk, uint64_t pc, uint64_t sp,
	uint64_t rbp)
{
	uint32_t generation = __atomic_load_n(&u->modules->generation, __ATOMIC_ACQUIRE);
	if (rt_unlikely(sp < walk->readable_low || sp >= walk->readable_high ||
		    walk->generation != generation))
		walk_adjust(walk, sp, generation);
	uint32_t memo = walk->memo_frames; /* frames from here on lie inward of the walk */
	uint32_t fresh = 0;
	struct entered e = {sp, pc, rbp, 0};
	for (;;) {
		while (memo && walk->memo[memo - 1].sp < e.sp)
			memo--;
		if (memo && same_state(&walk->memo[memo - 1], &e)) {
			uint32_t top = memo - 1;
			struct rt_frame *m = &walk->memo[top];
			uint32_t holds = memo_verify(walk, top);
			if (rt_likely(holds == top + 1)) {
				walk->memo_frames = memo;
				if (!fresh)
					return rt_frame_stack(m);
				m->rbp = e.rbp;
				m->meta = (m->meta & ~SLOTS_MASK) | e.slots;
				return memo_append(u, walk, memo, rt_frame_stack(m), fresh,
					m->meta & FLAG(RT_FRAME_RBP_NEEDED));
			}
			if (fresh + (top - holds) + 2 >= RT_DEPTH_MAX)
				break;
			fresh = memo_keep_inner(u, walk, holds, top, &e, fresh);
			memo = holds + 1;
		}
		if (rt_unlikely(fresh == RT_DEPTH_MAX - 1))
			break;
		struct rt_frame *here = &walk->fresh[fresh++];
		here->sp = e.sp;
		here->pc = e.pc;
		here->rbp = e.rbp;
		uint64_t entry = e.slots, flags = 0;
		uint16_t unused;
		struct rt_rule rule = rt_rules_find(u->rules, e.pc, &unused);
		enum step result = step(u, walk, rule, &e, &flags);
		here->meta = rule.module | FLAG(flags) | entry;
		if (rt_likely(result == STEP_ON)) {
			if (rt_unlikely(flags & RT_FRAME_NO_MEMO))
				memo = 0;
			continue;
		}
		uint32_t base = result == STEP_END
			? 0
			: rt_stacks_child(&u->stacks, 0, HW_MARK_NO_UNWIND_INFO);
		return memo_append(u, walk, 0, base, fresh, false);
	}
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
