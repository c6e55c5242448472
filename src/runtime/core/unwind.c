/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see unwind.h. May touch: the same.
 *
 * walk_fresh() goes outward frame by frame until the memo takes over or the stack ends;
 * memo_append() then gives the new frames their numbers, inward, and makes them the new inner part
 * of the memo.
 */
#include "runtime/core/unwind.h"

/* struct rt_sigframe as the kernel pushes it: at the trampoline rsp points at the ucontext
 * (arch/x86/include/asm/sigframe.h). */
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

/* The stack in use is another one than last time (thread start, coroutine, alternate signal stack).
 */
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

#define FLAG(flag) ((uint64_t)(flag) << RT_META_FLAGS)
#define SLOTS_MASK (~0ull << RT_META_CFA_SLOT)

/* A frame being entered: its registers and, ready for meta, the slots they were read from. */
struct entered {
	uint64_t sp, pc, rbp, slots;
};

static uint64_t slot_bits(uint64_t at, uint64_t cfa, unsigned bits, unsigned shift, uint64_t *flags)
{
	int64_t slot = ((int64_t)at - (int64_t)cfa) / 8, limit = 1ll << (bits - 1);
	if (slot < -limit || slot >= limit || (at - cfa) % 8)
		*flags |= FLAG(RT_FRAME_NO_MEMO);
	return ((uint64_t)slot & ((1ull << bits) - 1)) << shift;
}

/* The CFA of a frame that is neither rsp nor rbp plus a constant. 0 with STEP_ON: *e is complete
 * already. */
static enum step rare_cfa(const struct rt_unwinder *u, struct rt_walk *walk, struct rt_rule *rule,
	struct entered *e, uint64_t *flags, uint64_t *ret_cfa)
{
	struct state s = {e->pc, e->sp, e->rbp};
	uint64_t at;
	*ret_cfa = 0;
	switch (rt_rule_cfa(*rule)) {
	case RT_CFA_RBP_DEREF:
		at = s.rbp + rt_rule_cfa_offset(*rule);
		*flags |= FLAG(RT_FRAME_RBP_USED);
		if (at < s.sp || !readable(walk, at) || !sys_readable(at))
			return STEP_LOST;
		*ret_cfa = load(at);
		e->slots = slot_bits(at, *ret_cfa, 8, RT_META_CFA_SLOT, flags);
		return *ret_cfa ? STEP_ON : STEP_LOST;
	case RT_CFA_SIGNAL:
		*flags |= FLAG(RT_FRAME_NO_MEMO);
		if (!step_signal(walk, &s))
			return STEP_LOST;
		*e = (struct entered){s.sp, s.pc, s.rbp, 0};
		return STEP_ON;
	case RT_CFA_END:
		return STEP_END;
	default:
		if (!guess(u, walk, &s))
			return STEP_LOST;
		*flags |= FLAG(RT_FRAME_GUESSED | RT_FRAME_RBP_USED);
		*rule = rt_rule_make(RT_CFA_RBP, 16, RT_RBP_AT_CFA, -16);
		*ret_cfa = s.rbp + 16;
		return STEP_ON;
	}
}

