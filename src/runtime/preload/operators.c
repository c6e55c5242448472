/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a C++ program allocates or frees, any thread, any moment. May touch: events, next
 * definitions.
 *
 * When operator new and delete are the C++ library's own they are malloc and free with another
 * name, so the hook calls those itself: one frame less to walk, and a delete can be distinguished
 * from a free. When memory is out the library's operator is called after all: new_handler and
 * bad_alloc are its business, and pass through no frame of ours. A program's own operator new is
 * found before ours by the dynamic linker, and stays in force.
 *
 * Operators that an allocator library brings (tcmalloc, jemalloc, mimalloc) are called as they are.
 * Most of them do not go through the exported malloc, so the call is recorded here; of those that
 * do (in jemalloc some forms do, others do not), nothing is told twice.
 *
 * Names are mangled (Itanium C++ ABI 1.86, section 5.1): m is size_t, Pv void *, St11align_val_t
 * and RKSt9nothrow_t the alignment and nothrow arguments.
 */
#include "runtime/preload/clear.h"
#include "runtime/preload/hooks.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"

#include <stdbool.h>
#include <stddef.h>

struct nothrow; /* std::nothrow_t, only ever passed on */

/* The next definition of an operator. */
struct next {
	void *function; /* NULL: not looked for yet; release: what is below is right */
	bool foreign;   /* an allocator library's, not the C++ library's */
};

static __attribute__((noinline)) const struct next *find_operator(
	const char *name, struct next *place)
{
	const char *object = "";
	void *function = rt_real_next(name, &object);
	if (!function)
		__builtin_trap(); /* an operator was called, out of memory, and no C++ library is
				     loaded */
	place->foreign = !rt_real_is_cxx_library(object);
	__atomic_store_n(&place->function, function, __ATOMIC_RELEASE);
	return place;
}

static inline const struct next *next_operator(const char *name, struct next *place)
{
	if (rt_likely(__atomic_load_n(&place->function, __ATOMIC_ACQUIRE)))
		return place;
	return find_operator(name, place);
}

