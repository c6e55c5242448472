/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls an allocation function, any thread, any moment. May touch: events,
 * next definitions.
 *
 * The hooked functions. Each does what the real one does, with its result and its
 * errno, and tells events.h. Built with frame pointers, so that the caller's registers can be read
 * without assembly; calls in tail position are jumps, so that nothing of ours is on the stack while
 * the real free or operator delete runs.
 *
 * When an object in front of us has malloc, what comes here is what it lacks of the family, and
 * what it asks us for itself (RTLD_NEXT). The latter goes on to the next definition as ever. What
 * would do the former with the next realloc or free has to do it with that object's.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

static size_t checked_product(size_t count, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/*
 * What the usual call of a sampled recording does not need is apart, so that this keeps nothing
 * over a call and has no frame. It is reached by a jump: its caller, as RT_CALLER() has it, is the
 * hook's. Where calls in tail position are none it belongs to the hook.
 */
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define APART __attribute__((noinline))
#else
#define APART inline __attribute__((always_inline))
#endif

static APART void *record_malloc(size_t size)
{
	return RECORDED(rt_real.malloc(size), size, HW_MALLOC);
}

HOOK void *malloc(size_t size)
{
	if (rt_passes(size))
		return rt_real.malloc(size);
	return record_malloc(size);
}

static APART void *record_calloc(size_t count, size_t size)
{
	return RECORDED(rt_real.calloc(count, size), checked_product(count, size), HW_CALLOC);
}

HOOK void *calloc(size_t count, size_t size)
{
	if (rt_passes(checked_product(count, size)))
		return rt_real.calloc(count, size);
	return record_calloc(count, size);
}

HOOK void *realloc(void *block, size_t size)
{
	if (rt_passes_free(block) && rt_passes(size))
		return rt_real.realloc(block, size);
	if (!block)
		return RECORDED(rt_real.realloc(block, size), size, HW_REALLOC);
	void *moved = rt_event_realloc(block, size, RT_CALLER());
	rt_frees_given(moved, size);
	return moved;
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes = checked_product(count, size);
	if (rt_unlikely(rt_real_has_front()) && bytes != SIZE_MAX)
		return rt_real.public_realloc(block, bytes);
	if (rt_passes_free(block) && rt_passes(bytes))
		return rt_real.realloc(block, bytes);
	if (bytes == SIZE_MAX)
		return RECORDED(rt_real.reallocarray(block, count, size), bytes, HW_REALLOC);
	/* Not the next reallocarray: libc's calls realloc by its public name, which is a hook. */
	if (!block)
		return RECORDED(rt_real.realloc(NULL, bytes), bytes, HW_REALLOC);
	void *moved = rt_event_realloc(block, bytes, RT_CALLER());
	rt_frees_given(moved, bytes);
	return moved;
}

HOOK void free(void *block)
{
	if (rt_passes_free(block)) {
		rt_real.free(block);
		return;
	}
	if (block)
		RECORDED_FREE(block, HW_FREE);
	if (rt_unlikely(rt_frees.watch == RT_FREES_LEARN) && block)
		rt_frees_learn(block);
	else
		rt_real.free(block);
}

HOOK void free_sized(void *block, size_t size)
{
	if (block)
		RECORDED_FREE(block, HW_FREE);
	if (rt_real.free_sized)
		rt_real.free_sized(block, size);
	else if (rt_real_has_front())
		rt_real.public_free(block);
	else
		rt_real.free(block);
}

HOOK void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (block)
		RECORDED_FREE(block, HW_FREE);
	if (rt_real.free_aligned_sized)
		rt_real.free_aligned_sized(block, alignment, size);
	else if (rt_real_has_front())
		rt_real.public_free(block);
	else
		rt_real.free(block);
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (rt_passes(size))
		return rt_real.posix_memalign(ret, alignment, size);
	int error = rt_real.posix_memalign(ret, alignment, size);
	RECORDED(error ? NULL : *ret, size, HW_POSIX_MEMALIGN);
	return error;
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	if (rt_passes(size))
		return rt_real.aligned_alloc(alignment, size);
	return RECORDED(rt_real.aligned_alloc(alignment, size), size, HW_ALIGNED_ALLOC);
}

HOOK void *memalign(size_t alignment, size_t size)
{
	if (rt_passes(size))
		return rt_real.memalign(alignment, size);
	return RECORDED(rt_real.memalign(alignment, size), size, HW_MEMALIGN);
}

HOOK void *valloc(size_t size)
{
	if (rt_passes(size))
		return rt_real.valloc(size);
	return RECORDED(rt_real.valloc(size), size, HW_VALLOC);
}

HOOK void *pvalloc(size_t size)
{
	if (rt_passes(size))
		return rt_real.pvalloc(size);
	return RECORDED(rt_real.pvalloc(size), size, HW_PVALLOC);
}

/* The caller of dlclose does not matter to it (unlike dlopen's, see dlopen_hooks.c). */
HOOK int dlclose(void *handle)
{
	int result = rt_real.dlclose(handle);
	rt_process_review_modules();
	return result;
}
