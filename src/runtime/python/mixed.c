/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see mixed.h. May touch: the same. */
#include "runtime/python/mixed.h"

#include <string.h>

static inline uint32_t module_of(uint64_t frame)
{
	return (uint32_t)(frame >> HW_FRAME_ADDRESS_BITS);
}

/* Whether a node's frame is one of the function that runs Python code. It has a return address, so
 * the call is before it. */
static inline bool is_eval(const struct rt_python_eval *eval, uint64_t frame)
{
	uint64_t call = (frame & HW_FRAME_ADDRESS_MASK) - 1;
	return frame >= HW_MARK_FRAMES && call >= eval->start && call < eval->end;
}

/* Copies the frames of a stack, innermost first. Returns how many; `most` + 1 if there are more. */
static uint32_t nodes_copy(
	const struct rt_stacks *stacks, uint32_t stack, uint64_t *to, uint32_t most)
{
	uint32_t n = 0;
	for (; stack && n < most; stack = stacks->nodes[stack].parent)
		to[n++] = stacks->nodes[stack].frame;
	return stack ? most + 1 : n;
}

/* Puts frames [0, count), innermost first, on a stack. */
static uint32_t nodes_put(
	const struct rt_stacks *stacks, uint32_t stack, const uint64_t *frames, uint32_t count)
{
	for (uint32_t i = count; i-- > 0;)
		stack = rt_stacks_child(stacks, stack, frames[i]);
	return stack;
}

static bool name_begins(const char *name, uint32_t bytes, const char *with)
{
	uint32_t length = (uint32_t)strlen(with);
	return bytes >= length && strncmp(name, with, length) == 0;
}

/* Whether a module is there to start the interpreter: libc, a program named python, or its library.
 * Another program that contains the interpreter has frames of its own. */
static bool is_starter(const struct rt_modules *modules, uint32_t module)
{
	if (!module || module >= HW_MODULES_MAX)
		return false;
	const struct hw_module *m = &modules->table[module];
	const char *path = modules->strings + m->path_offset;
	uint32_t name = m->path_bytes;
	while (name && path[name - 1] != '/')
		name--;
	path += name;
	uint32_t bytes = m->path_bytes - name;
	return name_begins(path, bytes, "libc.so.") || name_begins(path, bytes, "libpthread.so.") ||
	       name_begins(path, bytes, "python") || name_begins(path, bytes, "libpython");
}

/* Of native frames [0, count), innermost first: how many are left without the outermost ones, if
 * all that these do is to start the interpreter. */
static uint32_t without_start(
	const struct rt_python_mixing *mixing, const uint64_t *native, uint32_t count)
{
	uint32_t outer = count;
	while (!is_eval(&mixing->eval, native[outer - 1]))
		outer--;
	for (uint32_t i = outer; i < count; i++)
		if (!is_starter(mixing->unwinder->modules, module_of(native[i])))
			return count;
	return outer;
}

static inline bool bit_at(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* Where putting Python frames is: at one more than the item that is next, and than its frame. */
struct python_at {
	uint32_t item, frame;
};

/* Puts the next group inward on a stack; of an empty one the native frame. */
static uint32_t group_put(const struct rt_stacks *stacks, const struct rt_python_mixer *m,
	uint32_t stack, uint64_t native, struct python_at *at)
{
	if (!bit_at(m->groups.shown, at->item - 1)) {
		at->item--;
		return rt_stacks_child(stacks, stack, native);
	}
	do {
		at->item--;
		stack = rt_stacks_child(stacks, stack, m->python[--at->frame]);
	} while (at->item && !bit_at(m->groups.ends, at->item - 1));
	return stack;
}

/* The stack of `native` frames in the mixer, as many of which run Python code as there are groups.
 */
static uint32_t mixed_put(
	const struct rt_python_mixing *mixing, const struct rt_python_mixer *m, uint32_t native)
{
	const struct rt_stacks *stacks = &mixing->unwinder->stacks;
	struct python_at at = {m->groups.items, m->groups.frames};
	uint32_t stack = 0;
	for (uint32_t i = without_start(mixing, m->native, native); i-- > 0;) {
		uint64_t frame = m->native[i];
		stack = is_eval(&mixing->eval, frame) ? group_put(stacks, m, stack, frame, &at)
						      : rt_stacks_child(stacks, stack, frame);
	}
	return stack;
}

static uint32_t evals_count(
	const struct rt_python_mixing *mixing, const struct rt_python_mixer *m, uint32_t native)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < native; i++)
		found += is_eval(&mixing->eval, m->native[i]);
	return found;
}

