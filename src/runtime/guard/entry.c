/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls an allocation function, any thread, any moment. May touch: blocks.
 *
 * malloc's family, with glibc's results and errors. Built with frame pointers, so that the caller's
 * registers can be read.
 */
#include "runtime/guard/blocks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

GUARD_API void *malloc(size_t size)
{
	return guard_allocate(size, 0, HW_MALLOC, GUARD_CALLER());
}

/* Reports a number of elements whose bytes are more than a size_t can say. */
static void *refuse_product(const char *text, enum hw_alloc_kind kind, size_t count, size_t size,
	struct guard_caller caller)
{
	struct hw_error_report report = {.access_bytes = size, .source = count, .alloc_kind = kind};
	if (guard_is_ready()) {
		guard_report_text(&report, text);
		guard_report(HW_ERROR_FISHY, &report, caller);
	}
	errno = ENOMEM;
	return NULL;
}

GUARD_API void *calloc(size_t count, size_t size)
{
	size_t bytes;
	struct guard_caller caller = GUARD_CALLER();
	if (__builtin_mul_overflow(count, size, &bytes))
		return refuse_product("calloc(size)", HW_CALLOC, count, size, caller);
	return guard_allocate(bytes, 0, HW_CALLOC, caller);
}

GUARD_API void *realloc(void *block, size_t size)
{
	return guard_reallocate(block, size, GUARD_CALLER());
}

GUARD_API void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;
	struct guard_caller caller = GUARD_CALLER();
	if (__builtin_mul_overflow(count, size, &bytes))
		return refuse_product("reallocarray(size)", HW_REALLOC, count, size, caller);
	return guard_reallocate(block, bytes, caller);
}

GUARD_API void free(void *block)
{
	guard_free(block, (struct guard_freeing){.kind = HW_FREE}, GUARD_CALLER());
}

GUARD_API void free_sized(void *block, size_t size)
{
	guard_free(block, (struct guard_freeing){.kind = HW_FREE, .sized = true, .size = size},
		GUARD_CALLER());
}

GUARD_API void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	guard_free(block,
		(struct guard_freeing){.kind = HW_FREE,
			.sized = true,
			.size = size,
			.aligned = true,
			.align = alignment},
		GUARD_CALLER());
}

static bool is_power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

static void report_alignment(
	size_t alignment, enum hw_alloc_kind kind, const char *text, struct guard_caller caller)
{
	struct hw_error_report report = {.access_bytes = alignment, .alloc_kind = kind};
	if (!guard_is_ready())
		return;
	guard_report_text(&report, text);
	guard_report(HW_ERROR_BAD_ALIGN, &report, caller);
}

GUARD_API int posix_memalign(void **ret, size_t alignment, size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	int saved = errno;
	if (!is_power_of_two(alignment) || alignment % sizeof(void *)) {
		report_alignment(alignment, HW_POSIX_MEMALIGN, "posix_memalign(alignment)", caller);
		return EINVAL;
	}
	void *block = guard_allocate(size, alignment, HW_POSIX_MEMALIGN, caller);
	errno = saved;
	if (!block)
		return ENOMEM;
	*ret = block;
	return 0;
}

/* As glibc's: an alignment that is no power of 2 is rounded up to the next. */
static void *allocate_aligned(size_t alignment, size_t size, enum hw_alloc_kind kind,
	const char *text, struct guard_caller caller)
{
	if (!is_power_of_two(alignment))
		report_alignment(alignment, kind, text, caller);
	if (alignment > SIZE_MAX / 2 + 1) {
		errno = EINVAL;
		return NULL;
	}
	size_t rounded = 1;
	while (rounded < alignment)
		rounded *= 2;
	return guard_allocate(size, rounded, kind, caller);
}

GUARD_API void *aligned_alloc(size_t alignment, size_t size)
{
	return allocate_aligned(
		alignment, size, HW_ALIGNED_ALLOC, "aligned_alloc(alignment)", GUARD_CALLER());
}

GUARD_API void *memalign(size_t alignment, size_t size)
{
	return allocate_aligned(
		alignment, size, HW_MEMALIGN, "memalign(alignment)", GUARD_CALLER());
}

GUARD_API void *valloc(size_t size)
{
	return guard_allocate(size, GUARD_PAGE, HW_VALLOC, GUARD_CALLER());
}

GUARD_API void *pvalloc(size_t size)
{
	struct guard_caller caller = GUARD_CALLER();
	size_t rounded = (size + GUARD_PAGE - 1) & ~(size_t)(GUARD_PAGE - 1);
	return guard_allocate(rounded < size ? size : rounded, GUARD_PAGE, HW_PVALLOC, caller);
}

GUARD_API size_t malloc_usable_size(void *block)
{
	return guard_usable_size(block);
}
