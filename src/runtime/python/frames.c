/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see frames.h. May touch: the same. */
#include "runtime/python/frames.h"

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

static inline uint64_t frame_first(const struct rt_python_layout *l, uint64_t thread)
{
	uint64_t at = word_at(thread + l->thread_frame);
	return l->has_cframe && at ? word_at(at + l->cframe_frame) : at;
}

static inline bool is_shim(const struct rt_python_layout *l, uint64_t frame)
{
	return l->shim && *(const uint8_t *)(frame + l->owner) >= l->shim;
}

/* Tag bits of references, and of what is no code object, are not set in addresses. */
static inline uint64_t frame_code(const struct rt_python_layout *l, uint64_t frame)
{
	return word_at(frame + l->code) & ~3ull;
}

/* The first instruction of a frame's code that is traced. */
static inline uint64_t first_traced(const struct rt_python_layout *l, uint64_t frame)
{
	uint64_t code = frame_code(l, frame);
	int32_t traced = *(const int32_t *)(code + l->traced);
	return code + l->bytes + 2 * (uint64_t)(int64_t)traced;
}

/* A frame has just been made, and its code does not run yet: it counts from the first instruction
 * that is traced, as for the interpreter itself (_PyFrame_IsIncomplete). */
static bool is_incomplete(const struct rt_python_layout *l, uint64_t frame)
{
	return l->has_pointer &&
	       *(const uint8_t *)(frame + l->owner) != RT_PYTHON_OWNER_GENERATOR &&
	       word_at(frame + l->instruction) < first_traced(l, frame);
}

/* Notes that all instructions of the frame's code up to where it stands are traced ones. */
static void note_traced(
	const struct rt_python_layout *l, struct rt_python_chain *chain, uint64_t frame)
{
	uint64_t from = first_traced(l, frame), at = word_at(frame + l->instruction);
	if (at < from)
		return;
	if (chain->traced_from != from) {
		chain->traced_to = 0; /* first: no range has one's beginning and another's end */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		chain->traced_from = from;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		chain->traced_to = at;
	} else if (chain->traced_to < at) {
		chain->traced_to = at;
	}
}

/* Whether the frame is no code's, or not yet. */
static inline bool is_passed_over(
	const struct rt_python_layout *l, struct rt_python_chain *chain, uint64_t frame)
{
	if (rt_unlikely(is_shim(l, frame)))
		return true;
	uint64_t at = word_at(frame + l->instruction);
	if (rt_likely(at >= chain->traced_from && at <= chain->traced_to))
		return false;
	if (is_incomplete(l, frame))
		return true;
	note_traced(l, chain, frame);
	return false;
}

static inline __attribute__((always_inline)) struct rt_python_place place_of(
	const struct rt_python_layout *l, uint64_t frame, bool has_pointer)
{
	if (has_pointer)
		return (struct rt_python_place){word_at(frame + l->instruction), 0};
	return (struct rt_python_place){
		word_at(frame + l->code), *(const uint32_t *)(frame + l->instruction)};
}

static inline __attribute__((always_inline)) bool is_at(
	const struct rt_python_kept *kept, struct rt_python_place place, bool has_pointer)
{
	return kept->at == place.at && (has_pointer || kept->more == place.more);
}

/* The next frame outward that is a code's; 0: there is none. */
static inline uint64_t frame_outer(const struct rt_python_layout *l, uint64_t frame)
{
	do {
		frame = word_at(frame + l->previous);
	} while (frame && rt_unlikely(is_shim(l, frame)));
	return frame;
}

/* Reads the chain to chain->fresh. Returns how many frames it has; *ret_cut: and more. */
static inline __attribute__((always_inline)) uint32_t chain_read(const struct rt_python_layout *l,
	struct rt_python_chain *chain, uint64_t frame, bool has_pointer, bool *ret_cut)
{
	uint32_t n = 0;
	for (; frame && n < RT_PYTHON_DEPTH_MAX; frame = word_at(frame + l->previous)) {
		if (has_pointer && is_shim(l, frame))
			continue;
		struct rt_python_place place = place_of(l, frame, has_pointer);
		chain->fresh[n++] = (struct rt_python_kept){frame, place.at, place.more, 0};
	}
	*ret_cut = frame != 0;
	return n;
}

