/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/maps/live_owners.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "process/memory.h"
#include "process/proc_info.h"

/* malloc/arena.c: HEAP_MAX_SIZE by default, and the sizes of heap_info (4 words before 2.35). */
#define ARENA_BYTES ((uint64_t)64 << 20)
#define ARENA_HEAD_OLD 0x20u
#define ARENA_HEAD 0x30u
#define PAGE_LEAST 4096u
#define PAGE_IS_PRESENT (1ull << 63) /* admin-guide/mm/pagemap */

/* malloc/malloc.c: the marks in a chunk's size. */
#define CHUNK_MARKS 7u
#define CHUNK_IS_MAPPED 2u
/* Less than its threshold; a mapping of one page looks like a chunk too easily. */
#define BLOCK_LEAST ((uint64_t)64 << 10)

/* nptl/descr.h on x86-64: a thread's descriptor lies within so much of its stack's end, points to
 * itself twice, and has its number. */
#define DESCRIPTOR_AREA 8192u
#define DESCRIPTOR_STEP 64u
#define DESCRIPTOR_SELF 16u
#define DESCRIPTOR_TID 0x2d0u

DEFINE_VEC(owner_tids, int)

struct owner_search {
	pid_t pid;
	struct process_memory memory;
	int pages; /* descriptor of /proc/PID/pagemap */
	struct memory_look *look;
	struct owner_tids tids; /* of all threads */
};

static const char *words_add(struct owner_search *search, const char *format, uint64_t number)
{
	char text[64];
	snprintf(text, sizeof(text), format, (unsigned long long)number);
	return arena_strdup(&search->look->words, text);
}

static bool owner_set(struct owner_search *search, struct look_mapping *mapping,
	enum look_owner owner, const char *format, uint64_t number)
{
	mapping->owner = owner;
	mapping->whose = words_add(search, format, number);
	return mapping->whose;
}

/* Reads memory whose pages are all there: to read others would bring them in, and back from swap.
 */
static bool memory_read(
	const struct owner_search *search, uint64_t address, void *ret, size_t bytes)
{
	for (uint64_t at = address & ~(uint64_t)(PAGE_LEAST - 1); at < address + bytes;
		at += PAGE_LEAST) {
		uint64_t entry;
		off_t place = (off_t)(at / PAGE_LEAST * sizeof(entry));
		if (pread(search->pages, &entry, sizeof(entry), place) != sizeof(entry) ||
			!(entry & PAGE_IS_PRESENT))
			return false;
	}
	return process_memory_read(&search->memory, address, ret, bytes) == bytes;
}

static bool is_arena(struct owner_search *search, const struct look_mapping *mapping, uint64_t *ret)
{
	uint64_t words[4];
	if (mapping->start % ARENA_BYTES || process_memory_read(&search->memory, mapping->start,
						    words, sizeof(words)) != sizeof(words))
		return false;
	uint64_t arena = words[0], before = words[1], bytes = words[2], opened = words[3];
	uint64_t head = arena % ARENA_BYTES;
	*ret = arena;
	return arena && (head == ARENA_HEAD_OLD || head == ARENA_HEAD) &&
	       before % ARENA_BYTES == 0 && (before == 0) == (arena - head == mapping->start) &&
	       bytes && bytes % PAGE_LEAST == 0 && bytes <= opened && opened <= ARENA_BYTES &&
	       opened % PAGE_LEAST == 0 && mapping->end - mapping->start >= bytes;
}

/* Whether chunks of their own mappings, which the kernel joins if they touch, fill a mapping. */
static bool is_block(struct owner_search *search, const struct look_mapping *mapping)
{
	uint64_t at = mapping->start, words[2], bytes;
	if (mapping->end - at < BLOCK_LEAST)
		return false;
	for (; at < mapping->end; at += bytes) {
		if (!memory_read(search, at, words, sizeof(words)))
			return false;
		bytes = words[1] & ~(uint64_t)CHUNK_MARKS;
		if (words[0] || (words[1] & CHUNK_MARKS) != CHUNK_IS_MAPPED || bytes < PAGE_LEAST ||
			bytes % PAGE_LEAST || bytes > mapping->end - at)
			return false;
	}
	return true;
}

