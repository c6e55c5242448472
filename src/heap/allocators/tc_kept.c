/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads free blocks in tcmalloc's caches. All of them are in the data of the library, or is pointed
 * to from there, and is recognised by what nothing else has: sizes that go up from 8, lists by
 * number of their size, caches of threads with all sizes in them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "heap/allocators/tc_malloc.h"

#define SIZE_MAX_SMALL (256u << 10)
#define CLASSES_MIN 30u
#define CHAIN_MAX (1u << 26)

/* CentralFreeList: bytes of one; its size's number; blocks on their way, by chains. */
#define CENTRAL_BYTES TC_CENTRAL_BYTES
#define CENTRAL_CLASS 8u
#define CENTRAL_SLOTS 128u
#define CENTRAL_SLOT_COUNT 64u
#define CENTRAL_SLOTS_USED 1152u

/* ThreadCache: a list for each size, then a few words; two of them link the caches. */
#define LIST_BYTES TC_LIST_BYTES
#define LIST_LENGTH 8u
#define LIST_SIZE 24u
#define LISTS_BYTES ((size_t)LIST_BYTES * TC_CLASSES_MAX)
#define REST_BYTES 128u

/* So much of the data is in memory at once, with what is before a table of lists, and with as much
 * of what follows as the table takes. */
#define PORTION_BYTES (1u << 20)
#define BEFORE_BYTES ((size_t)CENTRAL_BYTES)
#define AFTER_BYTES ((size_t)CENTRAL_BYTES * TC_CLASSES_MAX)

static inline bool cache_same(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(cache_set, uint64_t, bool, hash_u64, cache_same)

struct data {
	struct tc_malloc *tc;
	uint64_t first, next, end; /* of all; what was not loaded so far */
	uint64_t start;            /* of the loaded part */
	uint8_t *bytes;
	size_t len, from, to; /* of it; what is looked at of it now */
	struct heap_addresses caches;
	struct cache_set known; /* they */
};

/* The writable memory of the module that has the root. */
static struct error *data_open(struct tc_malloc *tc, struct data *ret)
{
	const struct process_map *map = address_space_map(tc->space, tc->root);
	*ret = (struct data){.tc = tc};
	if (!map)
		return NULL;
	ret->first = ret->next = map->start;
	ret->end = map->end;
	ret->bytes = malloc(BEFORE_BYTES + PORTION_BYTES + AFTER_BYTES);
	return ret->bytes ? NULL : error_no_memory();
}

/* The next portion. False: there is none. */
static bool data_next(struct data *data)
{
	while (data->next < data->end) {
		uint64_t at = address_space_next(data->tc->space, data->next, data->end) & ~7ull;
		uint64_t left = data->end - at;
		size_t bytes = left < PORTION_BYTES + AFTER_BYTES ? (size_t)left
								  : PORTION_BYTES + AFTER_BYTES;
		bool has_before = at - data->first >= BEFORE_BYTES &&
				  address_space_read(data->tc->space, at - BEFORE_BYTES,
					  data->bytes, BEFORE_BYTES) == BEFORE_BYTES;
		data->from = has_before ? BEFORE_BYTES : 0;
		data->start = at - data->from;
		data->next = left < PORTION_BYTES ? data->end : at + PORTION_BYTES;
		if (address_space_untouched(data->tc->space, at, bytes) >= bytes)
			continue;
		data->len = address_space_read(
			data->tc->space, data->start, data->bytes, data->from + bytes);
		data->to = data->from + (size_t)(data->next - at);
		return true;
	}
	return false;
}

static void data_close(struct data *data)
{
	free(data->bytes);
	heap_addresses_deinit(&data->caches);
	cache_set_deinit(&data->known);
}

/* class_to_size_: 0, 8, 16, …, 256 KiB, and 0 up to its end. `width`: 4 bytes, once 8. */
static bool read_sizes(struct tc_malloc *tc, const uint8_t *at, unsigned width)
{
	uint32_t count = 1;
	memset(tc->sizes, 0, sizeof(tc->sizes));
	for (; count < TC_CLASSES_MAX; count++) {
		uint64_t size = 0;
		memcpy(&size, at + (size_t)count * width, width);
		if (size <= tc->sizes[count - 1] || size > SIZE_MAX_SMALL || size % 8)
			break;
		tc->sizes[count] = (uint32_t)size;
	}
	bool right = count >= CLASSES_MIN && tc->sizes[1] == 8 && tc->sizes[2] == 16 &&
		     tc->sizes[count - 1] == SIZE_MAX_SMALL;
	tc->classes = right ? count : 0;
	return right;
}

static bool find_sizes(const struct data *data, unsigned width)
{
	size_t room = (size_t)width * TC_CLASSES_MAX;
	bool found = false;
	for (size_t at = data->from; !found && at < data->to && at + room <= data->len;
		at += width) {
		uint64_t first[2] = {0, 0};
		memcpy(&first[0], data->bytes + at, width);
		memcpy(&first[1], data->bytes + at + width, width);
		found = !first[0] && first[1] == 8 && read_sizes(data->tc, data->bytes + at, width);
	}
	return found;
}

struct error *tc_sizes_find(struct tc_malloc *tc)
{
	struct error *error = NULL;
	bool found = false;
	for (unsigned width = 4; width <= 8 && !found && !error; width += 4) {
		struct data data;
		error = data_open(tc, &data);
		while (!error && !found && data_next(&data))
			found = find_sizes(&data, width);
		data_close(&data);
	}
	return error;
}

/* A list of free blocks, at most `most` of them, and in all no more than there are blocks. False:
 * no memory. */
static bool tc_kept_follow(struct tc_malloc *tc, uint64_t at, uint64_t most)
{
	for (uint64_t i = 0; at && i < most && tc->kept.len < tc->blocks && tc_block_span(tc, at);
		i++) {
		if (!heap_addresses_push(&tc->kept, at))
			return false;
		if (!address_space_word(tc->space, at, &at))
			break;
	}
	return true;
}

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, 8);
	return word;
}

