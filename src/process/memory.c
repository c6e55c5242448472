/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096u
#define ENTRIES 512u

struct error *process_memory_open(
	pid_t pid, const struct process_maps *maps, struct process_memory *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	*ret = (struct process_memory){open(path, O_RDONLY | O_CLOEXEC), -1, maps};
	if (ret->memory < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't read the memory of process %d (%s); run as root or its user, look "
			"at "
			"/proc/sys/kernel/yama/ptrace_scope",
			(int)pid, path);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	if (maps)
		ret->pages = open(path, O_RDONLY | O_CLOEXEC);
	return NULL;
}

void process_memory_close(struct process_memory *memory)
{
	if (memory->memory >= 0)
		close(memory->memory);
	if (memory->pages >= 0)
		close(memory->pages);
	*memory = (struct process_memory){-1, -1, NULL};
}

size_t process_memory_read(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes)
{
	size_t got = 0;
	while (got < bytes) {
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

size_t process_memory_untouched(const struct process_memory *memory, uint64_t address, size_t bytes)
{
	const struct process_map *map =
		memory->pages < 0 ? NULL : process_maps_find(memory->maps, address);
	if (!map || map->shared)
		return 0;
	uint64_t end = address + bytes < map->end ? address + bytes : map->end, at = address;
	while (at < end) {
		uint64_t entries[ENTRIES];
		ssize_t n = pread(memory->pages, entries, sizeof(entries),
			(off_t)(at / PAGE_BYTES * sizeof(entries[0])));
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n / 8 && at < end; i++) {
			if (entries[i]) /* present, swapped, or of a file (admin-guide/mm/pagemap)
					 */
				return (size_t)(at - address);
			at = (at / PAGE_BYTES + 1) * PAGE_BYTES;
		}
	}
	return (size_t)((at < end ? at : end) - address);
}