/* Returns the native stack with the mark. */
static uint32_t native_alone(
	const struct rt_stacks *stacks, const struct rt_python_mixer *m, uint32_t native)
{
	return nodes_put(stacks, rt_stacks_child(stacks, 0, HW_MARK_NO_PYTHON), m->native, native);
}

/* Puts the frames of both stacks together, as they are in the mixer. */
static uint32_t stack_make(const struct rt_python_mixing *mixing, struct rt_python_mixer *m,
	uint32_t native, uint32_t python)
{
	const struct rt_stacks *stacks = &mixing->unwinder->stacks;
	uint32_t natives = nodes_copy(stacks, native, m->native, RT_MIXED_NATIVE_MAX);
	if (natives > RT_MIXED_NATIVE_MAX)
		return native;
	uint32_t frames = nodes_copy(stacks, python, m->python, RT_PYTHON_DEPTH_MAX);
	if (!m->groups.is_whole || frames != m->groups.frames || !m->groups.groups ||
		evals_count(mixing, m, natives) != m->groups.groups)
		return native_alone(stacks, m, natives);
	return mixed_put(mixing, m, natives);
}

/* What is known of a native stack, which is looked through if it is new. */
static uint32_t native_look(
	const struct rt_python_mixing *mixing, struct rt_python_mixer *m, uint32_t native)
{
	struct rt_mixed_native *known = &m->natives[native % RT_MIXED_KEPT];
	if (rt_likely(known->native == native))
		return known->alone;
	const struct rt_stacks *stacks = &mixing->unwinder->stacks;
	uint32_t count = nodes_copy(stacks, native, m->native, RT_MIXED_NATIVE_MAX), alone = 0;
	for (uint32_t i = 0; i < count && i < RT_MIXED_NATIVE_MAX && !alone; i++) {
		if (m->native[i] == HW_MARK_SIGNAL)
			alone = count > RT_MIXED_NATIVE_MAX ? native
							    : native_alone(stacks, m, count);
	}
	*known = (struct rt_mixed_native){native, alone};
	return alone;
}

static inline uint32_t bits_words(const struct rt_python_groups *groups)
{
	return (groups->items + 63) / 64;
}

static bool is_kept(const struct rt_mixed *kept, const struct rt_python_groups *groups,
	uint32_t native, uint32_t python)
{
	bool same = kept->native == native && kept->python == python &&
		    kept->items == groups->items && groups->is_whole;
	for (uint32_t i = 0; same && i < bits_words(groups); i++)
		same = kept->shown[i] == groups->shown[i] && kept->ends[i] == groups->ends[i];
	return same;
}

/* Keeps a result, if it has room. */
static void stack_keep(struct rt_mixed *kept, const struct rt_python_groups *groups,
	uint32_t native, uint32_t python, uint32_t stack)
{
	if (!groups->is_whole || groups->items > 64 * RT_MIXED_WORDS)
		return;
	*kept = (struct rt_mixed){
		.native = native, .python = python, .stack = stack, .items = groups->items};
	for (uint32_t i = 0; i < bits_words(groups); i++) {
		kept->shown[i] = groups->shown[i];
		kept->ends[i] = groups->ends[i];
	}
}

uint32_t rt_python_mixed(const struct rt_python_mixing *mixing, struct rt_python_chain *chain,
	struct rt_python_mixer *m, uint32_t native)
{
	uint32_t alone = native_look(mixing, m, native);
	if (rt_unlikely(alone))
		return alone;
	uint32_t python = rt_python_stack(&mixing->walk, chain, mixing->thread);
	if (!python)
		return native;
	rt_python_groups_read(mixing->walk.layout, mixing->thread, &m->groups);
	uint32_t hash = (native * 0x9e3779b9u ^ python * 0x85ebca6bu) >> 16;
	struct rt_mixed *kept = &m->kept[hash & (RT_MIXED_KEPT - 1)];
	if (rt_likely(is_kept(kept, &m->groups, native, python)))
		return kept->stack;
	uint32_t stack = stack_make(mixing, m, native, python);
	stack_keep(kept, &m->groups, native, python, stack);
	return stack;
}
