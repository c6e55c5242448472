/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls an allocation function, any thread, any moment. May touch: events,
 * next definitions.
 *
 * The functions we stand in front of. Each does what the real one does, with its result and its
 * errno, and tells events.h. Built with frame pointers, so that the caller's registers can be read
 * without assembly; calls in tail position are jumps, so that nothing of ours is on the stack while
 * the real free or operator delete runs.
 *
 * C++: when the operators are the C++ library's own they are malloc and free with another name, so
 * the hook calls those itself: one frame less to walk, and a delete is told from a free. When
 * memory is out the library's operator is called after all: new_handler and bad_alloc are its
 * business, and pass through no frame of ours. A program's own operator new is found before ours by
 * the dynamic linker, and stays in force. Operators that an allocator library brings are called as
 * they are.
 */
#include "runtime/preload/events.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

#define HOOK __attribute__((visibility("default"), noinline))

static size_t product(size_t count, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* The result of an allocation function, told and returned. */
#define TELL(block, size, kind)                                                                    \
	({                                                                                         \
		struct rt_caller rt_c = RT_CALLER();                                               \
		rt_event_alloc(block, size, kind, rt_c.pc, rt_c.sp, rt_c.rbp);                     \
	})

#define TELL_FREE(block, kind)                                                                     \
	do {                                                                                       \
		struct rt_caller rt_c = RT_CALLER();                                               \
		rt_event_free(block, kind, rt_c.pc, rt_c.sp, rt_c.rbp);                            \
	} while (0)

HOOK void *malloc(size_t size)
{
	return TELL(rt_real.malloc(size), size, HW_MALLOC);
}

HOOK void *calloc(size_t count, size_t size)
{
	return TELL(rt_real.calloc(count, size), product(count, size), HW_CALLOC);
}

HOOK void *realloc(void *block, size_t size)
{
	if (!block)
		return TELL(rt_real.realloc(block, size), size, HW_REALLOC);
	return rt_event_realloc(block, size, RT_CALLER());
}

HOOK void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes = product(count, size);
	if (bytes == SIZE_MAX)
		return TELL(rt_real.reallocarray(block, count, size), bytes, HW_REALLOC);
	/* Not the next reallocarray: libc's calls realloc by its public name, which is ours. */
	if (!block)
		return TELL(rt_real.realloc(NULL, bytes), bytes, HW_REALLOC);
	return rt_event_realloc(block, bytes, RT_CALLER());
}

HOOK void free(void *block)
{
	if (block)
		TELL_FREE(block, HW_FREE);
	rt_real.free(block);
}

HOOK void free_sized(void *block, size_t size)
{
	if (block)
		TELL_FREE(block, HW_FREE);
	if (rt_real.free_sized)
		rt_real.free_sized(block, size);
	else
		rt_real.free(block);
}

HOOK void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (block)
		TELL_FREE(block, HW_FREE);
	if (rt_real.free_aligned_sized)
		rt_real.free_aligned_sized(block, alignment, size);
	else
		rt_real.free(block);
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int error = rt_real.posix_memalign(ret, alignment, size);
	TELL(error ? NULL : *ret, size, HW_POSIX_MEMALIGN);
	return error;
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	return TELL(rt_real.aligned_alloc(alignment, size), size, HW_ALIGNED_ALLOC);
}

HOOK void *memalign(size_t alignment, size_t size)
{
	return TELL(rt_real.memalign(alignment, size), size, HW_MEMALIGN);
}

HOOK void *valloc(size_t size)
{
	return TELL(rt_real.valloc(size), size, HW_VALLOC);
}

HOOK void *pvalloc(size_t size)
{
	return TELL(rt_real.pvalloc(size), size, HW_PVALLOC);
}

/* The caller of dlclose does not matter to it (unlike dlopen's, which is why dlopen is left alone).
 */
HOOK int dlclose(void *handle)
{
	int result = rt_real.dlclose(handle);
	rt_process_review_modules();
	return result;
}

/*
 * Operators. Names are mangled (Itanium C++ ABI 1.86, section 5.1): m is size_t, Pv void *,
 * St11align_val_t and RKSt9nothrow_t the alignment and nothrow arguments.
 */
struct nothrow; /* std::nothrow_t, only ever passed on */

static inline void *next_operator(const char *name)
{
	void *next = rt_real_next(name, NULL);
	if (!next)
		__builtin_trap(); /* an operator was called, out of memory, and no C++ library is
				     loaded */
	return next;
}

#define PLAIN() rt_likely(rt_real.cxx_is_plain)

/* True if somebody wants to be asked when memory is out (std::get_new_handler). */
static bool has_new_handler(void)
{
	void *(*get)(void) = rt_real_next("_ZSt15get_new_handlerv", NULL);
	return !get || get();
}

/* An operator found no memory: as it does without a handler, and is told as failed; NULL: there is
 * one, the library's operator asks it. */
