/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads were doing in Python: functions, files and lines, by the interpreter's own frames.
 *
 * No symbol leads there. A thread that runs Python has a pointer to its state (PyThreadState) on
 * its stack; the state has the thread's number, which is its thread pointer, and leads to its
 * frames. States are in a list, which leads to those of the other threads. Frames and functions'
 * code look different by version, and which look it is is recognised by what they point to: code to
 * names that are text and to a table that is bytes, a frame to code.
 */
#ifndef HEAP_PYTHON_FRAMES_H
#define HEAP_PYTHON_FRAMES_H

#include "heap/python/python.h"
#include "heap/python/python_lines.h"

#define PYTHON_FRAMES_MAX 1024u

struct python_frame {
	const char *function; /* with its class from 3.11 on */
	const char *file;     /* as given to the interpreter */
	uint32_t line;        /* 0: unknown */
};
DEFINE_VEC(python_frames, struct python_frame)

/* A function's code. */
struct python_code {
	const char *function, *file;
	uint64_t table, table_bytes; /* of lines */
	uint64_t start; /* of its instructions; 0: they are identified by their offset */
	uint64_t bytes;
	/* Of its frames: how many variables they have, and room for this many values that it works
	 * with; both 0: not known (up to 3.10). */
	uint32_t variables, values;
	uint32_t first_line;
	enum python_lines lines;
};
DEFINE_VEC(python_codes, struct python_code)

struct python_stacks {
	const struct address_space *space; /* borrowed */
	struct python python;
	struct python_known numbers; /* of an address: code + 1; 0: no code is there */
	struct python_codes codes;
	struct python_addresses states; /* one for each thread of `space`; 0: none is known */
};

/* Looks for interpreters, and for their threads' states. */
struct error *python_stacks_open(
	const struct address_space *space, struct python_stacks *ret) must_check_;
void python_stacks_close(struct python_stacks *stacks);

/* Calls `take` with memory of each of a thread's frames in which values that it works with may
 * be and none is sure to be: of a frame that runs all of that, since it has its top in a
 * register; of the others what is above it. From 3.11 on; false from `take` ends it, and is
 * returned. */
bool python_stack_each_unsure(struct python_stacks *stacks, size_t thread,
	bool (*take)(void *context, uint64_t start, uint64_t end), void *context);

/* Finds what a thread does in Python, innermost first, in place of what `ret` had; at most
 * PYTHON_FRAMES_MAX. Strings live as long as `stacks`. */
struct error *python_stack_make(
	struct python_stacks *stacks, size_t thread, struct python_frames *ret) must_check_;

#endif