/* From the frame in *e to its caller, in *e, by any rule. *flags: what the frame itself is like. */
static __attribute__((noinline)) enum step step(const struct rt_unwinder *u, struct rt_walk *walk,
	struct rt_rule rule, struct entered *e, uint64_t *flags)
{
	uint64_t cfa;
	e->slots = 0;
	if (rt_rule_cfa(rule) == RT_CFA_RSP) {
		cfa = e->sp + rt_rule_cfa_offset(rule);
	} else if (rt_rule_cfa(rule) == RT_CFA_RBP) {
		cfa = e->rbp + rt_rule_cfa_offset(rule);
		*flags |= FLAG(RT_FRAME_RBP_USED);
	} else {
		enum step result = rare_cfa(u, walk, &rule, e, flags, &cfa);
		if (result != STEP_ON || !cfa)
			return result;
	}
	if (cfa <= e->sp || !readable(walk, cfa - 8))
		return STEP_LOST;
	if (rt_rule_rbp(rule) != RT_RBP_SAME) {
		uint64_t at = rt_rule_rbp_offset(rule);
		at += rt_rule_rbp(rule) == RT_RBP_AT_CFA ? cfa : e->rbp;
		if (at < e->sp || at >= cfa || !readable(walk, at))
			return STEP_LOST;
		*flags |= FLAG(RT_FRAME_RBP_RESTORED);
		if (rt_rule_rbp(rule) == RT_RBP_AT_RBP)
			*flags |= FLAG(RT_FRAME_RBP_USED);
		e->slots |= slot_bits(at, cfa, 16, RT_META_RBP_SLOT, flags);
		e->rbp = load(at);
	}
	e->sp = cfa;
	e->pc = load(cfa - 8);
	return e->pc ? STEP_ON : STEP_END;
}

/* Compares what else frame `f` was entered by. */
static __attribute__((noinline)) bool unchanged_more(const struct rt_frame *f)
{
	int64_t cfa_slot = rt_frame_cfa_slot(f), rbp_slot = rt_frame_rbp_slot(f);
	if (cfa_slot && load(f->sp + (uint64_t)(cfa_slot * 8)) != f->sp)
		return false;
	return !(f->meta & FLAG(RT_FRAME_RBP_NEEDED)) || !rbp_slot ||
	       load(f->sp + (uint64_t)(rbp_slot * 8)) == f->rbp;
}

/* Compares the words that frame `f` was entered by. */
static inline bool unchanged(const struct rt_frame *f)
{
	return load(f->sp - 8) == f->pc &&
	       (rt_likely(!(f->meta & FLAG(RT_FRAME_COMPARE))) || unchanged_more(f));
}

/* Meta of a memo's frame: whether its slots matter. */
static inline uint64_t with_compare(uint64_t meta)
{
	bool rbp = meta & FLAG(RT_FRAME_RBP_NEEDED) && meta >> RT_META_RBP_SLOT;
	bool more = rbp || meta & 0xffull << RT_META_CFA_SLOT;
	return (meta & ~FLAG(RT_FRAME_COMPARE)) | (more ? FLAG(RT_FRAME_COMPARE) : 0);
}

/*
 * Frames (changed, top] of the memo are right but for rbp where nobody needed it: they become fresh
 * ones, with the true rbp. *e is frame `top` as this walk entered it; at the end it is the frame
 * inward of `changed`, which is not among the fresh ones yet.
 */
static struct rt_frame *memo_keep_inner(const struct rt_unwinder *u, const struct rt_frame *changed,
	const struct rt_frame *top, struct entered *e, struct rt_frame *fresh, uint64_t *all)
{
	for (const struct rt_frame *old = top; old > changed + 1; old--) {
		const struct rt_frame *next = old - 1;
		uint64_t flags = old->meta & FLAG(0xff & ~(RT_FRAME_RBP_NEEDED | RT_FRAME_COMPARE));
		*all |= flags;
		fresh->sp = e->sp;
		fresh->pc = e->pc;
		fresh->rbp = e->rbp;
		fresh->meta = rt_rule_module(rt_rules_find(u->rules, e->pc)) | flags | e->slots;
		fresh++;
		int64_t rbp_slot = rt_frame_rbp_slot(next);
		*e = (struct entered){next->sp, next->pc, e->rbp, next->meta & SLOTS_MASK};
		if (rbp_slot)
			e->rbp = load(next->sp + (uint64_t)(rbp_slot * 8));
	}
	return fresh;
}

/* What is rare about a frame that gets its number: marks come first. */
static __attribute__((noinline)) uint32_t marks_before(
	const struct rt_unwinder *u, uint32_t base, uint64_t meta)
{
	if (meta & FLAG(RT_FRAME_GUESSED))
		base = rt_stacks_child(&u->stacks, base, HW_MARK_GUESS);
	if (meta & FLAG(RT_FRAME_EXACT))
		base = rt_stacks_child(&u->stacks, base, HW_MARK_SIGNAL);
	return base;
}

