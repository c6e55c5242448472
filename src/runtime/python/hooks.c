/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the interpreter allocates or frees; any thread, any moment. May touch: events, the
 * wrapped allocators.
 *
 * While a wrapped allocator runs, rt_here.python says so: hooks of malloc and its like then record
 * nothing, but a free of another block than the wrapped call's (events.c). A wrapper within a
 * wrapper (pymalloc keeps a table in raw memory; tracemalloc wraps us as we may wrap it) does
 * nothing, either.
 */
#include "runtime/preload/events.h"
#include "runtime/preload/sampling.h"
#include "runtime/python/python.h"

#include <sys/single_threaded.h>

/* A wrapped allocator: where a wrapper's ctx points to. More than one of a domain if the
 * interpreter installs others. */
struct wrapped {
	struct rt_python_allocator real;
	bool used;
};
#define LAYERS 4
static struct wrapped wrapped[RT_PYTHON_DOMAINS][LAYERS];
static struct wrapped *newest[RT_PYTHON_DOMAINS];

/* While an allocator is being installed a thread may have the function of the one and the ctx of
 * the other. */
static inline const struct rt_python_allocator *real_of(void *ctx, unsigned domain)
{
	const struct wrapped *w = ctx;
	if (rt_unlikely((uint64_t)w - (uint64_t)wrapped[domain] >= sizeof(wrapped[domain])))
		w = newest[domain];
	return &w->real;
}

/* Not consumed by any allocation: hooks of malloc pass all. */
#define UNTIL_ALL (1ull << 62)

static inline uint64_t inner_begin(struct rt_here *here, uint64_t block, uint64_t sp)
{
	uint64_t until = here->until;
	here->python_block = block;
	here->python = sp;
	here->until = UNTIL_ALL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return until;
}

static inline void inner_end(struct rt_here *here, uint64_t until)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	here->until = until;
	here->python = 0;
}

static inline __attribute__((always_inline)) void *record_alloc(
	void *block, size_t size, unsigned domain, struct rt_caller c)
{
	if (rt_unlikely(rt_python.unsettled))
		rt_python_settle();
	if (rt_passes(size))
		return block;
	return rt_event_object(
		block, size, (enum hw_alloc_kind)(HW_PYTHON_RAW + domain), c.pc, c.sp, c.rbp);
}

static inline __attribute__((always_inline)) void *wrapped_malloc(
	void *ctx, size_t size, unsigned domain, struct rt_caller c)
{
	const struct rt_python_allocator *real = real_of(ctx, domain);
	struct rt_here *here = &rt_here;
	if (rt_unlikely(here->python) && rt_event_within_python(c.sp))
		return real->malloc(real->ctx, size);
	uint64_t until = inner_begin(here, 0, c.sp);
	void *block = real->malloc(real->ctx, size);
	inner_end(here, until);
	return record_alloc(block, size, domain, c);
}

static inline __attribute__((always_inline)) void *wrapped_calloc(
	void *ctx, size_t count, size_t size, unsigned domain, struct rt_caller c)
{
	const struct rt_python_allocator *real = real_of(ctx, domain);
	struct rt_here *here = &rt_here;
	if (rt_unlikely(here->python) && rt_event_within_python(c.sp))
		return real->calloc(real->ctx, count, size);
	uint64_t until = inner_begin(here, 0, c.sp);
	void *block = real->calloc(real->ctx, count, size);
	inner_end(here, until);
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	return record_alloc(block, bytes, domain, c);
}

static inline __attribute__((always_inline)) void *wrapped_realloc(
	void *ctx, void *block, size_t size, unsigned domain, struct rt_caller c)
{
	const struct rt_python_allocator *real = real_of(ctx, domain);
	struct rt_here *here = &rt_here;
	if (rt_unlikely(here->python) && rt_event_within_python(c.sp))
		return real->realloc(real->ctx, block, size);
	if (block)
		return rt_event_object_realloc(
			real, block, size, (enum hw_alloc_kind)(HW_PYTHON_RAW + domain), c);
	uint64_t until = inner_begin(here, 0, c.sp);
	void *made = real->realloc(real->ctx, NULL, size);
	inner_end(here, until);
	return record_alloc(made, size, domain, c);
}

static inline __attribute__((always_inline)) void wrapped_free(
	void *ctx, void *block, unsigned domain, struct rt_caller c)
{
	const struct rt_python_allocator *real = real_of(ctx, domain);
	struct rt_here *here = &rt_here;
	if (rt_unlikely(!block) || (rt_unlikely(here->python) && rt_event_within_python(c.sp))) {
		real->free(real->ctx, block);
		return;
	}
	if (!rt_passes_free(block))
		rt_event_free(block, HW_FREE_PYTHON, c.pc, c.sp, c.rbp);
	if (domain == 2)
		rt_python_freeing((uint64_t)block);
	uint64_t until = inner_begin(here, (uint64_t)block, c.sp);
	real->free(real->ctx, block);
	inner_end(here, until);
}

#define DEFINE_DOMAIN(name, domain)                                                                \
	static void *name##_malloc(void *ctx, size_t size)                                         \
	{                                                                                          \
		return wrapped_malloc(ctx, size, domain, RT_CALLER());                             \
	}                                                                                          \
	static void *name##_calloc(void *ctx, size_t count, size_t size)                           \
	{                                                                                          \
		return wrapped_calloc(ctx, count, size, domain, RT_CALLER());                      \
	}                                                                                          \
	static void *name##_realloc(void *ctx, void *block, size_t size)                           \
	{                                                                                          \
		return wrapped_realloc(ctx, block, size, domain, RT_CALLER());                     \
	}                                                                                          \
	static void name##_free(void *ctx, void *block)                                            \
	{                                                                                          \
		wrapped_free(ctx, block, domain, RT_CALLER());                                     \
	}

DEFINE_DOMAIN(raw, 0)
DEFINE_DOMAIN(mem, 1)
DEFINE_DOMAIN(obj, 2)

static const struct rt_python_allocator wrappers[RT_PYTHON_DOMAINS] = {
	{NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
	{NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
	{NULL, obj_malloc, obj_calloc, obj_realloc, obj_free},
};

static bool same_allocator(const struct rt_python_allocator *a, const struct rt_python_allocator *b)
{
	return a->ctx == b->ctx && a->malloc == b->malloc && a->calloc == b->calloc &&
	       a->realloc == b->realloc && a->free == b->free;
}

/* The place for an allocator: the one it has had before, or a new one; NULL: there is none left. */
static struct wrapped *wrapped_for(unsigned domain, const struct rt_python_allocator *real)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		struct wrapped *w = &wrapped[domain][i];
		if (w->used && same_allocator(&w->real, real))
			return w;
		if (w->used)
			continue;
		w->real = *real;
		w->used = true;
		return w;
	}
	return NULL;
}

bool rt_python_wrap(void (*get)(int domain, struct rt_python_allocator *ret),
	void (*set)(int domain, const struct rt_python_allocator *allocator))
{
	bool done = true;
	for (unsigned domain = 0; domain < RT_PYTHON_DOMAINS; domain++) {
		struct rt_python_allocator now = {NULL, NULL, NULL, NULL, NULL};
		get((int)domain, &now);
		if (now.malloc == wrappers[domain].malloc)
			continue;
		struct wrapped *w = now.malloc ? wrapped_for(domain, &now) : NULL;
		if (!w) {
			done = false;
			continue;
		}
		newest[domain] = w;
		struct rt_python_allocator ours = wrappers[domain];
		ours.ctx = w;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		set((int)domain, &ours);
	}
	return done;
}
