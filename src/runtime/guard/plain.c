/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see plain.h. May touch: the same. */
#include "runtime/guard/plain.h"

#include "runtime/guard/kept.h"
#include "runtime/guard/table.h"

#include <errno.h>

/* libc's own, which no other library can stand in for. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);
int __libc_mallopt(int option, int value);

#define HEADER ((uint64_t)sizeof(struct plain_header))
#define CANARY 0xc9u /* not 0: the end of a string that is written one byte too far must show */
#define CANARY_WORD (0x0101010101010101ull * CANARY)
#define CANARY_LEAST 8u
#define FREED_FILL 0xdfu
/* Of larger blocks only the beginning is filled, and compared. */
#define FREED_FILL_MOST 256u

/* Blocks that libc keeps in its fast lists without us are to be kept there with their header and
 * canary, too. That is as far as it can be set (M_MXFAST). */
void plain_init(void)
{
	__libc_mallopt(1, 160);
}

static struct plain_header *header_of(uint64_t start)
{
	return (struct plain_header *)(start - HEADER);
}

static uint64_t offset_of(uint32_t align_shift)
{
	return align_shift > 4 ? 1ull << align_shift : HEADER;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 15) & ~15ull;
}

static uint16_t check_of(uint64_t start, const struct plain_header *header)
{
	uint64_t a = guard_load64(header), b = guard_load64((const char *)header + 8) << 16 >> 16;
	uint64_t mixed = (a ^ start) * 0x9e3779b97f4a7c15ull ^ (b + start) * 0xc2b2ae3d27d4eb4full;
	return (uint16_t)(mixed >> 40 ^ mixed >> 24);
}

static void seal_header(uint64_t start, struct plain_header header)
{
	header.check = 0;
	header.check = check_of(start, &header);
	/* Whole words: others read them meanwhile. */
	__atomic_store_n((uint64_t *)(start - HEADER), guard_load64(&header), __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)(start - HEADER + 8), guard_load64((char *)&header + 8),
		__ATOMIC_RELAXED);
}

static void write_canary(uint64_t start, uint64_t bytes)
{
	uint64_t at = start + bytes, end = start + round_up(bytes) + CANARY_LEAST;
	guard_store64((void *)at, CANARY_WORD);
	if (end - at > 16)
		guard_store64((void *)(at + 8), CANARY_WORD);
	guard_store64((void *)(end - 8), CANARY_WORD);
}

static uint32_t shift_of(size_t align)
{
	return align ? (uint32_t)__builtin_ctzll(align) : 0;
}

void *plain_new(size_t bytes, size_t align, enum hw_alloc_kind kind, uint32_t stack, bool zero)
{
	uint32_t shift = shift_of(align);
	uint64_t offset = offset_of(shift), total;
	if (bytes > PLAIN_MOST ||
		__builtin_add_overflow(offset + CANARY_LEAST, round_up(bytes), &total)) {
		errno = ENOMEM;
		return NULL;
	}
	void *base = offset > HEADER ? __libc_memalign(align, total)
		     : zero          ? __libc_calloc(1, total)
				     : __libc_malloc(total);
	if (rt_unlikely(!base))
		return NULL;
	uint64_t start = (uint64_t)base + offset;
	if (rt_unlikely(zero && offset > HEADER))
		guard_fill((void *)start, 0, bytes);
	seal_header(start, (struct plain_header){.bytes = bytes,
				   .kind = kind,
				   .align_shift = shift,
				   .allocated_at = stack > PLAIN_STACKS ? 0 : stack});
	write_canary(start, bytes);
	table_cover(start, bytes + CANARY_LEAST);
	if (rt_likely(table_add(start)))
		return (void *)start;
	__libc_free(base);
	void *raw = plain_new_raw(bytes, align, zero);
	uint8_t *mark = raw ? table_mark((uint64_t)raw) : NULL;
	if (mark)
		__atomic_store_n(mark, TABLE_RAW, __ATOMIC_RELEASE);
	return raw;
}

static bool describe_header(
	uint64_t start, const struct plain_header *header, bool live, struct guard_block *ret)
{
	if (rt_unlikely(check_of(start, header) != header->check))
		return false;
	*ret = (struct guard_block){.start = start,
		.bytes = header->bytes,
		.live = live,
		.alloc_kind = header->kind,
		.align_shift = header->align_shift,
		.reported = header->reported,
		.allocated_at = header->allocated_at,
		.freed_at = header->freed_at};
	return true;
}

