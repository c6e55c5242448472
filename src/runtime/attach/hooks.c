/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: an attached process calls an allocation function through a slot that leads here, any
 * thread, any moment. May touch: see state.h.
 *
 * Each hook does what the real function does, with its result and its errno. No frame of the image
 * has unwind information, so no exception may pass through: only functions that throw none have
 * hooks.
 */
#include "runtime/attach/events.h"

typedef void *calloc_function(size_t count, size_t size);
typedef void *reallocarray_function(void *block, size_t count, size_t size);
typedef void free_sized_function(void *block, size_t size);
typedef void free_aligned_sized_function(void *block, size_t alignment, size_t size);
typedef int posix_memalign_function(void **ret, size_t alignment, size_t size);
typedef int dlclose_function(void *handle);
typedef int fork_function(void);
typedef void *dlopen_function(const char *path, int flags);
typedef void *dlmopen_function(long space, const char *path, int flags);
typedef void *dlsym_function(void *handle, const char *name);
typedef void *dlvsym_function(void *handle, const char *name, const char *version);
#define LOADS_NOTHING 4 /* RTLD_NOLOAD */

void *at_hook_malloc(size_t size);
void *at_hook_calloc(size_t count, size_t size);
void *at_hook_realloc(void *block, size_t size);
void *at_hook_reallocarray(void *block, size_t count, size_t size);
void at_hook_free(void *block);
int at_hook_posix_memalign(void **ret, size_t alignment, size_t size);
void *at_hook_aligned_alloc(size_t alignment, size_t size);
void *at_hook_memalign(size_t alignment, size_t size);
void *at_hook_valloc(size_t size);
void *at_hook_pvalloc(size_t size);
void at_hook_cfree(void *block);
void at_hook_free_sized(void *block, size_t size);
void at_hook_free_aligned_sized(void *block, size_t alignment, size_t size);
int at_hook_dlclose(void *handle);
int at_hook_fork(void);
void *at_hook_dlopen(const char *path, int flags);
void *at_hook_dlmopen(long space, const char *path, int flags);
void *at_hook_dlsym(void *handle, const char *name);
void *at_hook_dlvsym(void *handle, const char *name, const char *version);
int at_hook_fork_plain(void);

static size_t checked_product(size_t count, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* Whether a hook's caller, which returns to this address, is the process's own function that
 * another hook has called, or that hook: the call is no event of its own. */
static inline bool is_inner(const void *caller)
{
	uint64_t pc = (uint64_t)caller;
	if (rt_likely(!hw_attach.inner_count))
		return false;
	for (unsigned i = 0; i < HW_ATTACH_INNER_MAX; i++) {
		const struct hw_attach_range *range = &hw_attach.inner[i];
		if (pc - range->start < range->end - range->start)
			return true;
	}
	return false;
}

#define IS_INNER() is_inner(__builtin_return_address(0))

/*
 * What the usual call of a sampled recording does not need is apart, so that this has no frame and
 * ends in a jump. It is reached by a jump, too: its caller, as AT_CALLER() has it, is the hook's.
 */
#define APART static __attribute__((noinline))

APART void *record_malloc(size_t size)
{
	if (IS_INNER())
		return AT_REAL(HW_ATTACH_MALLOC, at_malloc_function *)(size);
	return at_record_alloc(AT_REAL(HW_ATTACH_MALLOC, at_malloc_function *)(size), size,
		HW_MALLOC, AT_CALLER());
}

AT_HOOK void *at_hook_malloc(size_t size)
{
	if (at_passes(size))
		return AT_REAL(HW_ATTACH_MALLOC, at_malloc_function *)(size);
	return record_malloc(size);
}

APART void *record_calloc(size_t count, size_t size)
{
	return at_record_alloc(AT_REAL(HW_ATTACH_CALLOC, calloc_function *)(count, size),
		checked_product(count, size), HW_CALLOC, AT_CALLER());
}

AT_HOOK void *at_hook_calloc(size_t count, size_t size)
{
	if (at_passes(checked_product(count, size)))
		return AT_REAL(HW_ATTACH_CALLOC, calloc_function *)(count, size);
	return record_calloc(count, size);
}

static void *record_resize(void *block, size_t size, struct at_caller caller)
{
	const struct at_resize how = {AT_REAL(HW_ATTACH_REALLOC, at_resize_function *), 0};
	return at_record_realloc(&how, block, size, caller);
}

APART void *record_realloc(void *block, size_t size)
{
	if (!block)
		return AT_RECORDED(AT_REAL(HW_ATTACH_REALLOC, at_realloc_function *)(NULL, size),
			size, HW_REALLOC);
	return record_resize(block, size, AT_CALLER());
}

AT_HOOK void *at_hook_realloc(void *block, size_t size)
{
	if (at_passes_free(block) && at_passes(size))
		return AT_REAL(HW_ATTACH_REALLOC, at_realloc_function *)(block, size);
	return record_realloc(block, size);
}

APART void *record_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes = checked_product(count, size);
	if (bytes == SIZE_MAX)
		return AT_RECORDED(AT_REAL(HW_ATTACH_REALLOCARRAY, reallocarray_function *)(
					   block, count, size),
			bytes, HW_REALLOC);
	if (!block)
		return AT_RECORDED(AT_REAL(HW_ATTACH_REALLOC, at_realloc_function *)(NULL, bytes),
			bytes, HW_REALLOC);
	return record_resize(block, bytes, AT_CALLER());
}

