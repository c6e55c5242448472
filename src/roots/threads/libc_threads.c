/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "roots/libc_threads.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * glibc's struct pthread (nptl/descr.h; sysdeps/x86_64/nptl/tls.h: tcbhead_t) begins with a pointer
 * to itself, the thread's table, and itself again; its link in a list, and its id, which the kernel
 * makes 0 when the thread ends and pthread_join -1. Further on stand, one after another, the
 * stack's start, its size, and that of its guard; and, if it is detached, itself.
 */
#define WORDS 256u
#define WORD_LINK 88u /* next, previous */
#define WORD_ID 90u
#define LINK_OFFSET (8ul * WORD_LINK)
/* So much of a stack is after the descriptor's start: the rest of that, aligned to a page if
 * thread-local memory is. */
#define AFTER_LEAST 0x700u
#define AFTER_MOST 0x3000u
/* More links than a kernel has thread ids (PID_MAX_LIMIT): the list is none, or changes. */
#define LINKS_MAX (4u << 20)
#define PORTION (64u << 10)
/* Data of a static program in which lists are looked for. */
#define STATIC_DATA_MAX (64ull << 20)
/*
 * musl's struct pthread (src/internal/pthread_impl.h) begins with a pointer to itself, its table,
 * and the threads before and after it in a ring; soon are the start of what libc has
 * mapped for it (0: the stack is the program's) and its size, the end and size of its stack, and
 * the guard's.
 */
enum { MUSL_SELF, MUSL_TABLE, MUSL_BEFORE, MUSL_AFTER };
enum { MUSL_MAP, MUSL_MAP_BYTES, MUSL_STACK_END, MUSL_STACK_BYTES, MUSL_STACK_WORDS };
#define MUSL_WORDS 32u
/* Of a stack of the program's, the descriptor and thread-local memory come soon after its end. */
#define MUSL_AFTER_MOST (64u << 10)

static bool read_descriptor(const struct address_space *space, uint64_t at, uint64_t *ret)
{
	return at && at % 16 == 0 &&
	       address_space_read(space, at, ret, 8ul * WORDS) == 8ul * WORDS && ret[0] == at &&
	       ret[2] == at;
}

/* Whether all of it is mapped: inaccessible guards, too. A core may not have those. */
static bool is_mapped(const struct address_space *space, uint64_t start, uint64_t end)
{
	const struct process_maps *maps = &space->maps;
	size_t i = process_maps_first(maps, start);
	if (!space->is_live)
		return i < maps->maps.len && maps->maps.data[i].start < end;
	for (uint64_t at = start; at < end; at = maps->maps.data[i++].end)
		if (i == maps->maps.len || maps->maps.data[i].start > at)
			return false;
	return true;
}

/* Finds where a descriptor says that its stack is. A small number beside a pointer, as libc keeps
 * with the values of keys (pthread_setspecific(3)), may say so too: of memory from near 0 on. */
static void find_stack(
	const struct address_space *space, const uint64_t *words, struct libc_thread *ret)
{
	for (size_t i = WORD_ID + 1; i + 2 < WORDS; i++) {
		uint64_t start = words[i], bytes = words[i + 1], end = start + bytes;
		if (start && start < ret->descriptor && end > ret->descriptor &&
			end - ret->descriptor >= AFTER_LEAST &&
			end - ret->descriptor <= AFTER_MOST && words[i + 2] < bytes &&
			is_mapped(space, start, end)) {
			ret->start = start;
			ret->end = end;
			return;
		}
	}
}

static struct libc_thread read_glibc_thread(
	const struct address_space *space, const uint64_t *words, uint64_t descriptor)
{
	struct libc_thread ret = {.descriptor = descriptor, .start = descriptor, .end = descriptor};
	int32_t id = (int32_t)words[WORD_ID];
	bool detached = false;
	for (size_t i = 3; i < WORDS; i++)
		detached |= words[i] == descriptor;
	ret.has_ended = id <= 0;
	ret.result_kept = id == 0 && !detached;
	find_stack(space, words, &ret);
	return ret;
}

