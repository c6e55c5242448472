/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of large arrays. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGES_HUGE_FROM (8u << 20)
#define PAGES_SMALL 4096u

/*
 * Asks for huge pages for memory from malloc(), realloc() or calloc() that was not yet written to,
 * if there is much of it: what is looked into at random waits for the tables of small pages
 * otherwise, and the kernel's work for each of them adds up. Leaves errno alone; whether it is
 * granted makes no difference but time.
 *
 * From end to end: realloc() can't move a mapping of which only a part is advised, and copies it.
 */
static inline void pages_ask_huge(void *data, size_t bytes)
{
	if (bytes < PAGES_HUGE_FROM)
		return;
	const uintptr_t inside = PAGES_SMALL - 1;
	uintptr_t start = (uintptr_t)data & ~inside;
	uintptr_t end = ((uintptr_t)data + bytes + inside) & ~inside;
	int before = errno;
	madvise((void *)start, end - start, MADV_HUGEPAGE);
	errno = before;
}

#endif
