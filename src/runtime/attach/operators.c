/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: an attached process calls an operator new or delete of C++ through a slot that leads
 * here. May touch: see state.h.
 *
 * As preload/operators.c: the C++ library's operators are malloc and free with other names, so the
 * hooks call those, and the library's own only where memory is out: new_handler and bad_alloc are
 * its business. An allocator's are called as they are, first in the form that throws nothing. What
 * throws is jumped to, so that no frame of the image is on the stack.
 */
#include "runtime/attach/events.h"

static inline bool is_plain(void)
{
	return hw_attach.operators == HW_ATTACH_OPERATORS_PLAIN;
}

/* A std::nothrow_t is only a type. */
static const char quiet_tag;

/* aligned_alloc wants a multiple of the alignment; the C++ library rounds up in the same way. */
static void *aligned_block(size_t size, size_t alignment)
{
	size_t rounded = ((size ? size : 1) + alignment - 1) & ~(alignment - 1);
	if (!alignment || alignment & (alignment - 1) || rounded < size ||
		!hw_attach.real[HW_ATTACH_ALIGNED_ALLOC])
		return NULL;
	return AT_REAL(HW_ATTACH_ALIGNED_ALLOC, at_aligned_alloc_function *)(alignment, rounded);
}

static void *plain_block(size_t size)
{
	return AT_REAL(HW_ATTACH_MALLOC, at_malloc_function *)(size ? size : 1);
}

typedef void *new_function(size_t size);
typedef void *new_quiet_function(size_t size, const void *tag);
typedef void *new_aligned_function(size_t size, size_t alignment);
typedef void *new_aligned_quiet_function(size_t size, size_t alignment, const void *tag);
typedef void delete_function(void *block, size_t a, size_t b);

#define DEFINE_NEW(name, own, quiet, kind)                                                         \
	AT_HOOK void *at_hook_##name(size_t size);                                                 \
	AT_HOOK void *at_hook_##name(size_t size)                                                  \
	{                                                                                          \
		void *block = is_plain() ? plain_block(size)                                       \
			      : hw_attach.real[quiet]                                              \
				      ? AT_REAL(quiet, new_quiet_function *)(size, &quiet_tag)     \
				      : NULL;                                                      \
		if (rt_likely(block))                                                              \
			return AT_RECORDED(block, size, kind);                                     \
		return AT_REAL(own, new_function *)(size);                                         \
	}

#define DEFINE_NEW_QUIET(name, own, kind)                                                          \
	AT_HOOK void *at_hook_##name(size_t size, const void *tag);                                \
	AT_HOOK void *at_hook_##name(size_t size, const void *tag)                                 \
	{                                                                                          \
		void *block = is_plain() ? plain_block(size)                                       \
					 : AT_REAL(own, new_quiet_function *)(size, tag);          \
		if (rt_likely(block) || !is_plain())                                               \
			return AT_RECORDED(block, size, kind);                                     \
		return AT_REAL(own, new_quiet_function *)(size, tag);                              \
	}

#define DEFINE_NEW_ALIGNED(name, own, quiet, kind)                                                 \
	AT_HOOK void *at_hook_##name(size_t size, size_t alignment);                               \
	AT_HOOK void *at_hook_##name(size_t size, size_t alignment)                                \
	{                                                                                          \
		void *block = is_plain() ? aligned_block(size, alignment)                          \
			      : hw_attach.real[quiet]                                              \
				      ? AT_REAL(quiet, new_aligned_quiet_function *)(              \
						size, alignment, &quiet_tag)                       \
				      : NULL;                                                      \
		if (rt_likely(block))                                                              \
			return AT_RECORDED(block, size, kind);                                     \
		return AT_REAL(own, new_aligned_function *)(size, alignment);                      \
	}

