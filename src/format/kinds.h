/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a block was asked for and given back: numbers shared by ring records and recordings. They are
 * stored, so a number never changes its meaning; new ones go at the end.
 */
#ifndef FORMAT_KINDS_H
#define FORMAT_KINDS_H

#include <assert.h>
#include <stdint.h>

enum hw_alloc_kind {
	HW_MALLOC = 0,
	HW_CALLOC = 1,
	HW_REALLOC = 2, /* realloc and reallocarray, of NULL as well as of a block */
	HW_POSIX_MEMALIGN = 3,
	HW_ALIGNED_ALLOC = 4,
	HW_MEMALIGN = 5,
	HW_VALLOC = 6,
	HW_PVALLOC = 7,
	HW_NEW = 8,
	HW_NEW_ARRAY = 9,
	HW_NEW_NOTHROW = 10,
	HW_NEW_ARRAY_NOTHROW = 11,
	HW_NEW_ALIGNED = 12,
	HW_NEW_ARRAY_ALIGNED = 13,
	HW_NEW_ALIGNED_NOTHROW = 14,
	HW_NEW_ARRAY_ALIGNED_NOTHROW = 15,
	/* Of CPython's allocator, by its domain (PyMem_SetAllocator): a block is one event, also if
	 * the interpreter got it from malloc. */
	HW_PYTHON_RAW = 16,
	HW_PYTHON_MEM = 17,
	HW_PYTHON_OBJ = 18,
	HW_ALLOC_KINDS = 19
};
/* Of sites of recordings only: it is not known how; any free suits it. */
#define HW_ALLOC_UNKNOWN 127u

enum hw_free_kind {
	HW_FREE = 0,              /* free, free_sized, free_aligned_sized, cfree */
	HW_FREE_REALLOC = 1,      /* the old block of a realloc; its new block follows */
	HW_DELETE = 2,            /* all forms of operator delete */
	HW_DELETE_ARRAY = 3,      /* all forms of operator delete[] */
	HW_FREE_REALLOC_ZERO = 4, /* realloc(p, 0) that frees */
	/* To CPython's allocator. Of a block that is not known it is no error: the interpreter may
	 * have got that before its allocator was hooked. In ring records only. */
	HW_FREE_PYTHON = 5,
	HW_FREE_PYTHON_REALLOC = 6, /* the old block; its new one follows */
	HW_FREE_KINDS = 7
};

/* By which function memory was mapped. */
enum hw_map_kind {
	HW_MAP_MMAP = 0,
	HW_MAP_MREMAP = 1, /* a mapping that was moved or has grown */
	HW_MAP_BRK = 2,
	HW_MAP_SBRK = 3,
	HW_MAP_THREAD = 4, /* the stack that pthread_create made, with what lies above and below */
	HW_MAP_KINDS = 5
};

enum hw_map_flag {
	HW_MAP_FILE = 1,     /* of a file */
	HW_MAP_SHARED = 2,   /* what is written there goes to the file, or to other processes */
	HW_MAP_RESERVED = 4, /* no access: only address space, so far */
	HW_MAP_FLAGS = 7
};

/* Why a program that a recorded process started, or went on as, is not recorded. */
enum hw_unrecorded {
	HW_UNRECORDED_NOT = 0,       /* it is, or nothing speaks against it */
	HW_UNRECORDED_STATIC = 1,    /* it has no loader that could load us */
	HW_UNRECORDED_SETUID = 2,    /* it starts with other rights: its loader ignores us */
	HW_UNRECORDED_CLASS = 3,     /* a 32-bit program */
	HW_UNRECORDED_MACHINE = 4,   /* for another kind of processor */
	HW_UNRECORDED_SANITIZER = 5, /* a sanitizer is in our place */
	HW_UNRECORDED_MUSL = 6,
	HW_UNRECORDED_UNWANTED = 7, /* --children leaves it out */
	HW_UNRECORDED_MANY = 8,     /* more processes at a time than the collector takes */
	HW_UNRECORDED_FAILED = 9,   /* its recording could not be begun */
	HW_UNRECORDED_LATE =
		10, /* it did not wait for the collector's answer as long as that took */
	HW_UNRECORDED_REASONS = 11
};

/* Both kinds that realloc makes: as good as free(), but never the end of a temporary block. */
static inline int hw_free_is_realloc(int kind)
{
	return kind == HW_FREE_REALLOC || kind == HW_FREE_REALLOC_ZERO ||
	       kind == HW_FREE_PYTHON_REALLOC;
}

static inline int hw_free_is_python(int kind)
{
	return kind == HW_FREE_PYTHON || kind == HW_FREE_PYTHON_REALLOC;
}

static inline int hw_alloc_is_python(unsigned kind)
{
	return kind - HW_PYTHON_RAW <= (unsigned)HW_PYTHON_OBJ - HW_PYTHON_RAW;
}

/* The free kind that matches an allocation kind; anything else is a mismatch worth reporting. */
static inline enum hw_free_kind hw_matching_free(enum hw_alloc_kind kind)
{
	if (kind < HW_NEW || kind >= HW_ALLOC_KINDS)
		return HW_FREE;
	if (kind >= HW_PYTHON_RAW)
		return HW_FREE_PYTHON;
	return (kind & 1) ? HW_DELETE_ARRAY : HW_DELETE;
}

static_assert((HW_NEW & 1) == 0 && (HW_NEW_ARRAY & 1) == 1, "array forms are the odd ones");
static_assert(HW_PYTHON_OBJ + 1 == HW_ALLOC_KINDS, "kinds are dense");

#endif