/*
 * Numbers the fresh frames like memo_append(), but leaves them out of the memo, which has no room
 * for them.
 */
static __attribute__((noinline)) uint32_t number_only(const struct rt_unwinder *u,
	struct rt_walk *walk, const struct rt_frame *kept, uint32_t base,
	const struct rt_frame *end)
{
	walk->memo_frames = (uint32_t)(kept - walk->memo);
	for (const struct rt_frame *f = end; f-- != walk->fresh;) {
		if (f->meta & FLAG(RT_FRAME_GUESSED | RT_FRAME_EXACT))
			base = marks_before(u, base, f->meta);
		base = rt_stacks_child_cached(&u->stacks, walk->children, base,
			(f->pc & ~RT_EXACT) | f->meta << HW_FRAME_ADDRESS_BITS);
	}
	return base;
}

#define RARE (FLAG(RT_FRAME_RBP_USED | RT_FRAME_GUESSED | RT_FRAME_NO_MEMO | RT_FRAME_EXACT))

/* memo_append() for frames any of which is rare, or whose outer frame needs rbp. */
static __attribute__((noinline)) uint32_t memo_append_rare(const struct rt_unwinder *u,
	struct rt_walk *walk, struct rt_frame *kept, uint32_t base, const struct rt_frame *end,
	bool needed)
{
	uint64_t all = 0;
	uint32_t first = (uint32_t)(kept - walk->memo);
	kept->meta = with_compare(kept->meta);
	walk->compare_top = kept->meta & FLAG(RT_FRAME_COMPARE) ? first
			    : walk->compare_top < first         ? walk->compare_top
								: first - (first > 0);
	for (const struct rt_frame *f = end; f-- != walk->fresh;) {
		uint64_t pc = f->pc, meta = f->meta;
		all |= meta;
		/* What is outward needs this frame's rbp too, unless the frame restores it from its
		 * own memory. */
		needed = meta & FLAG(RT_FRAME_RBP_USED) ||
			 (needed && !(meta & FLAG(RT_FRAME_RBP_RESTORED)));
		if (meta & FLAG(RT_FRAME_GUESSED | RT_FRAME_EXACT))
			base = marks_before(u, base, meta);
		base = rt_stacks_child_cached(&u->stacks, walk->children, base,
			(pc & ~RT_EXACT) | meta << HW_FRAME_ADDRESS_BITS);
		kept++;
		kept->sp = f->sp;
		kept->pc = pc;
		kept->rbp = f->rbp;
		meta = (meta & ~0xffffffffull) | base;
		kept->meta = with_compare(needed ? meta | FLAG(RT_FRAME_RBP_NEEDED) : meta);
		if (kept->meta & FLAG(RT_FRAME_COMPARE))
			walk->compare_top = (uint32_t)(kept - walk->memo);
	}
	/* Beyond a step that can't be verified the old walk proves nothing. */
	walk->memo_frames = all & FLAG(RT_FRAME_NO_MEMO) ? 0 : (uint32_t)(kept - walk->memo);
	return base;
}

/*
 * Numbers the fresh frames, from the outermost (the last one, before `end`) inward on top of
 * `base`, and puts them behind frame `kept` of the memo. `all`: their metas, or'ed. `needed`:
 * whether the walk outward of them depends on their rbp.
 */
static inline uint32_t memo_append(const struct rt_unwinder *u, struct rt_walk *walk,
	struct rt_frame *kept, uint32_t base, const struct rt_frame *end, uint64_t all, bool needed)
{
	if (rt_unlikely((kept - walk->memo) + (end - walk->fresh) >= RT_DEPTH_MAX))
		return number_only(u, walk, kept, base, end);
	if (rt_unlikely(all & RARE || needed))
		return memo_append_rare(u, walk, kept, base, end, needed);
	if (kept == walk->memo)
		walk->compare_top = 0;
	for (const struct rt_frame *f = end; f-- != walk->fresh;) {
		uint64_t pc = f->pc, meta = f->meta;
		base = rt_stacks_child_cached(
			&u->stacks, walk->children, base, pc | meta << HW_FRAME_ADDRESS_BITS);
		kept++;
		kept->sp = f->sp;
		kept->pc = pc;
		kept->rbp = f->rbp;
		kept->meta = (meta >> 32 << 32) | base;
	}
	walk->memo_frames = (uint32_t)(kept - walk->memo);
	return base;
}