#define DEFINE_NEW_ALIGNED_QUIET(name, own, kind)                                                  \
	AT_HOOK void *at_hook_##name(size_t size, size_t alignment, const void *tag);              \
	AT_HOOK void *at_hook_##name(size_t size, size_t alignment, const void *tag)               \
	{                                                                                          \
		void *block = is_plain() ? aligned_block(size, alignment)                          \
					 : AT_REAL(own, new_aligned_quiet_function *)(             \
						   size, alignment, tag);                          \
		if (rt_likely(block) || !is_plain())                                               \
			return AT_RECORDED(block, size, kind);                                     \
		return AT_REAL(own, new_aligned_quiet_function *)(size, alignment, tag);           \
	}

/* Whatever other arguments a form has, the C++ library's own ends in free(block). */
#define DEFINE_DELETE(name, own, kind)                                                             \
	AT_HOOK void at_hook_##name(void *block, size_t a, size_t b);                              \
	AT_HOOK void at_hook_##name(void *block, size_t a, size_t b)                               \
	{                                                                                          \
		AT_RECORDED_FREE(block, kind);                                                     \
		if (is_plain())                                                                    \
			AT_REAL(HW_ATTACH_FREE, at_free_function *)(block);                        \
		else                                                                               \
			AT_REAL(own, delete_function *)(block, a, b);                              \
	}

DEFINE_NEW(new, HW_ATTACH_NEW, HW_ATTACH_NEW_NOTHROW, HW_NEW)
DEFINE_NEW(new_array, HW_ATTACH_NEW_ARRAY, HW_ATTACH_NEW_ARRAY_NOTHROW, HW_NEW_ARRAY)
DEFINE_NEW_QUIET(new_nothrow, HW_ATTACH_NEW_NOTHROW, HW_NEW_NOTHROW)
DEFINE_NEW_QUIET(new_array_nothrow, HW_ATTACH_NEW_ARRAY_NOTHROW, HW_NEW_ARRAY_NOTHROW)
DEFINE_NEW_ALIGNED(
	new_aligned, HW_ATTACH_NEW_ALIGNED, HW_ATTACH_NEW_ALIGNED_NOTHROW, HW_NEW_ALIGNED)
DEFINE_NEW_ALIGNED(new_array_aligned, HW_ATTACH_NEW_ARRAY_ALIGNED,
	HW_ATTACH_NEW_ARRAY_ALIGNED_NOTHROW, HW_NEW_ARRAY_ALIGNED)
DEFINE_NEW_ALIGNED_QUIET(new_aligned_nothrow, HW_ATTACH_NEW_ALIGNED_NOTHROW, HW_NEW_ALIGNED_NOTHROW)
DEFINE_NEW_ALIGNED_QUIET(new_array_aligned_nothrow, HW_ATTACH_NEW_ARRAY_ALIGNED_NOTHROW,
	HW_NEW_ARRAY_ALIGNED_NOTHROW)
DEFINE_DELETE(delete, HW_ATTACH_DELETE, HW_DELETE)
DEFINE_DELETE(delete_array, HW_ATTACH_DELETE_ARRAY, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_sized, HW_ATTACH_DELETE_SIZED, HW_DELETE)
DEFINE_DELETE(delete_array_sized, HW_ATTACH_DELETE_ARRAY_SIZED, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_nothrow, HW_ATTACH_DELETE_NOTHROW, HW_DELETE)
DEFINE_DELETE(delete_array_nothrow, HW_ATTACH_DELETE_ARRAY_NOTHROW, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_aligned, HW_ATTACH_DELETE_ALIGNED, HW_DELETE)
DEFINE_DELETE(delete_array_aligned, HW_ATTACH_DELETE_ARRAY_ALIGNED, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_sized_aligned, HW_ATTACH_DELETE_SIZED_ALIGNED, HW_DELETE)
DEFINE_DELETE(delete_array_sized_aligned, HW_ATTACH_DELETE_ARRAY_SIZED_ALIGNED, HW_DELETE_ARRAY)
DEFINE_DELETE(delete_aligned_nothrow, HW_ATTACH_DELETE_ALIGNED_NOTHROW, HW_DELETE)
DEFINE_DELETE(delete_array_aligned_nothrow, HW_ATTACH_DELETE_ARRAY_ALIGNED_NOTHROW, HW_DELETE_ARRAY)
