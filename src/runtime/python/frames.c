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

/* The innermost frame has just been made, and its code does not run yet: it counts from the first
 * instruction that is traced, as for the interpreter itself (_PyFrame_IsIncomplete). */
static inline bool is_incomplete(const struct rt_python_layout *l, uint64_t frame)
{
	if (!l->has_pointer || *(const uint8_t *)(frame + l->owner) == RT_PYTHON_OWNER_GENERATOR)
		return false;
	uint64_t code = frame_code(l, frame);
	int32_t traced = *(const int32_t *)(code + l->traced);
	return word_at(frame + l->instruction) < code + l->bytes + 2 * (uint64_t)(int64_t)traced;
}

/* Reads the chain to chain->fresh. Returns how many frames it has; *ret_cut: and more. */
static inline __attribute__((always_inline)) uint32_t chain_read(const struct rt_python_layout *l,
	struct rt_python_chain *chain, uint64_t frame, bool has_pointer, bool *ret_cut)
{
	uint32_t n = 0;
	for (; frame && n < RT_PYTHON_DEPTH_MAX; frame = word_at(frame + l->previous)) {
		if (has_pointer && is_shim(l, frame))
			continue;
		if (has_pointer)
			chain->fresh[n++] =
				(struct rt_python_place){word_at(frame + l->instruction), frame};
		else
			chain->fresh[n++] = (struct rt_python_place){word_at(frame + l->code),
				*(const uint32_t *)(frame + l->instruction)};
	}
	*ret_cut = frame != 0;
	return n;
}

static inline bool same_place(struct rt_python_place a, struct rt_python_place b, bool has_pointer)
{
	return a.at == b.at && (has_pointer || a.more == b.more);
}

/* How many frames from the outermost on are as they were. */
static inline __attribute__((always_inline)) uint32_t chain_same(
	const struct rt_python_chain *chain, uint32_t count, bool has_pointer)
{
	uint32_t most = count < chain->count ? count : chain->count, same = 0;
	const struct rt_python_place *fresh = &chain->fresh[count - 1];
	while (same < most &&
		same_place(fresh[-(int64_t)same], chain->kept[same].place, has_pointer))
		same++;
	return same;
}

/* The word of a frame in a node. */
static uint64_t frame_word(const struct rt_python_walk *walk, struct rt_python_place place)
{
	const struct rt_python_layout *l = walk->layout;
	uint64_t code = l->has_pointer ? frame_code(l, place.more) : place.at, at = 0;
	if (l->has_pointer)
		at = place.at - (code + l->bytes) + 1;
	else if ((int32_t)place.more >= 0)
		at = place.more * l->lasti_unit + 1;
	if (at > HW_FRAME_INSTRUCTION_MASK)
		at = 0; /* it has not begun, or is very long */
	uint64_t row = rt_codes_row(walk->codes, l, code);
	return (uint64_t)HW_FRAME_CODE << HW_FRAME_ADDRESS_BITS |
	       (row ? row : RT_CODE_FULL) << HW_FRAME_INSTRUCTION_BITS |
	       (row > RT_CODE_FULL ? at : 0);
}

static uint32_t child_of(const struct rt_python_walk *walk, struct rt_python_chain *chain,
	uint32_t parent, struct rt_python_place place)
{
	uint64_t more = walk->layout->has_pointer ? 0 : place.more;
	uint64_t hash = (place.at + more * 31 + parent * 0x9e3779b9ull) * 0x9e3779b97f4a7c15ull;
	struct rt_python_child *known = &chain->children[hash >> 54];
	_Static_assert(RT_PYTHON_CHILDREN == 1u << 10, "64 - 54 bits");
	if (known->child && known->place.at == place.at && known->place.more == more &&
		known->parent == parent && known->deaths == walk->deaths)
		return known->child;
	/* Of the interpreter itself: between a class and its __init__, from 3.12 on; for its own
	 * functions there is no such frame. */
	bool hidden = walk->layout->has_pointer && is_incomplete(walk->layout, place.more);
	uint32_t child =
		hidden ? parent : rt_stacks_child(walk->stacks, parent, frame_word(walk, place));
	*known = (struct rt_python_child){{place.at, more}, parent, child, walk->deaths};
	return child;
}

/* Gives the frames from `same` on their numbers; returns the innermost one's. */
static uint32_t chain_keep(const struct rt_python_walk *walk, struct rt_python_chain *chain,
	uint32_t count, uint32_t same, bool cut)
{
	uint32_t stack = same  ? (uint32_t)chain->kept[same - 1].stack
			 : cut ? rt_stacks_child(walk->stacks, 0, HW_MARK_CUT)
			       : 0;
	for (uint32_t i = same; i < count; i++) {
		struct rt_python_place place = chain->fresh[count - 1 - i];
		stack = child_of(walk, chain, stack, place);
		chain->kept[i] = (struct rt_python_kept){place, stack};
	}
	chain->count = count;
	return stack;
}

static inline __attribute__((always_inline)) uint32_t stack_of(const struct rt_python_walk *walk,
	struct rt_python_chain *chain, uint64_t frame, bool has_pointer)
{
	bool cut;
	uint32_t count = chain_read(walk->layout, chain, frame, has_pointer, &cut);
	if (rt_unlikely(chain->deaths != walk->deaths)) {
		chain->count = 0;
		chain->deaths = walk->deaths;
	}
	if (rt_unlikely(!count))
		return 0;
	/* The frames of a cut chain have no fixed place in it. */
	uint32_t same = rt_unlikely(cut) ? 0 : chain_same(chain, count, has_pointer);
	if (same == count) {
		chain->count = count;
		return (uint32_t)chain->kept[count - 1].stack;
	}
	uint32_t stack = chain_keep(walk, chain, count, same, cut);
	if (rt_unlikely(cut))
		chain->count = 0;
	return stack;
}

uint32_t rt_python_stack(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t thread)
{
	const struct rt_python_layout *l = walk->layout;
	uint64_t frame = frame_first(l, thread);
	while (frame && l->has_pointer && (is_shim(l, frame) || is_incomplete(l, frame)))
		frame = word_at(frame + l->previous);
	if (!frame)
		return 0;
	return l->has_pointer ? stack_of(walk, chain, frame, true)
			      : stack_of(walk, chain, frame, false);
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