/* Another stack, more of this one, or other modules since the last walk. */
static __attribute__((noinline)) void walk_adjust(
	struct rt_walk *walk, uint64_t sp, uint32_t generation)
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

/* More than the arguments and the environment of most programs. */
#define REACH_PAGES 256
#define TRUST_BYTES (64u << 10)

void rt_walk_reach(struct rt_walk *walk, uint64_t sp)
{
	if (sp < walk->readable_low || sp >= walk->readable_high)
		readable_reset(walk, sp);
	for (unsigned pages = 0; pages < REACH_PAGES && sys_readable(walk->readable_high); pages++)
		walk->readable_high += 4096;
}

void rt_walk_trust(struct rt_walk *walk, uint64_t sp, uint64_t pointer)
{
	if (sp >= walk->readable_low && sp < walk->readable_high)
		return;
	readable_reset(walk, sp);
	if (pointer > sp && pointer - sp < TRUST_BYTES)
		walk->readable_high = (pointer & ~4095ull) + 4096;
}

void rt_walk_init(struct rt_walk *walk, struct rt_frame *frames)
{
	walk->memo = frames;
	walk->fresh = frames + RT_DEPTH_MAX;
	walk->memo[0] = (struct rt_frame){.sp = UINT64_MAX};
	walk->memo_frames = walk->compare_top = 0;
	walk->readable_low = walk->readable_high = 0;
}

/* Whether the memo's frame is the one being entered. */
static inline bool same_state(const struct rt_frame *m, uint64_t sp, uint64_t pc, uint64_t rbp)
{
	return m->sp == sp && m->pc == pc &&
	       (m->rbp == rbp || !(m->meta & FLAG(RT_FRAME_RBP_NEEDED)));
}

/*
 * The memo's frame m is the one being entered: gives the innermost frame outward of it whose words
 * have changed, or the memo's first place if all hold.
 */
static inline const struct rt_frame *memo_verify(
	const struct rt_walk *walk, const struct rt_frame *m)
{
	const struct rt_frame *f = m - 1, *base = walk->memo;
	if (rt_likely(!walk->compare_top)) {
		while (f > base && rt_likely(load(f->sp - 8) == f->pc))
			f--;
	} else {
		while (f > base && rt_likely(unchanged(f)))
			f--;
	}
	return f;
}

