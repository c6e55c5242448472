/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: an event of a thread that runs Python code. May touch: the thread's own chain of
 * frames (read only), the table of codes, shared nodes.
 *
 * The Python stack of the calling thread, as a stack number. Only the owning thread changes its
 * chain of frames, and a frame in it keeps its code alive, so the chain may be read whether or not
 * the thread has the interpreter's lock, without any function of the interpreter.
 *
 * A thread keeps its last chain, outermost frame first, with the number of the stack that ends at
 * each frame. From the innermost frame outward it looks for the first one that the last chain had,
 * too, at that address. From there on all frames are compared in step with what is kept: each is at
 * its address, leads to the next, and stands where it stood. These reads do not wait for one
 * another. So nothing is believed of a frame that has not been read now, and frames further in are
 * new. Where the comparison fails, the chain is read whole, and what equals the last one from the
 * outermost frame on has its numbers.
 *
 * Where a frame stands is the address of its instruction, up to 3.10 its code and the instruction
 * in it. Code that is freed may have another's address later: *rt_python_walk.deaths counts such
 * frees, and after one nothing that was kept counts.
 *
 * A signal handler may leave a walk for good (siglongjmp): before anything that is kept changes it
 * stops to count, and counts again when it is complete.
 */
#ifndef RUNTIME_PYTHON_FRAMES_H
#define RUNTIME_PYTHON_FRAMES_H

#include "runtime/core/stacks.h"
#include "runtime/python/codes.h"
#include "runtime/python/layout.h"

/* The outer frames of deeper stacks are cut, and marked so. */
#define RT_PYTHON_DEPTH_MAX 2048u

/* Where a frame stands: at the address of an instruction (`more` is 0), or in a code at an
 * instruction. */
struct rt_python_place {
	uint64_t at;
	uint32_t more;
};

struct rt_python_kept {
	uint64_t frame, at; /* the frame's address; a place */
	uint32_t more;
	uint32_t stack; /* that ends here */
};

/* The child of a stack for a place. */
struct rt_python_child {
	uint64_t at, more;      /* the place; `more` also tells the number of deaths */
	uint32_t parent, child; /* child 0: empty */
};
#define RT_PYTHON_CHILDREN 1024u

/* Of a thread; zero at first. */
struct rt_python_chain {
	uint32_t count;
	uint64_t deaths;
	/* Instructions from the one address to the other are of one code, and not before the first
	 * that is traced. */
	uint64_t traced_from, traced_to;
	struct rt_python_kept kept[RT_PYTHON_DEPTH_MAX];  /* outermost first */
	struct rt_python_kept fresh[RT_PYTHON_DEPTH_MAX]; /* innermost first; no stacks */
	struct rt_python_child children[RT_PYTHON_CHILDREN];
};

/* What walks need. */
struct rt_python_walk {
	const struct rt_stacks *stacks;
	struct rt_codes *codes;
	const struct rt_python_layout *layout;
	const uint64_t *deaths; /* of code objects so far */
};

/* Returns the stack of the thread whose PyThreadState is at `thread`; 0 if it runs no code. */
uint32_t rt_python_stack(
	const struct rt_python_walk *walk, struct rt_python_chain *chain, uint64_t thread);

/*
 * Which of a chain's frames one activation of the interpreter runs: see mixed.h. Items, innermost
 * first: each a frame that rt_python_stack() has, or a group without any (its frame has not begun,
 * or has ended).
 */
struct rt_python_groups {
	uint32_t items, frames, groups;
	bool is_whole; /* all were read, and belong to a group */
	/* Bit i: item i is a frame; it is the outermost of its group, or an empty one. */
	uint64_t shown[RT_PYTHON_DEPTH_MAX / 64], ends[RT_PYTHON_DEPTH_MAX / 64];
};

/* Reads the groups of the calling thread's chain. */
void rt_python_groups_read(
	const struct rt_python_layout *layout, uint64_t thread, struct rt_python_groups *ret);

/* Reads a word of memory that may not be readable. Returns false if it is not. */
bool rt_python_peek(uint64_t address, uint64_t *ret);

/* A frame as it is in memory. */
struct rt_python_frame {
	uint64_t at, code;
	int64_t instruction; /* in bytes; negative: it has not begun */
};

/* Gives the innermost frame (*ret_at zero at first) or the next one outward, and reads nothing that
 * is not readable. Returns false if there is none. */
bool rt_python_frame_next(
	const struct rt_python_layout *layout, uint64_t thread, struct rt_python_frame *frame);

#endif
