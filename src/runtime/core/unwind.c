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

#define GUARD_MAX (1u << 20)

struct state {
	uint64_t pc, sp, rbp;
};

static inline uint64_t load_word(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* Less than RT_RULE_RARE, so that such a frame is never within the range. */
#define READABLE_MAX (1ull << 31)

/* Makes sure that the word at `address` (at or above the stack in use) can be read. */
static __attribute__((noinline)) bool readable_extend(struct rt_walk *walk, uint64_t address)
{
	for (unsigned pages = 0; pages < 4096; pages++) {
		if (address + 8 <= walk->readable_high)
			return true;
		if (walk->readable_high - walk->readable_low >= READABLE_MAX ||
			!sys_readable(walk->readable_high))
			return false;
		walk->readable_high += 4096;
	}
	return false;
}

static inline bool is_readable(struct rt_walk *walk, uint64_t address)
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

/*
 * The stack in use is that of interrupted code. Where it overflowed its pointer lies in the guard
 * pages, or far below them, and what can be read begins above.
 */
static bool readable_find(struct rt_walk *walk, uint64_t sp)
{
	for (uint64_t page = sp & ~4095ull, end = page + GUARD_MAX; page < end; page += 4096) {
		if (!sys_readable(page))
			continue;
		walk->readable_low = walk->readable_high = page;
		return true;
	}
	return false;
}

static bool step_signal(struct rt_walk *walk, struct state *s)
{
	uint64_t context = s->sp;
	if (!is_readable(walk, context + UCONTEXT_RIP) ||
		!is_readable(walk, context + UCONTEXT_RBP))
		return false;
	s->rbp = load_word(context + UCONTEXT_RBP);
	s->pc = load_word(context + UCONTEXT_RIP) | RT_EXACT;
	s->sp = load_word(context + UCONTEXT_RSP);
	return (s->sp >= walk->readable_low && s->sp < walk->readable_high) ||
	       readable_find(walk, s->sp);
}

/* Whether what ends at `address`, code of a module, may be a call instruction (Intel SDM, volume 2,
 * CALL: E8 with 4 bytes, or FF /2 with whatever it addresses). */
static bool follows_call(uint64_t address)
{
	if (!sys_readable((address - 8) & ~7ull) || !sys_readable((address - 1) & ~7ull))
		return false;
	const uint8_t *end = (const uint8_t *)address;
	if (end[-5] == 0xe8)
		return true;
	for (int bytes = 2; bytes <= 7; bytes++)
		if (end[-bytes] == 0xff && (end[1 - bytes] >> 3 & 7) == 2)
			return true;
	return false;
}

/* Whether rbp of a frame with stack pointer sp may lead to its caller's frame. */
static bool leads_outward(struct rt_walk *walk, uint64_t sp, uint64_t rbp)
{
	return rbp >= sp && rbp - sp <= 1u << 20 && is_readable(walk, rbp) &&
	       is_readable(walk, rbp + 8) && sys_readable(rbp) && sys_readable(rbp + 8);
}

/*
 * Code without unwind information: is there a plausible frame pointer chain? What a caller in a
 * module goes on with follows a call. One in memory that belongs to no file (made at run time) must
 * lead on itself; among such code an interpreter may put return addresses on the stack by hand.
 */
static bool guess_frame(const struct rt_unwinder *u, struct rt_walk *walk, const struct state *s)
{
	if (!leads_outward(walk, s->sp, s->rbp))
		return false;
	uint64_t caller = load_word(s->rbp + 8);
	if (caller <= 4096 || caller >= 1ull << 47)
		return false;
	if (rt_modules_at(u->modules, caller - 1))
		return follows_call(caller);
	return sys_readable((caller - 1) & ~7ull) &&
	       (follows_call(caller) || !rt_modules_at(u->modules, s->pc - 1)) &&
	       leads_outward(walk, s->rbp + 16, load_word(s->rbp));
}

enum step_frame { STEP_ON, STEP_END, STEP_LOST };

#define FLAG(flag) ((uint64_t)(flag) << RT_META_FLAGS)

/* The registers of a frame that is being entered. */
struct entered {
	uint64_t sp, pc, rbp;
};

/* Adds a slot to a frame's meta. */
static void put_slot(uint64_t at, uint64_t cfa, unsigned bits, unsigned shift, uint64_t *meta)
{
	int64_t slot = ((int64_t)at - (int64_t)cfa) / 8, limit = 1ll << (bits - 1);
	if (slot < -limit || slot >= limit || (at - cfa) % 8)
		*meta |= FLAG(RT_FRAME_NO_MEMO);
	*meta |= ((uint64_t)slot & ((1ull << bits) - 1)) << shift;
}

/* The CFA of a frame that is neither rsp nor rbp plus a constant. 0 with STEP_ON: *e is complete
 * already. */
static enum step_frame rare_cfa(const struct rt_unwinder *u, struct rt_walk *walk,
	struct rt_rule *rule, struct entered *e, uint64_t *meta, uint64_t *ret_cfa)
{
	struct state s = {e->pc, e->sp, e->rbp};
	uint64_t at;
	*ret_cfa = 0;
	switch (rt_rule_cfa(*rule)) {
	case RT_CFA_RBP_DEREF:
		at = s.rbp + rt_rule_cfa_offset(*rule);
		*meta |= FLAG(RT_FRAME_RBP_USED);
		if (at < s.sp || !is_readable(walk, at) || !sys_readable(at))
			return STEP_LOST;
		*ret_cfa = load_word(at);
		put_slot(at, *ret_cfa, 8, RT_META_CFA_SLOT, meta);
		return *ret_cfa ? STEP_ON : STEP_LOST;
	case RT_CFA_SIGNAL:
		*meta |= FLAG(RT_FRAME_NO_MEMO);
		if (!step_signal(walk, &s))
			return STEP_LOST;
		*e = (struct entered){s.sp, s.pc, s.rbp};
		return STEP_ON;
	case RT_CFA_END:
		return STEP_END;
	case RT_CFA_UNKNOWN:
		return STEP_LOST;
	default:
		if (!guess_frame(u, walk, &s))
			return STEP_LOST;
		*meta |= FLAG(RT_FRAME_GUESSED | RT_FRAME_RBP_USED);
		*rule = rt_rule_make(RT_CFA_RBP, 16, RT_RBP_AT_CFA, -16);
		*ret_cfa = s.rbp + 16;
		return STEP_ON;
	}
}

/* From the frame in *e to its caller, in *e, by any rule. Adds flags and slots to the frame's meta.
 */
static __attribute__((noinline)) enum step_frame step_frame(const struct rt_unwinder *u,
	struct rt_walk *walk, struct rt_rule rule, struct entered *e, uint64_t *meta)
{
	uint64_t cfa;
	if (rt_rule_cfa(rule) == RT_CFA_RSP || rt_rule_cfa(rule) == RT_CFA_RSP_CHECKED) {
		cfa = e->sp + rt_rule_cfa_offset(rule);
	} else if (rt_rule_cfa(rule) == RT_CFA_RBP) {
		cfa = e->rbp + rt_rule_cfa_offset(rule);
		*meta |= FLAG(RT_FRAME_RBP_USED);
	} else {
		enum step_frame result = rare_cfa(u, walk, &rule, e, meta, &cfa);
		if (result != STEP_ON || !cfa)
			return result;
	}
	if (cfa <= e->sp || !is_readable(walk, cfa - 8))
		return STEP_LOST;
	if (rt_rule_rbp(rule) != RT_RBP_SAME) {
		uint64_t at = rt_rule_rbp_offset(rule);
		at += rt_rule_rbp(rule) == RT_RBP_AT_CFA ? cfa : e->rbp;
		if (at < e->sp || at >= cfa || !is_readable(walk, at))
			return STEP_LOST;
		*meta |= FLAG(RT_FRAME_RBP_RESTORED);
		if (rt_rule_rbp(rule) == RT_RBP_AT_RBP)
			*meta |= FLAG(RT_FRAME_RBP_USED);
		put_slot(at, cfa, 16, RT_META_RBP_SLOT, meta);
		e->rbp = load_word(at);
	}
	e->sp = cfa;
	e->pc = load_word(cfa - 8);
	return e->pc ? STEP_ON : STEP_END;
}

/* Compares what else frame `f` of a memo was entered by, from the one inward of it. */
static __attribute__((noinline)) bool unchanged_more(const struct rt_frame *f)
{
	int64_t cfa_slot = rt_frame_cfa_slot(f + 1), rbp_slot = rt_frame_rbp_slot(f + 1);
	if (cfa_slot && load_word(f->sp + (uint64_t)(cfa_slot * 8)) != f->sp)
		return false;
	return !(f->meta & FLAG(RT_FRAME_RBP_NEEDED)) || !rbp_slot ||
	       load_word(f->sp + (uint64_t)(rbp_slot * 8)) == f->rbp;
}

/* Compares the words that frame `f` was entered by. */
static inline bool is_frame_unchanged(const struct rt_frame *f)
{
	return load_word(f->sp - 8) == f->pc &&
	       (rt_likely(!(f->meta & FLAG(RT_FRAME_COMPARE))) || unchanged_more(f));
}

/* Meta of a memo's frame: whether the slots that it was entered by matter. */
static inline uint64_t with_compare(uint64_t meta, uint64_t inner)
{
	bool rbp = meta & FLAG(RT_FRAME_RBP_NEEDED) && inner >> RT_META_RBP_SLOT;
	bool more = rbp || inner & 0xffull << RT_META_CFA_SLOT;
	return (meta & ~FLAG(RT_FRAME_COMPARE)) | (more ? FLAG(RT_FRAME_COMPARE) : 0);
}

/*
 * Frames (changed, top] of the memo are right but for rbp where it was not needed: they become
 * fresh ones, with the true rbp. *e is frame `top` as this walk entered it; at the end it is the
 * frame inward of `changed`, which is not among the fresh ones yet.
 */
static __attribute__((noinline)) struct rt_frame *memo_keep_inner(const struct rt_unwinder *u,
	struct rt_walk *walk, const struct rt_frame *changed, const struct rt_frame *top,
	struct entered *e, struct rt_frame *fresh, uint64_t *all)
{
	for (const struct rt_frame *old = top; old > changed + 1; old--) {
		const struct rt_frame *next = old - 1;
		uint64_t meta = old->meta & ~FLAG(RT_FRAME_RBP_NEEDED | RT_FRAME_COMPARE);
		*all |= meta;
		fresh->sp = e->sp;
		fresh->pc = e->pc;
		fresh->rbp = e->rbp;
		uint64_t number = (uint32_t)rt_rules_at(u->rules, e->pc, &walk->other)->meta;
		fresh->meta = number | (meta & ~0xffffffffull);
		fresh++;
		int64_t rbp_slot = rt_frame_rbp_slot(old);
		*e = (struct entered){next->sp, next->pc, e->rbp};
		if (rbp_slot)
			e->rbp = load_word(next->sp + (uint64_t)(rbp_slot * 8));
	}
	return fresh;
}

/*
 * The memo has no room for what is fresh: the stack gets cut. Of the memo, right from `m` outward,
 * as many frames become fresh ones as the cut leaves, so that the next walks find them in the memo:
 * in a deep recursion one walk in some 3,500 is a long one.
 */
static __attribute__((noinline)) struct rt_frame *keep_for_cut(const struct rt_unwinder *u,
	struct rt_walk *walk, const struct rt_frame *m, struct entered e, struct rt_frame *fresh,
	uint64_t *all)
{
	long more = RT_DEPTH_CUT - (fresh - walk->fresh);
	return more > 0 ? memo_keep_inner(u, walk, m - more - 1, m, &e, fresh, all) : fresh;
}

/* The number of frame `f` on top of stack `base`, looked up in the shared tree. */
static __attribute__((noinline)) uint32_t number_search(
	const struct rt_unwinder *u, struct rt_walk *walk, uint32_t base, const struct rt_frame *f)
{
	uint32_t number = (uint32_t)f->meta;
	if (number & RT_RULE_NO_ENTRY) {
		uint64_t module = (uint64_t)(number & 0xffff) << HW_FRAME_ADDRESS_BITS;
		return rt_stacks_child(&u->stacks, base, (f->pc & ~RT_EXACT) | module);
	}
	uint64_t frame = rt_rule_frame(rt_rules_numbered(u->rules, number));
	uint32_t child = rt_stacks_child(&u->stacks, base, frame);
	*rt_child_place(walk->children, base, number) =
		(struct rt_child){rt_child_key(base, number), child};
	return child;
}

/* Returns the number of the stack that a frame makes of `base`; nearly always from the cache of the
 * thread. */
static inline uint32_t stack_number_of(
	const struct rt_unwinder *u, struct rt_walk *walk, uint32_t base, const struct rt_frame *f)
{
	uint32_t number = (uint32_t)f->meta;
	const struct rt_child *c = rt_child_place(walk->children, base, number);
	if (rt_likely(c->key == rt_child_key(base, number)))
		return (uint32_t)c->child;
	return number_search(u, walk, base, f);
}

static inline bool has_marks(uint64_t pc, uint64_t meta)
{
	return meta & FLAG(RT_FRAME_GUESSED) || pc & RT_EXACT;
}

/* What is rare about a frame that gets its number: marks come first. */
static __attribute__((noinline)) uint32_t marks_before(
	const struct rt_unwinder *u, uint32_t base, uint64_t pc, uint64_t meta)
{
	if (meta & FLAG(RT_FRAME_GUESSED))
		base = rt_stacks_child(&u->stacks, base, HW_MARK_GUESS);
	if (pc & RT_EXACT)
		base = rt_stacks_child(&u->stacks, base, HW_MARK_SIGNAL);
	return base;
}

/* A walk with an exact pc has RT_FRAME_NO_MEMO too, from the signal frame inward of it. */
#define RARE (FLAG(RT_FRAME_RBP_USED | RT_FRAME_GUESSED | RT_FRAME_NO_MEMO))

/* memo_append() for frames any of which is rare, or whose outer frame needs rbp. */
static __attribute__((noinline)) uint32_t memo_append_rare(const struct rt_unwinder *u,
	struct rt_walk *walk, struct rt_frame *kept, uint32_t base, const struct rt_frame *end,
	bool needed)
{
	uint64_t all = 0;
	uint32_t outward = (uint32_t)(kept - walk->memo);
	if (walk->compare_top >= outward)
		walk->compare_top = outward - (outward > 0);
	for (const struct rt_frame *f = end; f-- != walk->fresh;) {
		uint64_t meta = f->meta;
		all |= meta;
		/* What is outward needs this frame's rbp too, unless the frame restores it from its
		 * own memory. */
		needed = meta & FLAG(RT_FRAME_RBP_USED) ||
			 (needed && !(meta & FLAG(RT_FRAME_RBP_RESTORED)));
		if (has_marks(f->pc, meta))
			base = marks_before(u, base, f->pc, meta);
		base = stack_number_of(u, walk, base, f);
		kept->meta = with_compare(kept->meta, meta);
		if (kept->meta & FLAG(RT_FRAME_COMPARE))
			walk->compare_top = (uint32_t)(kept - walk->memo);
		meta = (meta & ~0xffffffffull) | base;
		*++kept = (struct rt_frame){
			f->sp, f->pc, f->rbp, needed ? meta | FLAG(RT_FRAME_RBP_NEEDED) : meta};
	}
	/* Beyond a step that can't be verified the old walk proves nothing, and it may have come to
	 * another stack. */
	walk->top = kept;
	if (all & FLAG(RT_FRAME_NO_MEMO)) {
		walk->top = walk->memo;
		walk->readable_low = walk->readable_high = 0;
	}
	return base;
}

/*
 * Numbers the fresh frames, from the outermost (the last one, before `end`) inward on top of
 * `base`, and puts them after frame `kept` of the memo, which has room for them. `all`: their
 * metas, or'ed. `needed`: whether the walk outward of them depends on their rbp.
 */
static inline uint32_t memo_append(const struct rt_unwinder *u, struct rt_walk *walk,
	struct rt_frame *kept, uint32_t base, const struct rt_frame *end, uint64_t all, bool needed)
{
	if (rt_unlikely(all & RARE || needed))
		return memo_append_rare(u, walk, kept, base, end, needed);
	if (kept == walk->memo)
		walk->compare_top = 0;
	for (const struct rt_frame *f = end; f-- != walk->fresh;) {
		base = stack_number_of(u, walk, base, f);
		kept++;
		kept->sp = f->sp;
		kept->pc = f->pc; /* its rbp is not needed */
		kept->meta = (f->meta & ~0xffffffffull) | base;
	}
	walk->top = kept;
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
		rt_walk_forget(walk);
		walk->generation = generation;
		for (unsigned i = 0; i < RT_CHILD_CACHE; i++)
			walk->children[i].key = 0; /* numbers of rules may mean others now */
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

void rt_walk_init(struct rt_walk *walk, struct rt_frame *frames, struct rt_stack_cache *cache)
{
	frames[0] = (struct rt_frame){.sp = UINT64_MAX};
	frames[1] = (struct rt_frame){.sp = (uint64_t)(&walk->never + 1), .pc = 1};
	walk->never = 0;
	walk->memo = frames + 1;
	walk->fresh = frames + RT_DEPTH_MAX;
	walk->top = walk->memo;
	walk->compare_top = 0;
	walk->readable_low = walk->readable_high = 0;
	walk->cache = cache;
	walk->uses_cache = cache;
	walk->walked = walk->without = walk->without_left = 0;
	walk->found = 0;
	walk->hit = NULL;
	walk->epoch++; /* the memory may be that of a thread that has ended */
}

/* Whether the memo's frame is the one being entered. */
static inline bool same_state(const struct rt_frame *m, uint64_t sp, uint64_t pc, uint64_t rbp)
{
	return m->sp == sp && m->pc == pc &&
	       (!(m->meta & FLAG(RT_FRAME_RBP_NEEDED)) || m->rbp == rbp);
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
		while (rt_likely(load_word(f->sp - 8) == f->pc))
			f--; /* the first one never does */
	} else {
		while (f > base && rt_likely(is_frame_unchanged(f)))
			f--;
	}
	return f;
}

/* So few frames of a memo are rather walked again than kept: wrappers of malloc that another
 * function has called than last time. */
#define STEPS_ANEW 2

/* The walk itself, from a stack pointer in the stack in use. */
static inline uint32_t walk_stack(
	const struct rt_unwinder *u, struct rt_walk *walk, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_frame *m = walk->top; /* frames inward of it have been left */
	struct rt_frame *fresh = walk->fresh, *const fresh_end = fresh + RT_DEPTH_MAX - 2;
	uint64_t all = 0;
	for (;;) {
		while (m->sp < sp)
			m--;
		if (same_state(m, sp, pc, rbp)) {
			const struct rt_frame *f = memo_verify(walk, m);
			if (rt_likely(f <= walk->memo)) {
				uint32_t stack = rt_frame_stack(m);
				walk->top = m;
				if (fresh == walk->fresh)
					return stack;
				if (rt_unlikely((m - walk->memo) + (fresh - walk->fresh) >=
						RT_DEPTH_MAX - 1)) {
					fresh = keep_for_cut(u, walk, m,
						(struct entered){sp, pc, rbp}, fresh, &all);
					break;
				}
				return memo_append(u, walk, m, stack, fresh, all,
					m->meta & FLAG(RT_FRAME_RBP_NEEDED));
			}
			if (m - f >= fresh_end - fresh)
				break;
			if (m - f > STEPS_ANEW) {
				struct entered e = {sp, pc, rbp};
				fresh = memo_keep_inner(u, walk, f, m, &e, fresh, &all);
				sp = e.sp, pc = e.pc, rbp = e.rbp;
				m = walk->memo + (f - walk->memo);
			} else {
				m--;
			}
		}
		if (rt_unlikely(fresh == fresh_end))
			break;
		const struct rt_rule_entry *rule = rt_rules_at(u->rules, pc, &walk->other);
		fresh->sp = sp;
		fresh->pc = pc;
		fresh->rbp = rbp;
		fresh->meta = rule->meta;
		sp += rule->cfa_bytes;
		if (rt_likely(sp <= walk->readable_high)) {
			/* Nearly every frame (RT_RULE_RARE leads beyond every stack): rule.h and
			 * cfi.c see to it that what is read lies between the two stack pointers. */
			if (rule->rbp_bytes)
				rbp = load_word(sp + (uint64_t)(int64_t)rule->rbp_bytes);
			pc = load_word(sp - 8);
			fresh++;
			if (rt_likely(pc))
				continue;
			return memo_append(u, walk, walk->memo, 0, fresh, all, false);
		}
		struct entered e = {fresh->sp, pc, rbp};
		uint64_t meta = (uint32_t)rule->meta;
		enum step_frame result = step_frame(u, walk, rule->rule, &e, &meta);
		fresh++->meta = meta;
		all |= meta;
		sp = e.sp, pc = e.pc, rbp = e.rbp;
		if (rt_unlikely(meta & FLAG(RT_FRAME_NO_MEMO)))
			m = walk->memo;
		if (result == STEP_ON)
			continue;
		uint32_t root = result == STEP_END
					? 0
					: rt_stacks_child(&u->stacks, 0, HW_MARK_NO_UNWIND_INFO);
		return memo_append(u, walk, walk->memo, root, fresh, all, false);
	}
	/* The innermost frames; few, because in a deep recursion every depth makes other stacks of
	 * them. */
	if (fresh > walk->fresh + RT_DEPTH_CUT)
		fresh = walk->fresh + RT_DEPTH_CUT;
	uint32_t cut = rt_stacks_child(&u->stacks, 0, HW_MARK_CUT);
	return memo_append(u, walk, walk->memo, cut, fresh, all, false);
}

/* Another stack than those that followed the latest one before: by its key, or walked. */
static __attribute__((noinline)) uint32_t find_or_walk(
	const struct rt_unwinder *u, struct rt_walk *walk, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	uint32_t generation = __atomic_load_n(&u->modules->generation, __ATOMIC_ACQUIRE);
	if (rt_unlikely(sp < walk->readable_low || sp >= walk->readable_high || sp & 7 ||
			walk->generation != generation))
		walk_adjust(walk, sp, generation);
	walk->hit = NULL;
	if (!walk->uses_cache) {
		uint32_t stack = walk_stack(u, walk, pc, sp, rbp);
		rt_stack_cache_without(walk);
		return stack;
	}
	struct rt_cache_place place;
	const struct rt_cache_state from = {pc, sp, rbp};
	const struct rt_cached_stack *hit = rt_stack_cache_find(
		walk->cache, u->rules, walk->epoch, &from, walk->readable_high, &place);
	if (rt_likely(hit)) {
		walk->hit = hit;
		walk->found++;
		return hit->stack;
	}
	uint32_t stack = walk_stack(u, walk, pc, sp, rbp);
	rt_stack_cache_keep(walk, &place, stack);
	return stack;
}

uint32_t rt_unwind(
	const struct rt_unwinder *u, struct rt_walk *walk, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (rt_likely(walk->uses_cache &&
		      walk->generation ==
			      __atomic_load_n(&u->modules->generation, __ATOMIC_ACQUIRE))) {
		const struct rt_cached_stack *hit =
			rt_stack_cache_follow(walk->cache, walk->epoch, pc, sp, rbp);
		if (rt_likely(hit)) {
			walk->hit = hit;
			walk->found++;
			return hit->stack;
		}
	}
	return find_or_walk(u, walk, pc, sp, rbp);
}

/* The function that the call came from, and its caller's frame. */
struct last_call {
	uint64_t sp, pc, caller_sp, caller_pc;
};

/* False: the last walk left no frame with a caller. */
static bool last_call_of(const struct rt_walk *walk, struct last_call *ret)
{
	const struct rt_cached_stack *hit = walk->hit;
	if (hit) {
		const struct rt_cached_words *w = hit->words; /* the caller's is one of the first */
		uint64_t at = hit->sp + 8ull * w->at[hit->caller];
		*ret = (struct last_call){hit->sp, hit->pc, at + 8, w->word[hit->caller]};
		return true;
	}
	const struct rt_frame *f = walk->top;
	if (f < walk->memo + 2)
		return false;
	*ret = (struct last_call){f->sp, f->pc, f[-1].sp, f[-1].pc};
	return true;
}

bool rt_same_frame(const struct rt_unwinder *u, const struct rt_walk *walk, uint64_t pc,
	uint64_t sp, uint64_t rbp)
{
	struct last_call last;
	if (!last_call_of(walk, &last) || last.sp != sp)
		return false;
	if (pc != last.pc) {
		uint64_t function = rt_rules_function(u->rules, pc);
		if (!function || function != rt_rules_function(u->rules, last.pc))
			return false;
	}
	struct rt_rule_entry other;
	struct rt_rule rule = rt_rules_at(u->rules, pc, &other)->rule;
	uint64_t cfa = rt_rule_cfa_offset(rule);
	if (rt_rule_cfa(rule) == RT_CFA_RSP)
		cfa += sp;
	else if (rt_rule_cfa(rule) == RT_CFA_RBP)
		cfa += rbp;
	else
		return false;
	return cfa == last.caller_sp && load_word(cfa - 8) == last.caller_pc;
}
