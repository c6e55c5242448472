/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/kind.h"

#include <assert.h>
#include <stddef.h>

static const char *const names[] = {
	[KIND_MALLOC] = "malloc",
	[KIND_CALLOC] = "calloc",
	[KIND_REALLOC] = "realloc",
	[KIND_POSIX_MEMALIGN] = "posix_memalign",
	[KIND_ALIGNED_ALLOC] = "aligned_alloc",
	[KIND_MEMALIGN] = "memalign",
	[KIND_VALLOC] = "valloc",
	[KIND_PVALLOC] = "pvalloc",
	[KIND_NEW] = "operator new",
	[KIND_NEW_ARRAY] = "operator new[]",
	[KIND_NEW_NOTHROW] = "operator new",
	[KIND_NEW_ARRAY_NOTHROW] = "operator new[]",
	[KIND_NEW_ALIGNED] = "operator new",
	[KIND_NEW_ARRAY_ALIGNED] = "operator new[]",
	[KIND_NEW_ALIGNED_NOTHROW] = "operator new",
	[KIND_NEW_ARRAY_ALIGNED_NOTHROW] = "operator new[]",
	[KIND_PYTHON_RAW] = "Python raw memory",
	[KIND_PYTHON_MEM] = "Python memory",
	[KIND_PYTHON_OBJ] = "Python object",
	[KIND_MMAP] = "mmap",
	[KIND_MREMAP] = "mremap",
	[KIND_BRK] = "brk",
	[KIND_SBRK] = "sbrk",
	[KIND_THREAD_STACK] = "pthread_create",
	[KIND_ALLOCATOR_MAP] = "mmap for malloc",
	[KIND_UNKNOWN] = "unknown",
};
static_assert(sizeof(names) / sizeof(names[0]) == ALLOC_KINDS, "each kind has a name");

const char *alloc_kind_name(enum alloc_kind kind)
{
	assert((unsigned)kind < ALLOC_KINDS);
	return names[kind];
}
