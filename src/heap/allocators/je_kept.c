/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads free blocks in threads' caches of jemalloc (tcache): a row of stacks in each thread's local
 * memory, one for each size. A stack grows down; of its other ends only the last 16 bits are kept.
 *
 * Before 5.3 a stack has its length and its upper end, and those of large blocks are a row of their
 * own. All stacks of a thread are in one block, one after another.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/je_malloc.h"

#define PAGE_BYTES 4096ull
/* So far from the thread pointer they are looked for. */
#define TLS_BYTES 0x8000u

/* cache_bin_t */
struct bin {
	uint64_t head;
	uint64_t requests;
	uint16_t low_water, full, empty, unused;
};
struct counting_bin {
	int32_t low_water, count;
	uint64_t requests;
	uint64_t end;
};
#define BIN_BYTES 24u
_Static_assert(sizeof(struct bin) == BIN_BYTES, "cache_bin_t");
_Static_assert(sizeof(struct counting_bin) == BIN_BYTES, "cache_bin_t before 5.3");
/* This many in a row are no accident. */
#define BINS_MIN 12u
#define COUNT_MAX (1 << 13)

/* What is in a stack. */
struct stack {
	uint64_t address, table; /* the block that it is in */
	size_t bytes;
};

/* False: there is none. */
static bool read_bin(const struct je_malloc *je, const uint8_t *at, struct stack *ret)
{
	struct bin bin;
	memcpy(&bin, at, sizeof(bin));
	uint16_t bytes = (uint16_t)(bin.empty - (uint16_t)bin.head);
	uint16_t room = (uint16_t)(bin.empty - bin.full);
	*ret = (struct stack){.address = bin.head, .bytes = bytes};
	return bin.head && bin.head % 8 == 0 && bytes % 8 == 0 && room && room % 8 == 0 &&
	       bytes <= room && je_block_at(je, bin.head + bytes - 8, &ret->table);
}

static bool read_counting_bin(const struct je_malloc *je, const uint8_t *at, struct stack *ret)
{
	struct counting_bin bin;
	memcpy(&bin, at, sizeof(bin));
	if (bin.count < 0 || bin.count > COUNT_MAX || bin.low_water < -1 ||
		bin.low_water > bin.count || bin.end % 8 ||
		!je_block_at(je, bin.end - 8, &ret->table))
		return false;
	ret->bytes = 8ul * (size_t)bin.count;
	ret->address = bin.end - ret->bytes;
	return ret->address >= ret->table;
}

static bool read_any(const struct je_malloc *je, const uint8_t *at, struct stack *ret)
{
	return je->shape->counts ? read_counting_bin(je, at, ret) : read_bin(je, at, ret);
}

static bool take_stack(struct je_malloc *je, const struct stack *stack)
{
	uint64_t block;
	_cleanup_free_ uint64_t *words = malloc(stack->bytes + 8ul);
	if (!words || !heap_addresses_push(&je->own, stack->table))
		return false;
	size_t count = address_space_read(je->space, stack->address, words, stack->bytes) / 8;
	for (size_t i = 0; i < count; i++) {
		if (je_block_at(je, words[i], &block) && block == words[i] &&
			!heap_addresses_push(&je->kept, block))
			return false;
	}
	return true;
}

/* Rows of stacks among `len` bytes. */
static bool take_rows(struct je_malloc *je, const uint8_t *bytes, size_t len)
{
	uint64_t table = 0; /* of a row that was found, which shorter ones share */
	bool ok = true;
	for (size_t at = 0; at + BIN_BYTES <= len; at += 8) {
		size_t count = 0;
		struct stack stack = {0};
		while (at + (count + 1) * BIN_BYTES <= len &&
			read_any(je, bytes + at + count * BIN_BYTES, &stack))
			count++;
		bool follows = je->shape->counts && count && table &&
			       read_any(je, bytes + at, &stack) && stack.table == table;
		if (count < BINS_MIN && !follows)
			continue;
		for (size_t i = 0; i < count && ok; i++) {
			read_any(je, bytes + at + i * BIN_BYTES, &stack);
			ok = take_stack(je, &stack);
		}
		table = stack.table;
		at += count * BIN_BYTES - 8;
	}
	return ok;
}

/* A thread's local memory, as far as it can be read: below its pointer, on aarch64 above. */
static bool take_thread(struct je_malloc *je, uint64_t pointer, uint8_t *bytes)
{
	bool below = je->space->machine == EM_X86_64;
	uint64_t start = pointer & ~7ull, end = start;
	uint64_t lowest = below && start > TLS_BYTES ? start - TLS_BYTES : 0;
	while (below && start > lowest) {
		uint64_t from = (start - 1) & ~(PAGE_BYTES - 1);
		from = from > lowest ? from : lowest;
		size_t len = (size_t)(start - from);
		if (address_space_read(je->space, from, bytes + (from - lowest), len) != len)
			break;
		start = from;
	}
	if (below)
		return take_rows(je, bytes + (start - lowest), (size_t)(end - start));
	return take_rows(je, bytes, address_space_read(je->space, start, bytes, TLS_BYTES));
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
