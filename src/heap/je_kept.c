/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads keep of free blocks of jemalloc's (tcache): a row of stacks in each thread's local
 * memory, one for each size. A stack grows down; of its other ends only the last 16 bits are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/je_malloc.h"

#define PAGE_BYTES 4096ull
/* So far below the thread pointer they are looked for. */
#define TLS_BYTES 0x8000u

/* cache_bin_t */
struct bin {
	uint64_t head;
	uint64_t requests;
	uint16_t low_water, full, empty, unused;
};
#define BIN_BYTES 24u
_Static_assert(sizeof(struct bin) == BIN_BYTES, "cache_bin_t");
/* So many in a row are no accident. */
#define BINS_MIN 12u

/* Of a stack: the bytes that it holds. False: there is none. */
static bool read_bin(
	const struct je_malloc *je, const uint8_t *at, struct bin *ret, uint16_t *bytes)
{
	uint64_t block;
	memcpy(ret, at, sizeof(*ret));
	*bytes = (uint16_t)(ret->empty - (uint16_t)ret->head);
	uint16_t room = (uint16_t)(ret->empty - ret->full);
	return ret->head && ret->head % 8 == 0 && *bytes % 8 == 0 && room && room % 8 == 0 &&
	       *bytes <= room && je_block_at(je, ret->head + *bytes - 8, &block);
}

static bool take_bin(struct je_malloc *je, const struct bin *bin, uint16_t bytes)
{
	uint64_t table, block;
	_cleanup_free_ uint64_t *stack = malloc(bytes + 8ul);
	if (!stack)
		return false;
	if (je_block_at(je, bin->head + bytes - 8, &table) && !heap_addresses_push(&je->own, table))
		return false;
	size_t count = address_space_read(je->space, bin->head, stack, bytes) / 8;
	for (size_t i = 0; i < count; i++) {
		if (je_block_at(je, stack[i], &block) && block == stack[i] &&
			!heap_addresses_push(&je->kept, block))
			return false;
	}
	return true;
}

/* Rows of stacks among `len` bytes. */
static bool take_rows(struct je_malloc *je, const uint8_t *bytes, size_t len)
{
	bool ok = true;
	for (size_t at = 0; at + BIN_BYTES <= len; at += 8) {
		size_t count = 0;
		struct bin bin;
		uint16_t held;
		while (at + (count + 1) * BIN_BYTES <= len &&
			read_bin(je, bytes + at + count * BIN_BYTES, &bin, &held))
			count++;
		if (count < BINS_MIN)
			continue;
		for (size_t i = 0; i < count && ok; i++) {
			read_bin(je, bytes + at + i * BIN_BYTES, &bin, &held);
			ok = take_bin(je, &bin, held);
		}
		at += count * BIN_BYTES - 8;
	}
	return ok;
}

/* The memory below a thread pointer, as far as it can be read. */
static bool take_thread(struct je_malloc *je, uint64_t pointer, uint8_t *bytes)
{
	uint64_t end = pointer & ~7ull, start = end;
	uint64_t lowest = end > TLS_BYTES ? end - TLS_BYTES : 0;
	while (start > lowest) {
		uint64_t from = (start - 1) & ~(PAGE_BYTES - 1);
		from = from > lowest ? from : lowest;
		size_t len = (size_t)(start - from);
		if (address_space_read(je->space, from, bytes + (from - lowest), len) != len)
			break;
		start = from;
	}
	return take_rows(je, bytes + (start - lowest), (size_t)(end - start));
}

struct error *je_kept_find(struct je_malloc *je)
{
	_cleanup_free_ uint8_t *bytes = malloc(TLS_BYTES);
	bool ok = bytes;
	for (size_t i = 0; i < je->space->threads.len && ok; i++)
		ok = take_thread(je, je->space->threads.data[i].thread_pointer, bytes);
	if (!ok)
		return error_no_memory();
	heap_addresses_sort(&je->kept);
	heap_addresses_sort(&je->own);
	return NULL;
}
