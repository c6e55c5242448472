/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address space that is searched: a process that is held, its snapshot, later a core. */
#ifndef SEARCH_MEMORY_H
#define SEARCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search_memory {
	void *context;
	/* Both may be called by two threads at a time.
	 *
	 * Reads from address on, at most `bytes`; returns how many that were: fewer where nothing
	 * is mapped. */
	size_t (*read)(void *context, uint64_t address, void *ret, size_t bytes);
	/* Or NULL. How many bytes from address on, at most `bytes`, were never touched and are
	 * zero; reading them would only cost time. */
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