struct libc_thread libc_thread_at(const struct address_space *space, uint64_t descriptor)
{
	uint64_t words[WORDS];
	if (space->machine != EM_X86_64 || !read_descriptor(space, descriptor, words))
		return (struct libc_thread){.descriptor = 0};
	return read_glibc_thread(space, words, descriptor);
}

/* Adds the threads of the list with its head there, if it is one. False: no memory. */
static bool follow_thread_list(const struct address_space *space, uint64_t head, uint64_t first,
	struct libc_thread_vec *ret)
{
	uint64_t words[WORDS], before = head, link = first;
	size_t known = ret->len;
	for (unsigned links = 0; link != head; links++) {
		if (links == LINKS_MAX || !read_descriptor(space, link - LINK_OFFSET, words) ||
			words[WORD_LINK + 1] != before) {
			ret->len = known;
			return true;
		}
		if (!libc_thread_vec_push(ret, read_glibc_thread(space, words, link - LINK_OFFSET)))
			return false;
		before = link;
		link = words[WORD_LINK];
	}
	return true;
}

/* Goes through memory that may have heads of lists: a word that leads into memory that can be
 * written to, beside one that does so too. */
static bool find_lists(const struct address_space *space, uint64_t start, uint64_t end,
	struct libc_thread_vec *ret)
{
	_cleanup_free_ uint64_t *words = malloc(PORTION + sizeof(uint64_t));
	bool ok = words;
	for (uint64_t at = start, next; ok && at < end; at = next) {
		uint64_t bytes = end - at < PORTION + 8 ? end - at : PORTION + 8;
		uint64_t empty = address_space_empty(space, at, end - at) & ~7ull;
		next = at + (empty ? empty : PORTION);
		if (empty)
			continue;
		size_t n = address_space_read(space, at, words, bytes) / 8;
		for (size_t i = 0; ok && i + 1 < n; i++) {
			uint64_t head = at + 8 * i;
			const struct process_map *map =
				words[i] % 16 || words[i + 1] % 16 || words[i] == head
					? NULL
					: address_space_map(space, words[i]);
			if (map && map->writable && words[i] - map->start >= LINK_OFFSET)
				ok = follow_thread_list(space, head, words[i], ret);
		}
	}
	return ok;
}

static bool has_lists(const struct process_map *map)
{
	const char *base = strrchr(map->path, '/');
	return base && (!strncmp(base, "/ld-", 4) || !strncmp(base, "/libpthread", 11) ||
			       process_map_is_libc(map));
}

/* What such a library has without a file follows its mappings. */
static bool find_in_libraries(const struct address_space *space, struct libc_thread_vec *ret)
{
	const struct process_map_vec *maps = &space->maps.maps;
	uint64_t data_end = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < maps->len; i++) {
		const struct process_map *map = &maps->data[i];
		bool follows = !map->inode && map->start == data_end;
		if (!map->writable || !map->readable || !(follows || has_lists(map)))
			continue;
		data_end = follows ? 0 : map->end;
		ok = find_lists(space, map->start, map->end, ret);
	}
	return ok;
}

static bool has_libc(const struct address_space *space)
{
	for (size_t i = 0; i < space->maps.maps.len; i++) {
		if (has_lists(&space->maps.maps.data[i]))
			return true;
	}
	return false;
}

/* A static program has the lists in its own data. */
static bool find_in_program(const struct address_space *space, struct libc_thread_vec *ret)
{
	uint64_t left = STATIC_DATA_MAX;
	bool ok = true;
	for (size_t i = 0; ok && i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		const struct address_module *module = address_space_module(space, map->start);
		uint64_t bytes = map->end - map->start;
		if (!module || !module->executable || !map->writable || bytes > left)
			continue;
		left -= bytes;
		ok = find_lists(space, map->start, map->end, ret);
	}
	return ok;
}

