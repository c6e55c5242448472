/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: a C++ program allocates or frees, any thread, any moment. May touch: blocks; the C++
 * library, when memory is out.
 *
 * All replaceable forms of operator new and delete (C++17, [new.delete]). Names are mangled
 * (Itanium C++ ABI 1.86, section 5.1): m is size_t, Pv void *, St11align_val_t and RKSt9nothrow_t
 * the alignment and nothrow arguments. Built with frame pointers, as entry.c.
 *
 * Without memory they do as the C++ library's do: ask the program's new_handler, again and again,
 * and if there is none throw bad_alloc, for which that library has a function. It may have been
 * loaded long after this one, and out of sight of the usual look-up.
 */
#include "runtime/guard/guard.h"

#include <dlfcn.h>

struct nothrow_tag; /* std::nothrow_t, only ever passed on */

extern void (*_ZSt15get_new_handlerv(void))(void) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak));

static void *find_in_library(const char *name)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	return library ? dlsym(library, name) : NULL;
}

/* The program's function for lack of memory; NULL: it has none. */
static void (*find_new_handler(void))(void)
{
	void (*(*get)(void))(void) = _ZSt15get_new_handlerv;
	if (!get)
		get = (void (*(*)(void))(void))find_in_library("_ZSt15get_new_handlerv");
	return get ? get() : NULL;
}

static void throw_bad_alloc(void)
{
	void (*throw_it)(void) = _ZSt17__throw_bad_allocv;
	if (!throw_it)
		throw_it = (void (*)(void))find_in_library("_ZSt17__throw_bad_allocv");
	if (throw_it)
		throw_it();
	__builtin_trap(); /* an operator was called, and no C++ library is loaded */
}

/* Tries again after each call of the handler, which may throw; NULL: there is none. */
static void *allocate_again(
	size_t size, size_t align, enum hw_alloc_kind kind, struct guard_caller caller)
{
	void *block = NULL;
	for (void (*handler)(void); !block && (handler = find_new_handler());) {
		handler();
		block = guard_allocate(size, align, kind, caller);
	}
	return block;
}

static inline void *new_or_throw(
	size_t size, size_t align, enum hw_alloc_kind kind, struct guard_caller caller)
{
	void *block = guard_allocate(size, align, kind, caller);
	if (rt_unlikely(!block))
		block = allocate_again(size, align, kind, caller);
	if (rt_unlikely(!block))
		throw_bad_alloc();
	return block;
}

/*
 * A handler that throws, while none may: the C++ library's form catches that. It calls the form
 * that throws, which is ours.
 */
static void *find_nothrow(const char *name)
{
	return find_new_handler() ? find_in_library(name) : NULL;
}

#define DEFINE_NEW(name, kind)                                                                     \
	GUARD_API void *name(size_t size);                                                         \
	GUARD_API void *name(size_t size)                                                          \
	{                                                                                          \
		return new_or_throw(size, 0, kind, GUARD_CALLER());                                \
	}

#define DEFINE_NEW_NOTHROW(name, kind)                                                             \
	GUARD_API void *name(size_t size, const struct nothrow_tag *tag);                          \
	GUARD_API void *name(size_t size, const struct nothrow_tag *tag)                           \
	{                                                                                          \
		void *block = guard_allocate(size, 0, kind, GUARD_CALLER());                       \
		void *again = rt_likely(block) ? NULL : find_nothrow(#name);                       \
		return again ? ((void *(*)(size_t, const struct nothrow_tag *))again)(size, tag)   \
			     : block;                                                              \
	}

#define DEFINE_NEW_ALIGNED(name, kind)                                                             \
	GUARD_API void *name(size_t size, size_t align);                                           \
	GUARD_API void *name(size_t size, size_t align)                                            \
	{                                                                                          \
		return new_or_throw(size, align, kind, GUARD_CALLER());                            \
	}

#define DEFINE_NEW_ALIGNED_NOTHROW(name, kind)                                                     \
	GUARD_API void *name(size_t size, size_t align, const struct nothrow_tag *tag);            \
	GUARD_API void *name(size_t size, size_t align, const struct nothrow_tag *tag)             \
	{                                                                                          \
		void *block = guard_allocate(size, align, kind, GUARD_CALLER());                   \
		void *again = rt_likely(block) ? NULL : find_nothrow(#name);                       \
		return again ? ((void *(*)(size_t, size_t, const struct nothrow_tag *))again)(     \
				       size, align, tag)                                           \
			     : block;                                                              \
	}

DEFINE_NEW(_Znwm, HW_NEW)
DEFINE_NEW(_Znam, HW_NEW_ARRAY)
DEFINE_NEW_NOTHROW(_ZnwmRKSt9nothrow_t, HW_NEW_NOTHROW)
DEFINE_NEW_NOTHROW(_ZnamRKSt9nothrow_t, HW_NEW_ARRAY_NOTHROW)
DEFINE_NEW_ALIGNED(_ZnwmSt11align_val_t, HW_NEW_ALIGNED)
DEFINE_NEW_ALIGNED(_ZnamSt11align_val_t, HW_NEW_ARRAY_ALIGNED)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, HW_NEW_ALIGNED_NOTHROW)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, HW_NEW_ARRAY_ALIGNED_NOTHROW)

#define DEFINE_DELETE(name, parameters, ...)                                                       \
	GUARD_API void name parameters;                                                            \
	GUARD_API void name parameters                                                             \
	{                                                                                          \
		guard_free(block, (struct guard_freeing){__VA_ARGS__}, GUARD_CALLER());            \
	}

#define SIZED .sized = true, .size = size
#define ALIGNED .aligned = true, .align = align

DEFINE_DELETE(_ZdlPv, (void *block), .kind = HW_DELETE)
DEFINE_DELETE(_ZdaPv, (void *block), .kind = HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvm, (void *block, size_t size), .kind = HW_DELETE, SIZED)
DEFINE_DELETE(_ZdaPvm, (void *block, size_t size), .kind = HW_DELETE_ARRAY, SIZED)
DEFINE_DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align), .kind = HW_DELETE, ALIGNED)
DEFINE_DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align), .kind = HW_DELETE_ARRAY, ALIGNED)
DEFINE_DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), .kind = HW_DELETE,
	SIZED, ALIGNED)
DEFINE_DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align),
	.kind = HW_DELETE_ARRAY, SIZED, ALIGNED)
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, (void *block), .kind = HW_DELETE)
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, (void *block), .kind = HW_DELETE_ARRAY)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align), .kind = HW_DELETE,
	ALIGNED)
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align),
	.kind = HW_DELETE_ARRAY, ALIGNED)
