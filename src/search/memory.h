/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address space that is searched: a paused process, its snapshot, or a core. */
#ifndef SEARCH_MEMORY_H
#define SEARCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search_memory {
	void *context;
	/* Both functions may be called by two threads at a time.
	 *
	 * Reads up to `bytes` bytes at `address`. Returns how many were read: fewer if the memory
	 * after them is not mapped. */
	size_t (*read)(void *context, uint64_t address, void *ret, size_t bytes);
	/* Returns how many bytes from `address` on, at most `bytes`, were never touched and are
	 * zero, so that reading them is a waste of time. NULL: not known. */
	size_t (*untouched)(void *context, uint64_t address, size_t bytes);
};

/* What a word must point into to be believed to be code or read-only data, for vtables. */
enum search_map_kind {
	SEARCH_MAP_OTHER = 0,
	SEARCH_MAP_FILE = 1,      /* readable, of a file */
	SEARCH_MAP_FILE_CODE = 2, /* executable, of a file */
};
struct search_map {
	uint64_t start, end;
	enum search_map_kind kind;
};

#endif