static void *thrower_of_bad_alloc(void)
{
	return has_new_handler() ? NULL : rt_real_next("_ZSt17__throw_bad_allocv", NULL);
}

#define DEFINE_NEW(name, kind)                                                                     \
	HOOK void *name(size_t size);                                                              \
	HOOK void *name(size_t size)                                                               \
	{                                                                                          \
		void *block = PLAIN() ? rt_real.malloc(size ? size : 1) : NULL;                    \
		if (rt_likely(block))                                                              \
			return TELL(block, size, kind);                                            \
		void *thrower = PLAIN() ? thrower_of_bad_alloc() : NULL;                           \
		if (!thrower)                                                                      \
			return ((void *(*)(size_t))next_operator(#name))(size);                    \
		TELL(NULL, size, kind);                                                            \
		return ((void *(*)(void))thrower)();                                               \
	}

#define DEFINE_NEW_NOTHROW(name, kind)                                                             \
	HOOK void *name(size_t size, const struct nothrow *tag);                                   \
	HOOK void *name(size_t size, const struct nothrow *tag)                                    \
	{                                                                                          \
		void *block = PLAIN() ? rt_real.malloc(size ? size : 1) : NULL;                    \
		if (rt_likely(block))                                                              \
			return TELL(block, size, kind);                                            \
		if (PLAIN() && !has_new_handler())                                                 \
			return TELL(NULL, size, kind);                                             \
		return ((void *(*)(size_t, const struct nothrow *))next_operator(#name))(          \
			size, tag);                                                                \
	}

/* aligned_alloc wants a multiple of the alignment; the C++ library rounds up in the same way. */
static inline void *aligned_block(size_t size, size_t alignment)
{
	size_t rounded = ((size ? size : 1) + alignment - 1) & ~(alignment - 1);
	bool usable = alignment && !(alignment & (alignment - 1)) && rounded >= size;
	return PLAIN() && usable ? rt_real.aligned_alloc(alignment, rounded) : NULL;
}

#define DEFINE_NEW_ALIGNED(name, kind)                                                             \
	HOOK void *name(size_t size, size_t alignment);                                            \
	HOOK void *name(size_t size, size_t alignment)                                             \
	{                                                                                          \
		void *block = aligned_block(size, alignment);                                      \
		if (rt_likely(block))                                                              \
			return TELL(block, size, kind);                                            \
		return ((void *(*)(size_t, size_t))next_operator(#name))(size, alignment);         \
	}

#define DEFINE_NEW_ALIGNED_NOTHROW(name, kind)                                                     \
	HOOK void *name(size_t size, size_t alignment, const struct nothrow *tag);                 \
	HOOK void *name(size_t size, size_t alignment, const struct nothrow *tag)                  \
	{                                                                                          \
		void *block = aligned_block(size, alignment);                                      \
		if (rt_likely(block))                                                              \
			return TELL(block, size, kind);                                            \
		return ((void *(*)(size_t, size_t, const struct nothrow *))next_operator(#name))(  \
			size, alignment, tag);                                                     \
	}

DEFINE_NEW(_Znwm, HW_NEW)
DEFINE_NEW(_Znam, HW_NEW_ARRAY)
DEFINE_NEW_NOTHROW(_ZnwmRKSt9nothrow_t, HW_NEW_NOTHROW)
DEFINE_NEW_NOTHROW(_ZnamRKSt9nothrow_t, HW_NEW_ARRAY_NOTHROW)
DEFINE_NEW_ALIGNED(_ZnwmSt11align_val_t, HW_NEW_ALIGNED)
DEFINE_NEW_ALIGNED(_ZnamSt11align_val_t, HW_NEW_ARRAY_ALIGNED)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, HW_NEW_ALIGNED_NOTHROW)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, HW_NEW_ARRAY_ALIGNED_NOTHROW)

/* Whatever else a form of delete is told (size, alignment, nothrow), the C++ library's own ends in
 * free(block). */
#define DEFINE_DELETE(name, kind)                                                                  \
	HOOK void name(void *block, size_t a, size_t b);                                           \
	HOOK void name(void *block, size_t a, size_t b)                                            \
	{                                                                                          \
		if (rt_unlikely(!rt_real.cxx_is_plain)) {                                          \
			((void (*)(void *, size_t, size_t))next_operator(#name))(block, a, b);     \
			return;                                                                    \
		}                                                                                  \
		if (block)                                                                         \
			TELL_FREE(block, kind);                                                    \
		rt_real.free(block);                                                               \
	}

DEFINE_DELETE(_ZdlPv, HW_DELETE)
DEFINE_DELETE(_ZdaPv, HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvm, HW_DELETE)
DEFINE_DELETE(_ZdaPvm, HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, HW_DELETE)
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvSt11align_val_t, HW_DELETE)
DEFINE_DELETE(_ZdaPvSt11align_val_t, HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvmSt11align_val_t, HW_DELETE)
DEFINE_DELETE(_ZdaPvmSt11align_val_t, HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, HW_DELETE)
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, HW_DELETE_ARRAY)