/* How many frames from the outermost on are as they were. */
static inline __attribute__((always_inline)) uint32_t chain_same(
	struct rt_python_chain *chain, uint32_t count, bool has_pointer)
{
	uint32_t most = count < chain->count ? count : chain->count, same = 0;
	const struct rt_python_kept *fresh = &chain->fresh[count - 1];
	for (; same < most; same++, fresh--) {
		struct rt_python_kept *kept = &chain->kept[same];
		if (!is_at(kept, (struct rt_python_place){fresh->at, fresh->more}, has_pointer))
			break;
		kept->frame = fresh->frame;
	}
	return same;
}

/* The word of a frame in a node. */
static uint64_t frame_word(const struct rt_python_walk *walk, const struct rt_python_kept *frame)
{
	const struct rt_python_layout *l = walk->layout;
	uint64_t code = l->has_pointer ? frame_code(l, frame->frame) : frame->at, at = 0;
	if (l->has_pointer)
		at = frame->at - (code + l->bytes) + 1;
	else if ((int32_t)frame->more >= 0)
		at = (uint64_t)frame->more * l->lasti_unit + 1;
	if (at > HW_FRAME_INSTRUCTION_MASK)
		at = 0; /* it has not begun, or is very long */
	uint64_t row = rt_codes_row(walk->codes, l, code);
	return (uint64_t)HW_FRAME_CODE << HW_FRAME_ADDRESS_BITS |
	       (row ? row : RT_CODE_FULL) << HW_FRAME_INSTRUCTION_BITS |
	       (row > RT_CODE_FULL ? at : 0);
}

static __attribute__((noinline)) uint32_t child_make(const struct rt_python_walk *walk,
	struct rt_python_child *place, const struct rt_python_child *key,
	const struct rt_python_kept *frame)
{
	/* Of the interpreter itself: between a class and its __init__, from 3.12 on; for its own
	 * functions there is no such frame. */
	bool hidden = is_incomplete(walk->layout, frame->frame);
	uint32_t child =
		hidden ? key->parent
		       : rt_stacks_child(walk->stacks, key->parent, frame_word(walk, frame));
	place->child = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	place->at = key->at;
	place->more = key->more;
	place->parent = key->parent;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	place->child = child;
	return child;
}

/* Returns the child of a stack for a frame that has a place. */
static inline __attribute__((always_inline)) uint32_t child_of(const struct rt_python_walk *walk,
	struct rt_python_chain *chain, uint32_t parent, const struct rt_python_kept *frame,
	bool has_pointer)
{
	/* Of a place by address the number of deaths is whole. */
	uint64_t more = has_pointer ? chain->deaths : chain->deaths << 32 | frame->more;
	uint64_t hash = frame->at + parent * 0x9e3779b9ull + (has_pointer ? 0 : more * 31);
	struct rt_python_child *known = &chain->children[hash * 0x9e3779b97f4a7c15ull >> 54];
	_Static_assert(RT_PYTHON_CHILDREN == 1u << 10, "64 - 54 bits");
	if (rt_likely(known->child && known->at == frame->at && known->more == more &&
		      known->parent == parent))
		return known->child;
	return child_make(walk, known,
		&(struct rt_python_child){.at = frame->at, .more = more, .parent = parent}, frame);
}

/* Keeps the `count` innermost frames, which are in chain->fresh, further in than the first `same`
 * ones that are kept. `stack`: of these. Returns the innermost one's. */
