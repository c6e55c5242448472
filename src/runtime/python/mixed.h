/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: an event of a thread that runs Python code, of a block that is not Python's. May
 * touch: the thread's own chain of frames (read only), shared nodes and modules.
 *
 * A native stack with the Python frames in their places. CPython runs Python code in one function,
 * _PyEval_EvalFrameDefault. Each activation of it, a native frame, runs one Python frame (up to
 * 3.10), or a group of them: the calls from Python to Python of which C saw nothing. The outermost
 * frame of a group is known by what the interpreter itself keeps (is_entry in 3.11, a frame of its
 * own outward of it from 3.12 on).
 *
 *     malloc                 malloc
 *     list_sort              list_sort
 *     eval ─────────────────▶ key(), called by C
 *     builtin_sorted         builtin_sorted
 *     eval ─────────────────▶ work() ◀── main(), two frames of one group
 *
 * So the n-th activation from outside is the n-th group from outside, if there are as many of the
 * ones as of the others. If not (a stack that could not be unwound whole, a switched one) the stack
 * stays native and has a mark. The same goes for handlers of signals: these may come between two
 * stores to the chain. What starts the interpreter (its own frames, libc's, those of a program
 * named python) is left out, so that such stacks begin where those of Python's objects begin.
 *
 * The result depends on the native stack, the Python stack and the groups alone: a thread keeps
 * what it came to.
 */
#ifndef RUNTIME_PYTHON_MIXED_H
#define RUNTIME_PYTHON_MIXED_H

#include "runtime/core/unwind.h"
#include "runtime/python/frames.h"

/* Of the results that are kept; stacks of more Python frames than 64 times the words are made anew
 * each time. */
#define RT_MIXED_KEPT 512u
#define RT_MIXED_WORDS 4u
/* Native frames and marks of a stack; one with more stays native. */
#define RT_MIXED_NATIVE_MAX (2u * RT_DEPTH_MAX)

/* A result. All bytes 0: none. */
struct rt_mixed {
	uint32_t native, python, stack, items;
	uint64_t shown[RT_MIXED_WORDS], ends[RT_MIXED_WORDS];
};

/* What is known of a native stack. All bytes 0: nothing. */
struct rt_mixed_native {
	uint32_t native;
	uint32_t alone; /* the stack with the mark, if it can't have Python frames; else 0 */
};

/* Of a thread; zero at first. */
struct rt_python_mixer {
	struct rt_mixed kept[RT_MIXED_KEPT];
	struct rt_mixed_native natives[RT_MIXED_KEPT];
	struct rt_python_groups groups;           /* of the chain as it is now */
	uint64_t python[RT_PYTHON_DEPTH_MAX + 1]; /* words of nodes, innermost first */
	uint64_t native[RT_MIXED_NATIVE_MAX];
};

/* The interpreter's code that runs Python code: from here up to there. */
struct rt_python_eval {
	uint64_t start, end;
};

/* What of a walk does not change between events. */
struct rt_python_mixing {
	const struct rt_unwinder *unwinder;
	struct rt_python_walk walk;
	struct rt_python_eval eval;
	uint64_t thread; /* PyThreadState */
};

/* Returns the native stack with the Python frames in it; with a mark, if these can't be placed;
 * itself if the thread runs no Python code. Any moment. */
uint32_t rt_python_mixed(const struct rt_python_mixing *mixing, struct rt_python_chain *chain,
	struct rt_python_mixer *mixer, uint32_t native);

#endif