#if defined(__x86_64__)
/* Finds a thread's descriptor at the end of a mapping; *ret_tid: 0 if the thread has ended. */
static bool descriptor_find(
	struct owner_search *search, const struct look_mapping *mapping, int *ret_tid)
{
	uint8_t bytes[DESCRIPTOR_AREA];
	uint64_t length = mapping->end - mapping->start;
	size_t wanted = length < sizeof(bytes) ? (size_t)length : sizeof(bytes);
	uint64_t from = mapping->end - wanted;
	if (!memory_read(search, from, bytes, wanted)) {
		/* The thread has used so little of its stack. */
		wanted = PAGE_LEAST;
		from = mapping->end - wanted;
		if (!memory_read(search, from, bytes, wanted))
			return false;
	}
	for (size_t at = 0; at + DESCRIPTOR_TID + 4 <= wanted; at += DESCRIPTOR_STEP) {
		uint64_t first, self;
		memcpy(&first, bytes + at, sizeof(first));
		memcpy(&self, bytes + at + DESCRIPTOR_SELF, sizeof(self));
		if (first != from + at || self != from + at)
			continue;
		memcpy(ret_tid, bytes + at + DESCRIPTOR_TID, sizeof(*ret_tid));
		return true;
	}
	return false;
}
#else
static bool descriptor_find(
	struct owner_search *search, const struct look_mapping *mapping, int *ret_tid)
{
	(void)search;
	(void)mapping;
	(void)ret_tid;
	return false;
}
#endif

static bool is_thread(const struct owner_search *search, int tid)
{
	for (size_t i = 0; i < search->tids.len; i++) {
		if (search->tids.data[i] == tid)
			return true;
	}
	return false;
}

/* A mapping behind one that may not be touched, as stacks have it. */
static bool is_guarded(const struct memory_look *look, size_t index)
{
	const struct look_mapping *mapping = &look->mappings.data[index];
	return index && mapping[-1].end == mapping->start && mapping[-1].owner == LOOK_RESERVED;
}

static bool mapping_own(struct owner_search *search, size_t index)
{
	struct look_mapping *mapping = &search->look->mappings.data[index];
	uint64_t arena;
	int tid;
	if (mapping->owner != LOOK_ANONYMOUS || memcmp(mapping->flags, "rw-p", 4) != 0)
		return true;
	if (is_arena(search, mapping, &arena))
		return owner_set(search, mapping, LOOK_HEAP, "arena at 0x%llx", arena);
	if (is_guarded(search->look, index) && descriptor_find(search, mapping, &tid))
		return is_thread(search, tid) ? owner_set(search, mapping, LOOK_THREAD_STACK,
							"thread %llu", (uint64_t)tid)
					      : owner_set(search, mapping, LOOK_THREAD_STACK,
							"a thread that has ended", 0);
	if (is_block(search, mapping))
		mapping->owner = LOOK_BLOCK;
	return true;
}

/* "35 0x7f… … 0x7ffe12345678 0x7f123456": the last two are the stack pointer and the instruction's.
 * *ret stays if the thread runs. */
static void stack_pointer_read(pid_t pid, int tid, uint64_t *ret)
{
	char name[64];
	char *text = NULL;
	size_t len;
	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	struct error *error = process_read(pid, name, 4096, &text, &len);
	if (!error) {
		char *last = strrchr(text, ' ');
		if (last)
			*last = 0;
		last = strrchr(text, ' ');
		if (last)
			*ret = strtoull(last + 1, NULL, 16);
	}
	error_destroy(error);
	free(text);
}

static bool tids_read(struct owner_search *search)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)search->pid);
	DIR *folder = opendir(path);
	bool ok = true;
	for (struct dirent *entry; folder && ok && (entry = readdir(folder));) {
		int tid = atoi(entry->d_name);
		ok = tid <= 0 || owner_tids_push(&search->tids, tid);
	}
	if (folder)
		closedir(folder);
	return ok;
}

/* Stacks that threads wait on, which need not be glibc's. */
static bool stacks_own(struct owner_search *search)
{
	for (size_t i = 0; i < search->tids.len; i++) {
		uint64_t pointer = 0;
		stack_pointer_read(search->pid, search->tids.data[i], &pointer);
		struct look_mapping *mapping = memory_look_find(search->look, pointer);
		if (mapping && mapping->owner == LOOK_ANONYMOUS &&
			!owner_set(search, mapping, LOOK_THREAD_STACK, "thread %llu",
				(uint64_t)search->tids.data[i]))
			return false;
	}
	return true;
}

struct error *live_owners_find(pid_t pid, struct memory_look *look, bool *ret_known)
{
	struct owner_search search = {.pid = pid, .look = look};
	struct error *error = process_memory_open(pid, pid, NULL, &search.memory);
	*ret_known = !error;
	if (error) {
		error_destroy(error);
		return NULL;
	}
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	search.pages = open(path, O_RDONLY | O_CLOEXEC);
	*ret_known = search.pages >= 0;
	bool ok = tids_read(&search);
	for (size_t i = 0; ok && i < look->mappings.len; i++)
		ok = mapping_own(&search, i);
	ok = ok && stacks_own(&search);
	if (search.pages >= 0)
		close(search.pages);
	process_memory_close(&search.memory);
	owner_tids_deinit(&search.tids);
	return ok ? NULL : error_no_memory();
}