static inline __attribute__((always_inline)) uint32_t chain_keep(const struct rt_python_walk *walk,
	struct rt_python_chain *chain, uint32_t count, uint32_t same, uint32_t stack,
	bool has_pointer)
{
	chain->count = same;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct rt_python_kept *kept = &chain->kept[same];
	for (const struct rt_python_kept *fresh = chain->fresh + count; fresh-- > chain->fresh;) {
		stack = child_of(walk, chain, stack, fresh, has_pointer);
		*kept = *fresh;
		kept++->stack = stack;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	chain->count = same + count;
	return stack;
}

/* Reads the chain whole. */
static inline __attribute__((always_inline)) uint32_t stack_of_all(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t frame,
	bool has_pointer)
{
	bool cut;
	uint32_t count = chain_read(walk->layout, chain, frame, has_pointer, &cut);
	/* The frames of a cut chain have no fixed place in it. */
	uint32_t same = rt_unlikely(cut) ? 0 : chain_same(chain, count, has_pointer);
	uint32_t stack = same  ? chain->kept[same - 1].stack
			 : cut ? rt_stacks_child(walk->stacks, 0, HW_MARK_CUT)
			       : 0;
	stack = chain_keep(walk, chain, count - same, same, stack, has_pointer);
	if (rt_unlikely(cut))
		chain->count = 0;
	return stack;
}

static __attribute__((noinline)) uint32_t stack_of_all_by_code(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t frame)
{
	return stack_of_all(walk, chain, frame, false);
}

static __attribute__((noinline)) uint32_t stack_of_all_by_pointer(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t frame)
{
	return stack_of_all(walk, chain, frame, true);
}

/* Whether all frames outward of number `i` are as they are kept. That frame is at its address. */
static inline __attribute__((always_inline)) bool outer_holds(const struct rt_python_layout *l,
	const struct rt_python_chain *chain, uint32_t i, bool has_pointer)
{
	const struct rt_python_kept *kept = &chain->kept[i];
	for (; kept > chain->kept; kept--) {
		uint64_t outer = word_at(kept->frame + l->previous);
		if (rt_unlikely(outer != kept[-1].frame) &&
			(!has_pointer || frame_outer(l, kept->frame) != kept[-1].frame))
			return false;
		if (!is_at(&kept[-1], place_of(l, kept[-1].frame, has_pointer), has_pointer))
			return false;
	}
	return !frame_outer(l, kept->frame);
}

/* Further in than what the last chain had there are at most so many frames, and it had at most so
 * many that are gone, or the chain is read whole. */
#define FRESH_MAX 6u
#define GONE_MAX 4u

/* Looks for the frame among the innermost ones that are kept: returns one more than its number. */
static inline uint32_t find_kept(const struct rt_python_chain *chain, uint64_t frame)
{
	uint32_t count = chain->count, least = count > GONE_MAX ? count - GONE_MAX : 0;
	for (; count > least; count--) {
		if (chain->kept[count - 1].frame == frame)
			return count;
	}
	return 0;
}

static inline __attribute__((always_inline)) uint32_t stack_of(const struct rt_python_walk *walk,
	struct rt_python_chain *chain, uint64_t innermost, bool has_pointer)
{
	const struct rt_python_layout *l = walk->layout;
	uint64_t frame = innermost;
	uint32_t count = 0, same;
	while (!(same = find_kept(chain, frame))) {
		struct rt_python_place place = place_of(l, frame, has_pointer);
		chain->fresh[count] = (struct rt_python_kept){frame, place.at, place.more, 0};
		frame = frame_outer(l, frame);
		if (!frame || ++count > FRESH_MAX)
			goto all;
	}
	if (same + count > RT_PYTHON_DEPTH_MAX || !outer_holds(l, chain, same - 1, has_pointer))
		goto all;
	struct rt_python_place place = place_of(l, frame, has_pointer);
	if (is_at(&chain->kept[same - 1], place, has_pointer)) {
		if (count)
			return chain_keep(
				walk, chain, count, same, chain->kept[same - 1].stack, has_pointer);
		chain->count = same;
		return chain->kept[same - 1].stack;
	}
	chain->fresh[count++] = (struct rt_python_kept){frame, place.at, place.more, 0};
	return chain_keep(walk, chain, count, same - 1, same > 1 ? chain->kept[same - 2].stack : 0,
		has_pointer);
all:
	return has_pointer ? stack_of_all_by_pointer(walk, chain, innermost)
			   : stack_of_all_by_code(walk, chain, innermost);
}

/* As rt_python_stack(), whatever the chain is like. */
static __attribute__((noinline)) uint32_t stack_any(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t thread)
{
	const struct rt_python_layout *l = walk->layout;
	uint64_t deaths = __atomic_load_n(walk->deaths, __ATOMIC_RELAXED);
	if (rt_unlikely(chain->deaths != deaths)) {
		chain->count = 0;
		chain->traced_to = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		chain->deaths = deaths;
	}
	uint64_t frame = frame_first(l, thread);
	if (rt_unlikely(!l->has_pointer))
		return frame ? stack_of(walk, chain, frame, false) : 0;
	while (frame && rt_unlikely(is_passed_over(l, chain, frame)))
		frame = word_at(frame + l->previous);
	return frame ? stack_of(walk, chain, frame, true) : 0;
}

/*
 * The usual chain: all frames are those of the last event, and only the innermost one may have
 * moved on, to a place where it was before. What is not so is left to stack_any().
 */
uint32_t rt_python_stack(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t thread)
{
	const struct rt_python_layout *l = walk->layout;
	uint32_t count = chain->count;
	if (rt_unlikely(!count || !l->has_pointer ||
			chain->deaths != __atomic_load_n(walk->deaths, __ATOMIC_RELAXED)))
		return stack_any(walk, chain, thread);
	struct rt_python_kept *kept = &chain->kept[count - 1];
	uint64_t frame = frame_first(l, thread);
	if (frame != kept->frame || rt_unlikely(is_shim(l, frame)))
		return stack_any(walk, chain, thread);
	uint64_t at = word_at(frame + l->instruction);
	if (rt_unlikely(at < chain->traced_from || at > chain->traced_to) ||
		rt_unlikely(!outer_holds(l, chain, count - 1, true)))
		return stack_any(walk, chain, thread);
	if (kept->at == at)
		return kept->stack;
	const struct rt_python_kept now = {.frame = frame, .at = at};
	uint32_t parent = count > 1 ? kept[-1].stack : 0;
	uint32_t child = child_of(walk, chain, parent, &now, true);
	chain->count = count - 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	kept->at = at;
	kept->stack = child;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	chain->count = count;
	return child;
}

static inline void item_add(struct rt_python_groups *groups, bool shown, bool ends)
{
	uint32_t i = groups->items++;
	groups->shown[i / 64] |= (uint64_t)shown << (i % 64);
	groups->ends[i / 64] |= (uint64_t)ends << (i % 64);
	groups->frames += shown;
	groups->groups += ends;
}

/* The interpreter's own frame, outward of a group: the latest item's, if that is open. */
static inline void group_end(struct rt_python_groups *groups, bool open)
{
	if (!open) {
		item_add(groups, false, true);
		return;
	}
	uint32_t i = groups->items - 1;
	groups->ends[i / 64] |= 1ull << (i % 64);
	groups->groups++;
}

void rt_python_groups_read(
	const struct rt_python_layout *l, uint64_t thread, struct rt_python_groups *ret)
{
	uint64_t frame = frame_first(l, thread);
	bool open = false;
	*ret = (struct rt_python_groups){.items = 0};
	for (; frame && ret->items < RT_PYTHON_DEPTH_MAX; frame = word_at(frame + l->previous)) {
		if (is_shim(l, frame)) {
			group_end(ret, open);
			open = false;
			continue;
		}
		bool shown = !is_incomplete(l, frame);
		bool ends = !l->shim && (!l->entry || *(const uint8_t *)(frame + l->entry));
		if (shown || ends) {
			item_add(ret, shown, ends);
			open = !ends;
		}
	}
	ret->is_whole = !open && !frame;
}

bool rt_python_peek(uint64_t address, uint64_t *ret)
{
	if (address < 4096 || address >> 47 || !sys_readable(address & ~7ull) ||
		!sys_readable((address + 7) & ~7ull))
		return false;
	__builtin_memcpy(ret, (const void *)address, sizeof(*ret));
	return true;
}

static bool peek_byte(uint64_t address, uint8_t *ret)
{
	uint64_t word;
	if (!rt_python_peek(address & ~7ull, &word))
		return false;
	*ret = (uint8_t)(word >> (address & 7) * 8);
	return true;
}

static bool peek_first(const struct rt_python_layout *l, uint64_t thread, uint64_t *ret)
{
	return rt_python_peek(thread + l->thread_frame, ret) &&
	       (!l->has_cframe || rt_python_peek(*ret + l->cframe_frame, ret));
}

static bool peek_frame(const struct rt_python_layout *l, struct rt_python_frame *frame)
{
	uint64_t at;
	if (!rt_python_peek(frame->at + l->code, &frame->code) ||
		!rt_python_peek(frame->at + l->instruction, &at))
		return false;
	frame->code &= ~3ull;
	if (l->has_pointer)
		frame->instruction = (int64_t)(at - (frame->code + l->bytes));
	else
		frame->instruction = (int64_t)(int32_t)at * l->lasti_unit;
	return true;
}

bool rt_python_frame_next(
	const struct rt_python_layout *l, uint64_t thread, struct rt_python_frame *frame)
{
	bool found = frame->at ? rt_python_peek(frame->at + l->previous, &frame->at)
			       : peek_first(l, thread, &frame->at);
	for (uint8_t owner; found && frame->at && l->shim;) {
		if (!peek_byte(frame->at + l->owner, &owner))
			return false;
		if (owner < l->shim)
			break;
		found = rt_python_peek(frame->at + l->previous, &frame->at);
	}
	return found && frame->at && peek_frame(l, frame);
}