uint32_t rt_unwind(
	const struct rt_unwinder *u, struct rt_walk *walk, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	uint32_t generation = __atomic_load_n(&u->modules->generation, __ATOMIC_ACQUIRE);
	if (rt_unlikely(sp < walk->readable_low || sp >= walk->readable_high || sp & 7 ||
			walk->generation != generation))
		walk_adjust(walk, sp, generation);
	struct rt_frame *const base = walk->memo;
	struct rt_frame *m = base + walk->memo_frames; /* frames inward of it are behind the walk */
	struct rt_frame *fresh = walk->fresh, *const fresh_end = fresh + RT_DEPTH_MAX - 2;
	struct rt_rules *const rules = u->rules;
	uint64_t slots = 0, all = 0;
	for (;;) {
		while (m->sp < sp)
			m--;
		if (same_state(m, sp, pc, rbp)) {
			const struct rt_frame *f = memo_verify(walk, m);
			if (rt_likely(f <= base)) {
				uint32_t stack = rt_frame_stack(m);
				walk->memo_frames = (uint32_t)(m - base);
				if (fresh == walk->fresh)
					return stack;
				m->rbp = rbp;
				m->meta = (m->meta & ~SLOTS_MASK) | slots;
				return memo_append(u, walk, m, stack, fresh, all,
					m->meta & FLAG(RT_FRAME_RBP_NEEDED));
			}
			if (m - f >= fresh_end - fresh)
				break;
			struct entered e = {sp, pc, rbp, slots};
			fresh = memo_keep_inner(u, f, m, &e, fresh, &all);
			sp = e.sp, pc = e.pc, rbp = e.rbp, slots = e.slots;
			m = base + (f - base);
		}
		if (rt_unlikely(fresh == fresh_end))
			break;
		struct rt_rule rule = rt_rules_find(rules, pc);
		fresh->sp = sp;
		fresh->pc = pc;
		fresh->rbp = rbp;
		uint64_t kinds = rt_rule_kinds(rule), cfa = sp + rt_rule_cfa_offset(rule);
		bool plain = kinds == RT_RULE_KINDS(RT_CFA_RSP, RT_RBP_SAME);
		bool saved = kinds == RT_RULE_KINDS(RT_CFA_RSP, RT_RBP_AT_CFA);
		if (rt_likely((plain || saved) && cfa <= walk->readable_high)) {
			/* Nearly every frame: rule.h and cfi.c see to it that what is read lies in
			 * [sp, cfa). */
			uint64_t meta = rt_rule_module(rule) | slots;
			slots = 0;
			if (saved) {
				meta |= FLAG(RT_FRAME_RBP_RESTORED);
				slots = (rule.bits >> 16 & 0xffff) << RT_META_RBP_SLOT;
				rbp = load(cfa + rt_rule_rbp_offset(rule));
			}
			fresh++->meta = meta;
			sp = cfa;
			pc = load(cfa - 8);
			if (rt_likely(pc))
				continue;
			return memo_append(u, walk, base, 0, fresh, all, false);
		}
		struct entered e = {sp, pc, rbp, 0};
		uint64_t flags = pc & RT_EXACT ? FLAG(RT_FRAME_EXACT) : 0;
		enum step result = step(u, walk, rule, &e, &flags);
		fresh++->meta = rt_rule_module(rule) | flags | slots;
		all |= flags;
		sp = e.sp, pc = e.pc, rbp = e.rbp, slots = e.slots;
		if (rt_unlikely(flags & FLAG(RT_FRAME_NO_MEMO)))
			m = base;
		if (result == STEP_ON)
			continue;
		uint32_t root = result == STEP_END
					? 0
					: rt_stacks_child(&u->stacks, 0, HW_MARK_NO_UNWIND_INFO);
		return memo_append(u, walk, base, root, fresh, all, false);
	}
	/* The innermost frames; few, because in a deep recursion every depth makes other stacks of
	 * them. */
	if (fresh > walk->fresh + RT_DEPTH_CUT)
		fresh = walk->fresh + RT_DEPTH_CUT;
	uint32_t cut = rt_stacks_child(&u->stacks, 0, HW_MARK_CUT);
	return memo_append(u, walk, base, cut, fresh, all, false);
}

bool rt_same_frame(const struct rt_unwinder *u, const struct rt_walk *walk, uint64_t pc,
	uint64_t sp, uint64_t rbp)
{
	if (walk->memo_frames < 2)
		return false;
	const struct rt_frame *f = &walk->memo[walk->memo_frames];
	const struct rt_frame *caller = f - 1;
	if (f->sp != sp)
		return false;
	struct rt_rule_entry now = rt_rules_find_entry(u->rules, pc);
	if (!now.function || now.function != rt_rules_find_entry(u->rules, f->pc).function)
		return false;
	struct rt_rule rule = now.rule;
	uint64_t cfa = rt_rule_cfa_offset(rule);
	if (rt_rule_cfa(rule) == RT_CFA_RSP)
		cfa += sp;
	else if (rt_rule_cfa(rule) == RT_CFA_RBP)
		cfa += rbp;
	else
		return false;
	return cfa == caller->sp && load(cfa - 8) == caller->pc;
}