bool plain_describe(uint64_t start, bool live, struct guard_block *ret)
{
	struct plain_header header;
	return guard_peek(&header, start - HEADER, sizeof(header)) &&
	       describe_header(start, &header, live, ret);
}

bool plain_describe_own(uint64_t start, struct guard_block *ret)
{
	return describe_header(start, header_of(start), true, ret);
}

/* Of bytes that are read at `from`, the first and the last that differ from `expected`. */
static bool find_change(
	uint64_t from, size_t bytes, uint8_t expected, uint64_t *ret_first, uint64_t *ret_last)
{
	bool changed = false;
	for (size_t done = 0; done < bytes;) {
		uint8_t piece[64];
		size_t now = bytes - done < sizeof(piece) ? bytes - done : sizeof(piece);
		if (!guard_peek(piece, from + done, now))
			return changed;
		for (size_t i = 0; i < now; i++) {
			if (rt_likely(piece[i] == expected))
				continue;
			if (!changed)
				*ret_first = from + done + i;
			*ret_last = from + done + i;
			changed = true;
		}
		done += now;
	}
	return changed;
}

static void report_change(enum hw_error_kind kind, const struct guard_block *block, uint64_t first,
	uint64_t last, struct guard_caller caller, uint32_t flags)
{
	struct hw_error_report report = {.address = first,
		.access_bytes = last - first + 1,
		.flags = flags | HW_ERROR_LATE | HW_ERROR_UNSIZED};
	guard_report_block(&report, block);
	guard_report(kind, &report, caller);
}

static bool canary_is_whole(uint64_t start, uint64_t bytes)
{
	uint64_t at = start + bytes, end = start + round_up(bytes) + CANARY_LEAST;
	return guard_load64((void *)at) == CANARY_WORD &&
	       guard_load64((void *)(end - 8)) == CANARY_WORD &&
	       (end - at <= 16 || guard_load64((void *)(at + 8)) == CANARY_WORD);
}

bool plain_check(const struct guard_block *block, struct guard_caller caller, uint32_t flags)
{
	uint64_t at = block->start + block->bytes, first, last;
	size_t after = round_up(block->bytes) + CANARY_LEAST - block->bytes;
	/* In the sweep another thread may free it meanwhile. */
	if (!(flags & HW_ERROR_AT_EXIT) && rt_likely(canary_is_whole(block->start, block->bytes)))
		return true;
	if (!block->reported && find_change(at, after, CANARY, &first, &last)) {
		report_change(HW_ERROR_CANARY, block, first, last, caller, flags);
		write_canary(block->start, block->bytes);
	}
	return true;
}

void plain_note_reported(uint64_t start)
{
	struct plain_header header = *header_of(start);
	header.reported = 1;
	seal_header(start, header);
}

static size_t filled_bytes(uint64_t bytes)
{
	return bytes < FREED_FILL_MOST ? bytes : FREED_FILL_MOST;
}

void plain_check_kept(const struct guard_block *block, uint32_t flags)
{
	uint64_t first, last;
	if (!block->reported &&
		find_change(block->start, filled_bytes(block->bytes), FREED_FILL, &first, &last))
		report_change(
			HW_ERROR_FREED_WRITE, block, first, last, (struct guard_caller){0}, flags);
}

static bool fill_is_whole(const struct guard_block *block)
{
	size_t bytes = filled_bytes(block->bytes), i = 0;
	const uint8_t *at = (const uint8_t *)block->start;
	uint64_t changed = 0, word = 0x0101010101010101ull * FREED_FILL;
	for (; i + 8 <= bytes; i += 8)
		changed |= guard_load64(at + i) ^ word;
	for (; i < bytes; i++)
		changed |= at[i] ^ FREED_FILL;
	return !changed;
}

