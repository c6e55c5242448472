/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096u
#define ENTRIES 512u

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
	*ret = (struct process_memory){open(path, O_RDONLY | O_CLOEXEC), -1, -1, maps, NULL};
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
	*memory = (struct process_memory){-1, -1, -1, NULL, NULL};
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

/* What pagemap says of the pages from an address on, of as many as there is room for; how many. */
static size_t read_entries(int pages, uint64_t address, uint64_t entries[static ENTRIES])
{
	ssize_t n = pread(pages, entries, ENTRIES * sizeof(entries[0]),
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
		size_t count = read_entries(memory->shared_pages, at, entries), i = 0;
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

size_t process_memory_read(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes)
{
	const struct process_map *map =
		memory->shared_pages < 0 ? NULL : process_maps_find(memory->maps, address);
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
		size_t count = read_entries(pages, at, entries);
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
