/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function by which a block was allocated. Sources map what they read to this list, so that a
 * foreign profile does not depend on numbers of heapwise's file format.
 */
#ifndef MODEL_KIND_H
#define MODEL_KIND_H

enum alloc_kind {
	KIND_MALLOC,
	KIND_CALLOC,
	KIND_REALLOC, /* realloc and reallocarray */
	KIND_POSIX_MEMALIGN,
	KIND_ALIGNED_ALLOC,
	KIND_MEMALIGN,
	KIND_VALLOC,
	KIND_PVALLOC,
	KIND_NEW,
	KIND_NEW_ARRAY,
	KIND_NEW_NOTHROW,
	KIND_NEW_ARRAY_NOTHROW,
	KIND_NEW_ALIGNED,
	KIND_NEW_ARRAY_ALIGNED,
	KIND_NEW_ALIGNED_NOTHROW,
	KIND_NEW_ARRAY_ALIGNED_NOTHROW,
	/* Of mappings: these are no blocks of a heap. */
	KIND_MMAP,
	KIND_MREMAP,
	KIND_BRK,
	KIND_SBRK,
	KIND_THREAD_STACK,  /* by pthread_create */
	KIND_ALLOCATOR_MAP, /* by the library that has malloc, for blocks */
	/* Of CPython's allocator, by its domain: blocks like those above. */
	KIND_PYTHON_RAW,
	KIND_PYTHON_MEM,
	KIND_PYTHON_OBJ,
	KIND_UNKNOWN, /* the source does not say it */
	ALLOC_KINDS
};

/* Returns the function that a program calls: "malloc", "operator new[]"…; all forms of an operator
 * have the same name. */
const char *alloc_kind_name(enum alloc_kind kind);

#endif