#define NEXT(name)                                                                                 \
	({                                                                                         \
		static struct next rt_place;                                                       \
		next_operator(#name, &rt_place);                                                   \
	})

/* Does so for an operator new: is_recorded_here() examines the result of the call. */
#define NEXT_NEW(name)                                                                             \
	({                                                                                         \
		rt_event_forget_latest();                                                          \
		NEXT(name);                                                                        \
	})

/*
 * After an operator new gave a block: whether it is for us to tell, and to clear. The C++ library's
 * call another form, or malloc, by its public name, and an allocator's may do so too.
 */
static bool is_recorded_here(const struct next *next, void *block, size_t size)
{
	bool ours = block && next->foreign && !rt_here.asks && !rt_event_is_latest(block);
	if (ours)
		rt_clear_given(block, size);
	return ours;
}

/* Called when it gave no block. */
static bool failed_here(const struct next *next)
{
	return next->foreign && !rt_event_has_failed();
}

#define PLAIN() rt_likely(rt_real.cxx_is_plain)

/* Whether an operator has nothing to do but to jump to the next one: its caller is the program's
 * then, as it is for an allocator that examines what it is called for. */
#define ONLY_JUMPS() (!PLAIN() && rt_without_heap)

/* Returns whether the program has a handler for lack of memory (std::get_new_handler). */
static bool has_new_handler(void)
{
	void *(*get)(void) = rt_real_next("_ZSt15get_new_handlerv", NULL);
	return !get || get();
}

/* An operator found no memory: does as it does without a handler, and records the failure; NULL:
 * there is one, the library's operator asks it. */
static void *thrower_of_bad_alloc(void)
{
	return has_new_handler() ? NULL : rt_real_next("_ZSt17__throw_bad_allocv", NULL);
}

/*
 * An allocator's operator new that throws reports nothing. So one that may well fail, because much
 * is asked for, is tried in the form that does not throw first; and where a handler would be asked
 * a second time then, it is not.
 */
#define LARGE ((size_t)1 << 20)

static const char quiet_tag; /* a std::nothrow_t is only a type */

/* That other form, if it is to be tried; NULL: it is not. */
static __attribute__((noinline)) void *find_quiet(const struct next *next, const char *name)
{
	const char *object = "";
	void *quiet = next->foreign && !has_new_handler() ? rt_real_next(name, &object) : NULL;
	return quiet && !rt_real_is_cxx_library(object) ? quiet : NULL;
}

#define QUIET(next, size, name) (rt_unlikely((size) >= LARGE) ? find_quiet(next, #name) : NULL)

/* What comes of that: a block; or it is recorded as failed, unless it has been (the allocator's
 * went to a function that we see), and the operator itself throws, or what else it does. */
#define FIRST_TRY(block, next, size, kind)                                                         \
	do {                                                                                       \
		if (block)                                                                         \
			return is_recorded_here(next, block, size) ? RECORDED(block, size, kind)   \
								   : (block);                      \
		void *rt_thrower = rt_real_next("_ZSt17__throw_bad_allocv", NULL);                 \
		if (failed_here(next))                                                             \
			RECORDED(NULL, size, kind);                                                \
		else if (rt_thrower)                                                               \
			return ((void *(*)(void))rt_thrower)();                                    \
	} while (0)

#define DEFINE_NEW(name, kind)                                                                     \
	HOOK void *name(size_t size);                                                              \
	HOOK void *name(size_t size)                                                               \
	{                                                                                          \
		if (ONLY_JUMPS())                                                                  \
			return ((void *(*)(size_t))NEXT(name)->function)(size);                    \
		void *block = PLAIN() ? rt_real.malloc(size ? size : 1) : NULL;                    \
		if (rt_likely(block))                                                              \
			return rt_passes(size) ? block : RECORDED(block, size, kind);              \
		void *thrower = PLAIN() ? thrower_of_bad_alloc() : NULL;                           \
		if (!thrower) {                                                                    \
			const struct next *next = NEXT_NEW(name);                                  \
			void *quiet = QUIET(next, size, name##RKSt9nothrow_t);                     \
			if (quiet) {                                                               \
				block = ((void *(*)(size_t, const void *))quiet)(                  \
					size, &quiet_tag);                                         \
				FIRST_TRY(block, next, size, kind);                                \
			}                                                                          \
			block = ((void *(*)(size_t))next->function)(size);                         \
			return is_recorded_here(next, block, size) ? RECORDED(block, size, kind)   \
								   : block;                        \
		}                                                                                  \
		RECORDED(NULL, size, kind);                                                        \
		return ((void *(*)(void))thrower)();                                               \
	}

#define DEFINE_NEW_NOTHROW(name, kind)                                                             \
	HOOK void *name(size_t size, const struct nothrow *tag);                                   \
	HOOK void *name(size_t size, const struct nothrow *tag)                                    \
	{                                                                                          \
		if (ONLY_JUMPS())                                                                  \
			return ((void *(*)(size_t, const struct nothrow *))NEXT(name)->function)(  \
				size, tag);                                                        \
		void *block = PLAIN() ? rt_real.malloc(size ? size : 1) : NULL;                    \
		if (rt_likely(block))                                                              \
			return rt_passes(size) ? block : RECORDED(block, size, kind);              \
		if (PLAIN() && !has_new_handler())                                                 \
			return RECORDED(NULL, size, kind);                                         \
		const struct next *next = NEXT_NEW(name);                                          \
		block = ((void *(*)(size_t, const struct nothrow *))next->function)(size, tag);    \
		bool ours = block ? is_recorded_here(next, block, size) : failed_here(next);       \
		return ours ? RECORDED(block, size, kind) : block;                                 \
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
		if (ONLY_JUMPS())                                                                  \
			return ((void *(*)(size_t, size_t))NEXT(name)->function)(size, alignment); \
		void *block = aligned_block(size, alignment);                                      \
		if (rt_likely(block))                                                              \
			return RECORDED(block, size, kind);                                        \
		const struct next *next = NEXT_NEW(name);                                          \
		void *quiet = QUIET(next, size, name##RKSt9nothrow_t);                             \
		if (quiet) {                                                                       \
			block = ((void *(*)(size_t, size_t, const void *))quiet)(                  \
				size, alignment, &quiet_tag);                                      \
			FIRST_TRY(block, next, size, kind);                                        \
		}                                                                                  \
		block = ((void *(*)(size_t, size_t))next->function)(size, alignment);              \
		return is_recorded_here(next, block, size) ? RECORDED(block, size, kind) : block;  \
	}

#define DEFINE_NEW_ALIGNED_NOTHROW(name, kind)                                                     \
	HOOK void *name(size_t size, size_t alignment, const struct nothrow *tag);                 \
	HOOK void *name(size_t size, size_t alignment, const struct nothrow *tag)                  \
	{                                                                                          \
		if (ONLY_JUMPS())                                                                  \
			return ((void *(*)(size_t, size_t, const struct nothrow *))NEXT(name)      \
					->function)(size, alignment, tag);                         \
		void *block = aligned_block(size, alignment);                                      \
		if (rt_likely(block))                                                              \
			return RECORDED(block, size, kind);                                        \
		const struct next *next = NEXT_NEW(name);                                          \
		block = ((void *(*)(size_t, size_t, const struct nothrow *))next->function)(       \
			size, alignment, tag);                                                     \
		bool ours = block ? is_recorded_here(next, block, size) : failed_here(next);       \
		return ours ? RECORDED(block, size, kind) : block;                                 \
	}

DEFINE_NEW(_Znwm, HW_NEW)
DEFINE_NEW(_Znam, HW_NEW_ARRAY)
DEFINE_NEW_NOTHROW(_ZnwmRKSt9nothrow_t, HW_NEW_NOTHROW)
DEFINE_NEW_NOTHROW(_ZnamRKSt9nothrow_t, HW_NEW_ARRAY_NOTHROW)
DEFINE_NEW_ALIGNED(_ZnwmSt11align_val_t, HW_NEW_ALIGNED)
DEFINE_NEW_ALIGNED(_ZnamSt11align_val_t, HW_NEW_ARRAY_ALIGNED)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, HW_NEW_ALIGNED_NOTHROW)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, HW_NEW_ARRAY_ALIGNED_NOTHROW)

/* Whatever other arguments a form of delete has (size, alignment, nothrow), the C++ library's own
 * ends in free(block). */
#define DEFINE_DELETE(name, kind)                                                                  \
	HOOK void name(void *block, size_t a, size_t b);                                           \
	HOOK void name(void *block, size_t a, size_t b)                                            \
	{                                                                                          \
		if (ONLY_JUMPS()) {                                                                \
			((void (*)(void *, size_t, size_t))NEXT(name)->function)(block, a, b);     \
			return;                                                                    \
		}                                                                                  \
		if (rt_unlikely(!rt_real.cxx_is_plain)) {                                          \
			const struct next *next = NEXT(name);                                      \
			bool is_recorded = block && next->foreign;                                 \
			if (is_recorded) {                                                         \
				RECORDED_FREE(block, kind);                                        \
				rt_event_ending(block);                                            \
			}                                                                          \
			((void (*)(void *, size_t, size_t))next->function)(block, a, b);           \
			if (is_recorded)                                                           \
				rt_event_ended();                                                  \
			return;                                                                    \
		}                                                                                  \
		if (block && !rt_passes_free(block))                                               \
			RECORDED_FREE(block, kind);                                                \
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