/* Whether the central cache's lists, that of class 1 first, begin there. */
static bool is_central(const struct data *d, size_t at)
{
	for (uint32_t i = 1; i < d->tc->classes; i++, at += CENTRAL_BYTES) {
		if (at + CENTRAL_BYTES > d->len || word_at(d->bytes + at + CENTRAL_CLASS) != i)
			return false;
	}
	return true;
}

static bool take_central(struct data *d, size_t at)
{
	struct heap_range range = {d->start + at - CENTRAL_BYTES,
		d->start + at + (size_t)(d->tc->classes - 1) * CENTRAL_BYTES};
	bool ok = heap_ranges_push(&d->tc->metadata, range);
	d->tc->central = range.start;
	for (uint32_t i = 1; i < d->tc->classes; i++, at += CENTRAL_BYTES) {
		uint32_t used;
		memcpy(&used, d->bytes + at + CENTRAL_SLOTS_USED, sizeof(used));
		for (uint32_t k = 0; ok && k < used && k < CENTRAL_SLOT_COUNT; k++)
			ok = tc_kept_follow(d->tc,
				word_at(d->bytes + at + CENTRAL_SLOTS + 16ul * k), CHAIN_MAX);
	}
	return ok;
}

/* Whether a thread's cache is there; then its bytes are in `ret`. */
static bool is_cache(const struct tc_malloc *tc, uint64_t address, uint8_t *ret)
{
	const struct process_map *map =
		address % 8 || address < 4096 ? NULL : address_space_map(tc->space, address);
	if (!map || !address_map_is_anonymous(map) ||
		address_space_read(tc->space, address, ret, LISTS_BYTES + REST_BYTES) !=
			LISTS_BYTES + REST_BYTES)
		return false;
	for (uint32_t i = 1; i < tc->classes; i++) {
		uint32_t size;
		memcpy(&size, ret + (size_t)i * LIST_BYTES + LIST_SIZE, sizeof(size));
		if (size != tc->sizes[i])
			return false;
	}
	return true;
}

static bool tc_kept_is_known(const struct data *d, uint64_t cache)
{
	return d->known.len && cache_set_find(&d->known, cache);
}

static bool add_cache(struct data *d, uint64_t cache)
{
	return cache_set_insert(&d->known, cache, NULL) && heap_addresses_push(&d->caches, cache);
}

/* The cache at an address, if there is one, and those that it leads to. */
static bool take_cache(struct data *d, uint64_t address)
{
	uint8_t bytes[LISTS_BYTES + REST_BYTES];
	size_t next = d->caches.len;
	bool ok = true;
	if (tc_kept_is_known(d, address) || !is_cache(d->tc, address, bytes))
		return true;
	ok = add_cache(d, address);
	for (; ok && next < d->caches.len; next++) {
		if (!is_cache(d->tc, d->caches.data[next], bytes))
			continue;
		for (uint32_t i = 1; ok && i < d->tc->classes; i++) {
			const uint8_t *list = bytes + (size_t)i * LIST_BYTES;
			uint32_t length;
			memcpy(&length, list + LIST_LENGTH, sizeof(length));
			ok = tc_kept_follow(d->tc, word_at(list), length);
		}
		uint8_t other[LISTS_BYTES + REST_BYTES];
		for (size_t at = LISTS_BYTES; ok && at < sizeof(bytes); at += 8) {
			uint64_t word = word_at(bytes + at);
			if (!tc_kept_is_known(d, word) && is_cache(d->tc, word, other))
				ok = add_cache(d, word);
		}
	}
	return ok;
}

static bool take_portion(struct data *d, bool *has_central)
{
	bool ok = true;
	for (size_t at = d->from; ok && at < d->to && at + 8 <= d->len; at += 8) {
		uint64_t word = word_at(d->bytes + at);
		/* What points there comes first: the head of the list of caches. */
		if (word >= 4096 && !(word % 8))
			ok = take_cache(d, word);
		if (ok && !*has_central && at >= CENTRAL_BYTES && is_central(d, at)) {
			*has_central = true;
			ok = take_central(d, at);
		}
	}
	return ok;
}

struct error *tc_kept_find(struct tc_malloc *tc)
{
	struct data data;
	struct error *error = data_open(tc, &data);
	bool ok = true, has_central = false;
	while (!error && ok && data_next(&data))
		ok = take_portion(&data, &has_central);
	tc->caches = data.caches;
	data.caches = (struct heap_addresses){.data = NULL};
	data_close(&data);
	heap_addresses_sort(&tc->kept);
	return error || ok ? error : error_no_memory();
}