/* Gives a block back to libc. `bytes` is as it was when it was freed. */
static void give_back(const struct kept_entry *entry)
{
	struct guard_block block;
	uint8_t *mark = table_mark(entry->start);
	if (rt_unlikely(!plain_describe_own(entry->start, &block) || block.bytes != entry->bytes)) {
		block = (struct guard_block){.start = entry->start, .bytes = entry->bytes};
		report_change(HW_ERROR_FREED_WRITE, &block, entry->start - HEADER, entry->start - 1,
			(struct guard_caller){0}, 0);
		plain_lose(entry->start);
		return;
	}
	block.live = false;
	if (rt_unlikely(!fill_is_whole(&block)))
		plain_check_kept(&block, 0);
	if (mark)
		__atomic_store_n(mark, TABLE_GONE, __ATOMIC_RELEASE);
	__libc_free((void *)(entry->start - offset_of(block.align_shift)));
}

static void fill_freed(uint64_t start, uint64_t bytes)
{
	size_t filled = filled_bytes(bytes), i = 0;
	uint64_t word = 0x0101010101010101ull * FREED_FILL;
	for (; i + 8 <= filled; i += 8) {
		guard_store64((char *)start + i, word);
		__asm__ volatile("" : "+r"(word)); /* no call of memset is made of this */
	}
	for (; i < filled; i++)
		((volatile uint8_t *)start)[i] = FREED_FILL;
}

void plain_keep(const struct guard_block *block, uint32_t stack)
{
	struct plain_header header = *header_of(block->start);
	header.freed_at = stack > PLAIN_STACKS ? 0 : stack;
	seal_header(block->start, header);
	fill_freed(block->start, block->bytes);
	struct kept_entry entry = {block->start, block->bytes}, out[KEPT_OUT];
	unsigned n = kept_add(entry, out);
	for (unsigned i = 0; i < n; i++)
		give_back(&out[i]);
}

void plain_drop(const struct guard_block *block)
{
	uint8_t *mark = table_mark(block->start);
	if (mark)
		__atomic_store_n(mark, TABLE_GONE, __ATOMIC_RELEASE);
	__libc_free((void *)(block->start - offset_of(block->align_shift)));
}

void plain_lose(uint64_t start)
{
	uint8_t *mark = table_mark(start);
	if (mark)
		__atomic_store_n(mark, TABLE_GONE, __ATOMIC_RELEASE);
}

void *plain_resize(const struct guard_block *block, size_t bytes, uint32_t stack)
{
	uint64_t offset = offset_of(block->align_shift),
		 total = offset + CANARY_LEAST + round_up(bytes);
	uint8_t *mark = table_mark(block->start);
	struct plain_header header = *header_of(block->start);
	__atomic_store_n(mark, TABLE_GONE, __ATOMIC_RELEASE);
	void *base =
		bytes > PLAIN_MOST ? NULL : __libc_realloc((void *)(block->start - offset), total);
	uint64_t start = base ? (uint64_t)base + offset : block->start;
	if (base) {
		header.bytes = bytes;
		header.kind = HW_REALLOC;
		header.allocated_at = stack > PLAIN_STACKS ? 0 : stack;
		seal_header(start, header);
		write_canary(start, bytes);
	}
	table_cover(start, bytes + CANARY_LEAST);
	/* A leaf that can't be made for what has moved: the block is the program's nevertheless,
	 * and its free will be taken for an error. */
	table_add(start);
	return base ? (void *)start : NULL;
}

void *plain_new_raw(size_t bytes, size_t align, bool zero)
{
	if (align > HEADER)
		return __libc_memalign(align, bytes);
	return zero ? __libc_calloc(1, bytes) : __libc_malloc(bytes);
}

void plain_free_raw(void *block)
{
	uint8_t *mark = table_lacks_leaves ? table_mark((uint64_t)block) : NULL;
	if (mark && *mark == TABLE_RAW)
		__atomic_store_n(mark, TABLE_GONE, __ATOMIC_RELEASE);
	__libc_free(block);
}

void *plain_resize_raw(void *block, size_t bytes)
{
	return __libc_realloc(block, bytes);
}

/* glibc's malloc.c: the size is in the word before, its three lowest bits are flags; the word of
 * the next chunk is usable unless this one is a mapping. */
size_t plain_size_raw(const void *block)
{
	uint64_t word = guard_load64((const char *)block - 8);
	return (word & ~7ull) - (word & 2 ? 16 : 8);
}

void plain_fork_prepare(void)
{
	kept_lock_all();
}

void plain_fork_done(bool child)
{
	kept_unlock_all(child);
}
