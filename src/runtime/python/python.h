/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the interpreter is found; its allocator is called (any thread, any moment); once in
 * the interpreter's main thread. May touch: events, the interpreter's allocators; in the last case
 * the interpreter.
 *
 * CPython in this process. Its objects mostly come from an allocator of its own (pymalloc), and
 * malloc sees only its arenas. So its allocators (PyMem_SetAllocator: the domains raw, mem, obj)
 * are wrapped, and each block is an event of its own, with the Python stack. What a wrapped
 * allocator gets from malloc meanwhile is not recorded again: no byte counts twice. Functions of
 * the interpreter are not called from a hook, except those that only read or set a word of its
 * state: PyGILState_GetThisThreadState, PyMem_GetAllocator, PyMem_SetAllocator, Py_IsInitialized
 * and, once, Py_AddPendingCall.
 *
 *     found ──▶ wrapped ──initialised──▶ asked ──pending call──▶ settled
 *
 * An interpreter may install allocators of its own again while it starts (-X dev, PYTHONMALLOC,
 * -X tracemalloc): until it is settled this is looked for, and they are wrapped anew. Frames are
 * read only when they were compared with what the interpreter says of them, in the pending call,
 * where its functions may be called; there a function is registered with its module atexit, too,
 * which marks the moment before it tears down all objects: "python-exit".
 */
#ifndef RUNTIME_PYTHON_PYTHON_H
#define RUNTIME_PYTHON_PYTHON_H

#include "runtime/preload/process.h"
#include "runtime/python/mixed.h"

#include <link.h>

#define RT_PYTHON_DOMAINS 3

/* PyMemAllocatorEx of CPython (Include/cpython/pymem.h). */
struct rt_python_allocator {
	void *ctx;
	void *(*malloc)(void *ctx, size_t size);
	void *(*calloc)(void *ctx, size_t count, size_t size);
	void *(*realloc)(void *ctx, void *block, size_t size);
	void (*free)(void *ctx, void *block);
};

struct rt_python {
	const struct rt_python_layout *layout; /* NULL: none, or of an unknown version */
	uint64_t (*thread)(void);              /* PyGILState_GetThisThreadState */
	uint64_t deaths;                       /* of code objects */
	struct rt_python_eval eval;            /* empty: it is not known */
	uint32_t notes;                        /* enum hw_note, for this process and its children */
	bool has_frames;                       /* they are read */
	bool unsettled;                        /* rt_python_settle() has something to do */
	uint64_t found; /* of an object that was noticed, its link map; 0: none */
};
extern struct rt_python rt_python;

/* Looks for the interpreter among the objects loaded so far. Called by the constructor. */
void rt_python_start(void);

/* An object is on a stack for the first time: it may be the interpreter. Within an event. */
void rt_python_notice(const struct link_map *object);

/* Wraps the interpreter's allocators if they are not wrapped (any more). Within an event, too. */
void rt_python_look(void);

/* Does what is due until the interpreter is settled. Called by wrapped allocators. */
void rt_python_settle(void);

/* Tells the collector what is known, when a recording begins. */
void rt_python_prepare(struct rt_process *p);

/* Wraps the allocators that are installed now, unless they are wrapped. Returns false if they can't
 * be. In hooks.c. */
bool rt_python_wrap(void (*get)(int domain, struct rt_python_allocator *ret),
	void (*set)(int domain, const struct rt_python_allocator *allocator));

/* The pending call; and what it needs of the interpreter, looked for before. Returns whether that
 * is all there. In checks.c. */
int rt_python_check(void *argument);
bool rt_python_check_prepare(const struct link_map *object);
/* The pending call has been made, and came to these notes. */
void rt_python_settled(uint32_t notes);

/* Opens the table of codes. Returns false if there is none: from then on no frames are read. */
bool rt_python_open(struct rt_process *p);

/* Returns the calling thread's Python stack within an event; 0: it has none, or it can't be read.
 */
static inline uint32_t rt_python_event_stack(struct rt_process *p, struct rt_thread *t)
{
	if (!rt_python.has_frames)
		return 0;
	uint64_t thread = rt_python.thread();
	if (!thread || (rt_unlikely(!__atomic_load_n(&p->codes.rows, __ATOMIC_ACQUIRE)) &&
			       !rt_python_open(p)))
		return 0;
	return rt_python_stack(&p->python_walk, t->chain, thread);
}

/* Returns the native stack of the calling thread's event with the Python frames in it: see mixed.h.
 */
uint32_t rt_python_event_mixed(struct rt_process *p, struct rt_python_chain *chain,
	struct rt_python_mixer *mixer, uint32_t native);

/* A wrapped allocator is about to free the block. */
static inline void rt_python_freeing(uint64_t block)
{
	struct rt_process *p = rt_process;
	if (!p || !p->codes.rows || !rt_codes_may_have(&p->codes, block))
		return;
	if (rt_codes_died(&p->codes, block))
		__atomic_fetch_add(&rt_python.deaths, 1, __ATOMIC_RELAXED);
}

#endif
