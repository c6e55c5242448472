/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/leaks/leak_heaps.h"

/*
 * glibc's struct pthread (nptl/descr.h; sysdeps/x86_64/nptl/tls.h: tcbhead_t) begins with a pointer
 * to itself, the thread's table, and itself again; its link in a list, and its id, which the kernel
 * makes 0 when the thread ends and pthread_join -1. Further on stand, one behind the other, the
 * stack's start, its size, and that of its guard; and, if nobody may ask for the result, itself.
 */
#define WORDS 256u
#define WORD_LINK 88u /* next, previous */
#define WORD_ID 90u
#define LINK_OFFSET (8ul * WORD_LINK)
/* So much of a stack is behind the descriptor's start: the rest of that, aligned to a page if
 * thread-local memory is. */
#define BEHIND_LEAST 0x700u
#define BEHIND_MOST 0x3000u
/* More links than a kernel has thread ids (PID_MAX_LIMIT): the list is none, or changes. */
#define LINKS_MAX (4u << 20)
#define PORTION (64u << 10)

static bool read_descriptor(const struct leak_place *place, uint64_t at, uint64_t *ret)
{
	return at && at % 16 == 0 &&
	       process_memory_read(place->memory, at, ret, 8ul * WORDS) == 8ul * WORDS &&
	       ret[0] == at && ret[2] == at;
}

/* Whether all of it is mapped: guards, which nobody may touch, too. */
static bool is_mapped(const struct process_maps *maps, uint64_t start, uint64_t end)
{
	size_t i = process_maps_first(maps, start);
	for (uint64_t at = start; at < end; at = maps->maps.data[i++].end)
		if (i == maps->maps.len || maps->maps.data[i].start > at)
			return false;
	return true;
}

/* Where a descriptor says that its stack is. A small number beside a pointer, as libc keeps with
 * the values of keys (pthread_setspecific(3)), may say so too: of memory from near 0 on. */
static void find_stack(
	const struct process_maps *maps, const uint64_t *words, struct leak_thread *ret)
{
	for (size_t i = WORD_ID + 1; i + 2 < WORDS; i++) {
		uint64_t start = words[i], bytes = words[i + 1], end = start + bytes;
		if (start && start < ret->descriptor && end > ret->descriptor &&
			end - ret->descriptor >= BEHIND_LEAST &&
			end - ret->descriptor <= BEHIND_MOST && words[i + 2] < bytes &&
			is_mapped(maps, start, end)) {
			ret->start = start;
			ret->end = end;
			return;
		}
	}
}

static struct leak_thread thread_of(
	const struct process_maps *maps, const uint64_t *words, uint64_t descriptor)
{
	struct leak_thread ret = {.descriptor = descriptor, .start = descriptor, .end = descriptor};
	int32_t id = (int32_t)words[WORD_ID];
	bool detached = false;
	for (size_t i = 3; i < WORDS; i++)
		detached |= words[i] == descriptor;
	ret.has_ended = id <= 0;
	ret.result_kept = id == 0 && !detached;
	find_stack(maps, words, &ret);
	return ret;
}

struct leak_thread leak_thread_at(const struct leak_place *place, uint64_t descriptor)
{
	uint64_t words[WORDS];
	if (!read_descriptor(place, descriptor, words))
		return (struct leak_thread){.descriptor = 0};
	return thread_of(&place->hold->maps, words, descriptor);
}

/* Adds the threads of the list with its head there, if it is one. False: no memory. */
static bool follow_list(
	const struct leak_place *place, uint64_t head, uint64_t first, struct leak_thread_vec *ret)
{
	uint64_t words[WORDS], before = head, link = first;
	size_t known = ret->len;
	for (unsigned links = 0; link != head; links++) {
		if (links == LINKS_MAX || !read_descriptor(place, link - LINK_OFFSET, words) ||
			words[WORD_LINK + 1] != before) {
			ret->len = known;
			return true;
		}
		if (!leak_thread_vec_push(
			    ret, thread_of(&place->hold->maps, words, link - LINK_OFFSET)))
			return false;
		before = link;
		link = words[WORD_LINK];
	}
	return true;
}

/* Goes through memory that may have heads of lists: a word that leads into memory that can be
 * written to, beside one that does so too. */
static bool find_lists(
	const struct leak_place *place, uint64_t start, uint64_t end, struct leak_thread_vec *ret)
{
	const struct process_maps *maps = &place->hold->maps;
	_cleanup_free_ uint64_t *words = malloc(PORTION + sizeof(uint64_t));
	bool ok = words;
	for (uint64_t at = start; ok && at < end; at += PORTION) {
		uint64_t bytes = end - at < PORTION + 8 ? end - at : PORTION + 8;
		size_t n = process_memory_read(place->memory, at, words, bytes) / 8;
		for (size_t i = 0; ok && i + 1 < n; i++) {
			uint64_t head = at + 8 * i;
			const struct process_map *map =
				words[i] % 16 || words[i + 1] % 16 || words[i] == head
					? NULL
					: process_maps_find(maps, words[i]);
			if (map && map->writable && words[i] - map->start >= LINK_OFFSET)
				ok = follow_list(place, head, words[i], ret);
		}
	}
	return ok;
}

static bool has_lists(const struct process_map *map)
{
	const char *base = strrchr(map->path, '/');
	return base && (!strncmp(base, "/ld-", 4) || !strncmp(base, "/libpthread", 11) ||
			       leak_map_is_libc(map));
}

static int by_descriptor(const void *left, const void *right)
{
	const struct leak_thread *a = left, *b = right;
	return (a->descriptor > b->descriptor) - (a->descriptor < b->descriptor);
}

bool leak_threads_find(const struct leak_place *place, struct leak_thread_vec *ret)
{
	const struct process_map_vec *maps = &place->hold->maps.maps;
	uint64_t data_end = 0;
	for (size_t i = 0; i < maps->len; i++) {
		const struct process_map *map = &maps->data[i];
		/* What such a library has without a file follows. */
		bool follows = !map->inode && map->start == data_end;
		if (!map->writable || !map->readable || !(follows || has_lists(map)))
			continue;
		data_end = follows ? 0 : map->end;
		if (!find_lists(place, map->start, map->end, ret))
			return false;
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_descriptor);
	return true;
}

const struct leak_thread *leak_threads_by_descriptor(
	const struct leak_thread_vec *threads, uint64_t descriptor)
{
	const struct leak_thread key = {.descriptor = descriptor};
	return threads->len ? bsearch(&key, threads->data, threads->len, sizeof(key), by_descriptor)
			    : NULL;
}

const struct leak_thread *leak_threads_by_stack(
	const struct leak_thread_vec *threads, uint64_t address)
{
	/* Its descriptor is the next one, at the stack's end. */
	size_t low = 0, high = threads->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (threads->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct leak_thread *found = low < threads->len ? &threads->data[low] : NULL;
	return found && address >= found->start ? found : NULL;
}