/* Not the real one: libc's calls realloc by its public name, which leads here. */
AT_HOOK void *at_hook_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes = checked_product(count, size);
	if (at_passes_free(block) && at_passes(bytes))
		return AT_REAL(HW_ATTACH_REALLOC, at_realloc_function *)(block, bytes);
	return record_reallocarray(block, count, size);
}

APART void record_free(void *block)
{
	if (block)
		at_record_free(block, HW_FREE, AT_CALLER());
	AT_REAL(HW_ATTACH_FREE, at_free_function *)(block);
}

AT_HOOK void at_hook_free(void *block)
{
	if (at_passes_free(block))
		AT_REAL(HW_ATTACH_FREE, at_free_function *)(block);
	else
		record_free(block);
}

AT_HOOK void at_hook_cfree(void *block)
{
	AT_RECORDED_FREE(block, HW_FREE);
	AT_REAL(HW_ATTACH_CFREE, at_free_function *)(block);
}

AT_HOOK void at_hook_free_sized(void *block, size_t size)
{
	AT_RECORDED_FREE(block, HW_FREE);
	AT_REAL(HW_ATTACH_FREE_SIZED, free_sized_function *)(block, size);
}

AT_HOOK void at_hook_free_aligned_sized(void *block, size_t alignment, size_t size)
{
	AT_RECORDED_FREE(block, HW_FREE);
	AT_REAL(HW_ATTACH_FREE_ALIGNED_SIZED, free_aligned_sized_function *)
	(block, alignment, size);
}

AT_HOOK int at_hook_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int error =
		AT_REAL(HW_ATTACH_POSIX_MEMALIGN, posix_memalign_function *)(ret, alignment, size);
	AT_RECORDED(error ? NULL : *ret, size, HW_POSIX_MEMALIGN);
	return error;
}

AT_HOOK void *at_hook_aligned_alloc(size_t alignment, size_t size)
{
	if (IS_INNER())
		return AT_REAL(HW_ATTACH_ALIGNED_ALLOC, at_aligned_alloc_function *)(
			alignment, size);
	return AT_RECORDED(
		AT_REAL(HW_ATTACH_ALIGNED_ALLOC, at_aligned_alloc_function *)(alignment, size),
		size, HW_ALIGNED_ALLOC);
}

AT_HOOK void *at_hook_memalign(size_t alignment, size_t size)
{
	if (IS_INNER())
		return AT_REAL(HW_ATTACH_MEMALIGN, at_aligned_alloc_function *)(alignment, size);
	return AT_RECORDED(
		AT_REAL(HW_ATTACH_MEMALIGN, at_aligned_alloc_function *)(alignment, size), size,
		HW_MEMALIGN);
}

AT_HOOK void *at_hook_valloc(size_t size)
{
	return AT_RECORDED(AT_REAL(HW_ATTACH_VALLOC, at_malloc_function *)(size), size, HW_VALLOC);
}

AT_HOOK void *at_hook_pvalloc(size_t size)
{
	return AT_RECORDED(
		AT_REAL(HW_ATTACH_PVALLOC, at_malloc_function *)(size), size, HW_PVALLOC);
}

AT_HOOK int at_hook_dlclose(void *handle)
{
	int result = AT_REAL(HW_ATTACH_DLCLOSE, dlclose_function *)(handle);
	at_review_modules(AT_CALLER().sp);
	return result;
}

/* Of a handler that has interrupted an event, to which its child returns, too. */
static int fork_in_event(struct at_own *own, fork_function *real)
{
	at_keep_for_child(own);
	int child = real();
	if (!child)
		at_become_child(own);
	return child;
}

int at_fork(fork_function *real)
{
	struct at_own *own = at_in_event();
	return rt_unlikely(own) ? fork_in_event(own, real) : real();
}

AT_HOOK int at_hook_fork(void)
{
	return at_fork(AT_REAL(HW_ATTACH_FORK, fork_function *));
}

AT_HOOK int at_hook_fork_plain(void)
{
	return at_fork(AT_REAL(HW_ATTACH_FORK_PLAIN, fork_function *));
}

/*
 * These look at who calls them (RUNPATH, the namespace, RTLD_NEXT), so they are jumped to, and
 * nothing can be done after them: what is to be done when a library has been loaded is done when a
 * function of it is looked up, before it can be called.
 */
AT_HOOK void *at_hook_dlopen(const char *path, int flags)
{
	if (path && !(flags & LOADS_NOTHING))
		at_library_comes();
	return AT_REAL(HW_ATTACH_DLOPEN, dlopen_function *)(path, flags);
}

AT_HOOK void *at_hook_dlmopen(long space, const char *path, int flags)
{
	if (path && !(flags & LOADS_NOTHING))
		at_library_comes();
	return AT_REAL(HW_ATTACH_DLMOPEN, dlmopen_function *)(space, path, flags);
}

AT_HOOK void *at_hook_dlsym(void *handle, const char *name)
{
	at_library_wait();
	return AT_REAL(HW_ATTACH_DLSYM, dlsym_function *)(handle, name);
}

AT_HOOK void *at_hook_dlvsym(void *handle, const char *name, const char *version)
{
	at_library_wait();
	return AT_REAL(HW_ATTACH_DLVSYM, dlvsym_function *)(handle, name, version);
}
