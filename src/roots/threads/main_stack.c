/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "roots/threads/main_stack.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Arguments and environment take a quarter of the stack's limit at most, 6 MiB (execve(2)). */
#define BOTTOM_BYTES_MAX (8ull << 20)
#define AUXV_TYPES 64u

bool main_stack_is(const struct address_space *space, const struct process_map *map)
{
	uint64_t name = space->auxv.name;
	if (!strncmp(map->path, "[stack", 6))
		return true;
	return !space->is_live && name >= map->start && name < map->end && map->writable &&
	       !map->inode;
}

/* The number of the first word of the auxiliary vector that has the program's path. */
static size_t find_auxv(const struct address_space *space, const uint64_t *words, size_t count)
{
	for (size_t i = count; i-- > 1;) {
		if (words[i] != space->auxv.name || words[i - 1] != AT_EXECFN)
			continue;
		size_t at = i - 1;
		while (at >= 2 && words[at - 2] && words[at - 2] < AUXV_TYPES)
			at -= 2;
		return at;
	}
	return 0;
}

/*
 * The kernel puts there (System V ABI, x86-64, 3.4.1): the number of arguments, these, 0, the
 * environment, 0, the auxiliary vector.
 */
static size_t find_bottom(const uint64_t *words, size_t auxv)
{
	size_t at = auxv;
	if (at < 2 || words[at - 1])
		return 0;
	for (at -= 2; at && words[at]; at--)
		;
	for (size_t arguments = 0; at; arguments++) {
		if (words[--at] == arguments)
			return at;
	}
	return 0;
}

uint64_t main_stack_bottom(const struct address_space *space, const struct process_map *map)
{
	uint64_t bytes = map->end - map->start;
	bytes = bytes < BOTTOM_BYTES_MAX ? bytes : BOTTOM_BYTES_MAX;
	uint64_t start = map->end - bytes;
	_cleanup_free_ uint64_t *words = space->auxv.name ? malloc(bytes) : NULL;
	if (!words || address_space_read(space, start, words, bytes) != bytes)
		return 0;
	size_t auxv = find_auxv(space, words, bytes / 8);
	size_t at = auxv ? find_bottom(words, auxv) : 0;
	return at ? start + 8 * at : 0;
}
