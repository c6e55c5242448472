/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

#define PAGE_BYTES 4096u
#define ENTRIES 512u
/* What pagemap says of a page (admin-guide/mm/pagemap). */
#define ENTRY_IS_PRESENT (1ull << 63)

static int open_pages(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct error *process_memory_open(
	pid_t pid, pid_t owner, const struct process_maps *maps, struct process_memory *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	*ret = (struct process_memory){open(path, O_RDONLY | O_CLOEXEC), -1, -1, maps, NULL, NULL};
	if (ret->memory < 0 && (errno == ESRCH || errno == ENOENT))
		return error_create(ERROR_INPUT,
			"process %d has no memory: it has ended, or executes another "
			"program just now",
			(int)pid);
	if (ret->memory < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't read the memory of process %d (%s); run as root or its user, look "
			"at "
			"/proc/sys/kernel/yama/ptrace_scope",
			(int)pid, path);
	if (maps) {
		ret->pages = open_pages(pid);
		ret->shared_pages = open_pages(owner);
	}
	return NULL;
}

void process_memory_close(struct process_memory *memory)
{
	if (memory->memory >= 0)
		close(memory->memory);
	if (memory->pages >= 0)
		close(memory->pages);
	if (memory->shared_pages >= 0)
		close(memory->shared_pages);
	*memory = (struct process_memory){-1, -1, -1, NULL, NULL, NULL};
}

static size_t read_plainly(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes)
{
	size_t got = 0;
	while (got < bytes && !(memory->stopped && *memory->stopped)) {
		ssize_t n = pread(
			memory->memory, (char *)ret + got, bytes - got, (off_t)(address + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

/* What pagemap says of the pages of [address, end), of as many as there is room for; how many. */
static size_t read_entries(
	int pages, uint64_t address, uint64_t entries[static ENTRIES], uint64_t end)
{
	uint64_t wanted = (end - 1) / PAGE_BYTES - address / PAGE_BYTES + 1;
	ssize_t n = pread(pages, entries,
		(size_t)(wanted < ENTRIES ? wanted : ENTRIES) * sizeof(entries[0]),
		(off_t)(address / PAGE_BYTES * sizeof(entries[0])));
	return n > 0 ? (size_t)n / sizeof(entries[0]) : 0;
}

static uint64_t next_page(uint64_t address)
{
	return (address / PAGE_BYTES + 1) * PAGE_BYTES;
}

/* Of shared memory: runs of pages that were touched, and of others. */
static size_t read_touched(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes)
{
	uint64_t entries[ENTRIES], at = address, end = address + bytes;
	while (at < end) {
		size_t count = read_entries(memory->shared_pages, at, entries, end), i = 0;
		if (!count)
			break;
		while (i < count && at < end) {
			bool touched = entries[i];
			uint64_t from = at;
			for (; i < count && at < end && !entries[i] == !touched; i++)
				at = next_page(at);
			at = at < end ? at : end;
			size_t run = (size_t)(at - from);
			char *into = (char *)ret + (from - address);
			if (!touched) {
				memset(into, 0, run);
				continue;
			}
			size_t got = read_plainly(memory, from, into, run);
			if (got < run)
				return (size_t)(from - address) + got;
		}
	}
	return (size_t)(at - address);
}

/* Whether a page that has this entry may be read without bringing it in, or is zeros. */
static bool is_readable(uint64_t entry, bool is_own)
{
	return entry & ENTRY_IS_PRESENT || (!entry && is_own);
}

/* Reads pages that are in memory; ends at the first of which nothing is known. */
static size_t read_gently(const struct process_memory *memory, const struct process_map *map,
	uint64_t address, void *ret, size_t bytes)
{
	uint64_t entries[ENTRIES], at = address, end = address + bytes;
	const bool is_own = !map->inode && !map->shared;
	while (at < end && memory->gently->reads_left) {
		size_t count = read_entries(memory->pages, at, entries, end), i = 0;
		memory->gently->reads_left--;
		while (i < count && at < end && is_readable(entries[i], is_own)) {
			bool is_zero = !entries[i];
			uint64_t from = at;
			for (; i < count && at < end && is_readable(entries[i], is_own) &&
				!entries[i] == is_zero;
				i++)
				at = next_page(at);
			at = at < end ? at : end;
			char *into = (char *)ret + (from - address);
			if (is_zero)
				memset(into, 0, (size_t)(at - from));
			else if (read_plainly(memory, from, into, (size_t)(at - from)) != at - from)
				return (size_t)(from - address);
		}
		if (!count || i < count)
			break;
	}
	memory->gently->ended |= !memory->gently->reads_left;
	return (size_t)((at < end ? at : end) - address);
}

size_t process_memory_read(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes)
{
	const struct process_map *map = memory->shared_pages < 0 && !memory->gently
						? NULL
						: process_maps_find(memory->maps, address);
	if (memory->gently) {
		uint64_t here = map ? min(map->end - address, (uint64_t)bytes) : 0;
		return here && memory->pages >= 0 ? read_gently(memory, map, address, ret, here)
						  : 0;
	}
	if (!map || !map->shared)
		return read_plainly(memory, address, ret, bytes);
	size_t here = map->end - address < bytes ? (size_t)(map->end - address) : bytes;
	return read_touched(memory, address, ret, here);
}

size_t process_memory_untouched(const struct process_memory *memory, uint64_t address, size_t bytes)
{
	const struct process_map *map =
		memory->pages < 0 ? NULL : process_maps_find(memory->maps, address);
	int pages = map && map->shared ? memory->shared_pages : memory->pages;
	/* Pages of a file that were never touched have what is in the file. */
	if (!map || pages < 0 || (map->inode && !map->shared))
		return 0;
	uint64_t end = address + bytes < map->end ? address + bytes : map->end, at = address;
	while (at < end) {
		uint64_t entries[ENTRIES];
		size_t count = read_entries(pages, at, entries, end);
		if (!count)
			break;
		for (size_t i = 0; i < count && at < end; i++) {
			if (entries[i]) /* present, swapped, or of a file (admin-guide/mm/pagemap)
					 */
				return (size_t)(at - address);
			at = next_page(at);
		}
	}
	return (size_t)((at < end ? at : end) - address);
}
