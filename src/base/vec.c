/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define VEC_FIRST 8u

/* What is looked into at random: the processor would wait for the tables of small pages. */
#define HUGE_FROM (8u << 20)
#define HUGE_PAGE (2ull << 20)

static void ask_for_huge_pages(void *data, size_t bytes)
{
	uintptr_t start = ((uintptr_t)data + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)data + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
	int before = errno;
	if (start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
	errno = before;
}

bool vec_grow(void **data, size_t *cap, size_t want, size_t element_bytes)
{
	size_t bytes, grown = *cap < VEC_FIRST / 2 ? VEC_FIRST : *cap * 2;
	if (grown < want)
		grown = want;
	if (__builtin_mul_overflow(grown, element_bytes, &bytes))
		return false;
	void *moved = realloc(*data, bytes);
	if (!moved)
		return false;
	if (bytes >= HUGE_FROM)
		ask_for_huge_pages(moved, bytes);
	*data = moved;
	*cap = grown;
	return true;
}