bool libc_thread_is_musl(const struct address_space *space, uint64_t descriptor)
{
	uint64_t words[4];
	return space->machine == EM_X86_64 &&
	       address_space_read(space, descriptor, words, sizeof(words)) == sizeof(words) &&
	       words[MUSL_SELF] == descriptor &&
	       (words[MUSL_BEFORE] != descriptor || words[MUSL_AFTER] == descriptor);
}

/* Whether words are what musl's descriptor says of its stack. */
static bool take_musl_stack(
	const struct address_space *space, const uint64_t *words, struct libc_thread *ret)
{
	uint64_t map = words[MUSL_MAP], map_bytes = words[MUSL_MAP_BYTES],
		 end = words[MUSL_STACK_END], bytes = words[MUSL_STACK_BYTES], at = ret->descriptor;
	if (!end || end % 8 || !bytes || bytes >= end || end > at)
		return false;
	if (map && map < end - bytes + 1 && map_bytes > at - map && at > map &&
		is_mapped(space, map, map + map_bytes)) {
		ret->start = map;
		ret->end = map + map_bytes;
		return true;
	}
	if (map || at - end > MUSL_AFTER_MOST || !is_mapped(space, end - bytes, end))
		return false;
	ret->start = end - bytes;
	ret->end = at + 1;
	return true;
}

/* The first thread's stack is the kernel's: its descriptor says nothing of it. */
static bool add_musl_threads(const struct address_space *space, struct libc_thread_vec *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < space->threads.len; i++) {
		uint64_t words[MUSL_WORDS], at = space->threads.data[i].thread_pointer;
		struct libc_thread thread = {.descriptor = at, .start = at, .end = at};
		if (!at || !libc_thread_is_musl(space, at) ||
			address_space_read(space, at, words, sizeof(words)) != sizeof(words))
			continue;
		for (size_t k = MUSL_AFTER + 1; k + MUSL_STACK_WORDS <= MUSL_WORDS; k++) {
			if (take_musl_stack(space, words + k, &thread))
				break;
		}
		ok = libc_thread_vec_push(ret, thread);
	}
	return ok;
}

static int by_descriptor(const void *left, const void *right)
{
	const struct libc_thread *a = left, *b = right;
	return (a->descriptor > b->descriptor) - (a->descriptor < b->descriptor);
}

bool libc_threads_find(const struct address_space *space, struct libc_threads *ret)
{
	struct libc_thread_vec *threads = &ret->threads;
	libc_thread_vec_init(threads);
	if (space->machine != EM_X86_64)
		return true;
	bool ok = has_libc(space) ? find_in_libraries(space, threads)
				  : find_in_program(space, threads);
	if (ok && !threads->len)
		ok = add_musl_threads(space, threads);
	if (ok && threads->len)
		qsort(threads->data, threads->len, sizeof(*threads->data), by_descriptor);
	return ok;
}

void libc_threads_deinit(struct libc_threads *threads)
{
	libc_thread_vec_deinit(&threads->threads);
}

const struct libc_thread *libc_threads_by_descriptor(
	const struct libc_threads *threads, uint64_t descriptor)
{
	const struct libc_thread key = {.descriptor = descriptor};
	const struct libc_thread_vec *all = &threads->threads;
	return all->len ? bsearch(&key, all->data, all->len, sizeof(key), by_descriptor) : NULL;
}

const struct libc_thread *libc_threads_by_stack(
	const struct libc_threads *threads, uint64_t address)
{
	/* Its descriptor is the next one, at the stack's end. */
	const struct libc_thread_vec *all = &threads->threads;
	size_t low = 0, high = all->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct libc_thread *found = low < all->len ? &all->data[low] : NULL;
	return found && address >= found->start ? found : NULL;
}
