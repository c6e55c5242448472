/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see plain.h. May touch: the same. */
#include "runtime/guard/plain.h"

#include "runtime/guard/kept.h"
#include "runtime/guard/sweep.h"
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

static uint64_t offset_of(uint32_t align_shift)
{
	return align_shift > 4 ? 1ull << align_shift : HEADER;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 15) & ~15ull;
}

#define KIND_SHIFT 40
#define ALIGN_SHIFT 44
#define REPORTED (1ull << 50)
#define KEPT (1ull << 51) /* it is freed, and its fill is complete */
#define FORKS_SHIFT 52
#define FREED_AT_SHIFT 24
#define CHECK_SHIFT 48

/* Numbers of stacks are a process's own: those from before a fork mean others in the child. */
static uint64_t forks_bits(void)
{
	return (uint64_t)guard_forks << FORKS_SHIFT;
}

static bool has_own_stacks(uint64_t first)
{
	return first >> FORKS_SHIFT == forks_bits() >> FORKS_SHIFT;
}

static uint64_t first_word(uint64_t bytes, enum hw_alloc_kind kind, uint32_t align_shift)
{
	return bytes | (uint64_t)kind << KIND_SHIFT | (uint64_t)align_shift << ALIGN_SHIFT |
	       forks_bits();
}

static enum hw_alloc_kind kind_of(uint64_t first)
{
	return first >> KIND_SHIFT & 15;
}

static uint32_t align_shift_of(uint64_t first)
{
	return (uint32_t)(first >> ALIGN_SHIFT) & 63;
}

static uint64_t stack_word(uint32_t stack)
{
	return stack > PLAIN_STACKS ? 0 : stack;
}

/* `stacks` is the second word without its check. */
static uint64_t check_of(uint64_t start, uint64_t first, uint64_t stacks)
{
	uint64_t mixed =
		(first ^ start) * 0x9e3779b97f4a7c15ull ^ (stacks + start) * 0xc2b2ae3d27d4eb4full;
	return (mixed >> 40 ^ mixed >> 24) << CHECK_SHIFT;
}

static uint64_t stacks_of(uint64_t second)
{
	return second & ((1ull << CHECK_SHIFT) - 1);
}

static bool is_whole(uint64_t start, uint64_t first, uint64_t second)
{
	uint64_t stacks = stacks_of(second);
	return (check_of(start, first, stacks) | stacks) == second;
}

static uint64_t *header_of(uint64_t start)
{
	return (uint64_t *)(start - HEADER);
}

static void write_header(uint64_t start, uint64_t first, uint64_t stacks)
{
	/* Others read it meanwhile. */
	__atomic_store_n(header_of(start), first, __ATOMIC_RELAXED);
	__atomic_store_n(
		header_of(start) + 1, stacks | check_of(start, first, stacks), __ATOMIC_RELAXED);
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
	write_header(start, first_word(bytes, kind, shift), stack_word(stack));
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
	uint64_t start, uint64_t first, uint64_t second, bool live, struct guard_block *ret)
{
	if (rt_unlikely(!is_whole(start, first, second)))
		return false;
	bool own = has_own_stacks(first);
	*ret = (struct guard_block){.start = start,
		.bytes = plain_bytes(first),
		.live = live,
		.alloc_kind = kind_of(first),
		.align_shift = (uint8_t)align_shift_of(first),
		.reported = first & REPORTED,
		.allocated_at = own ? second & PLAIN_STACKS : 0,
		.freed_at = own ? second >> FREED_AT_SHIFT & PLAIN_STACKS : 0};
	return true;
}

bool plain_describe(uint64_t start, bool live, struct guard_block *ret)
{
	struct plain_header header;
	return guard_peek(&header, start - HEADER, sizeof(header)) &&
	       describe_header(start, header.first, header.second, live, ret);
}

bool plain_describe_own(uint64_t start, struct guard_block *ret)
{
	return describe_header(start, header_of(start)[0], header_of(start)[1], true, ret);
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
	if (sweep_has_reported(block->start, first))
		return;
	if (flags & HW_ERROR_AT_EXIT)
		sweep_note(block->start, first);
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

/* In a sweep other threads may free blocks, and libc may reuse them: whether a block is what it was
 * when it was described, so that what was found in it since is true. */
static bool is_still(const struct guard_block *block, uint32_t flags)
{
	struct guard_block now;
	const uint8_t *mark = table_mark(block->start);
	uint8_t expected = block->live ? TABLE_LIVE : TABLE_FREED;
	if (!(flags & HW_ERROR_AT_EXIT))
		return true;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return mark && plain_describe(block->start, block->live, &now) &&
	       __atomic_load_n(mark, __ATOMIC_ACQUIRE) == expected && now.bytes == block->bytes &&
	       now.allocated_at == block->allocated_at && now.freed_at == block->freed_at;
}

bool plain_is_kept(uint64_t start)
{
	return guard_peek_word(start - HEADER) & KEPT;
}

bool plain_check(const struct guard_block *block, struct guard_caller caller, uint32_t flags)
{
	uint64_t at = block->start + block->bytes, first, last;
	size_t after = round_up(block->bytes) + CANARY_LEAST - block->bytes;
	/* In the sweep another thread may free it meanwhile. */
	if (!(flags & HW_ERROR_AT_EXIT) && rt_likely(canary_is_whole(block->start, block->bytes)))
		return true;
	if (!block->reported && find_change(at, after, CANARY, &first, &last) &&
		is_still(block, flags)) {
		report_change(HW_ERROR_CANARY, block, first, last, caller, flags);
		if (!(flags & HW_ERROR_AT_EXIT))
			write_canary(block->start, block->bytes);
	}
	return true;
}

void plain_note_reported(uint64_t start)
{
	write_header(start, header_of(start)[0] | REPORTED, stacks_of(header_of(start)[1]));
}

static size_t filled_bytes(uint64_t bytes)
{
	return bytes < FREED_FILL_MOST ? bytes : FREED_FILL_MOST;
}

void plain_check_kept(const struct guard_block *block, uint32_t flags)
{
	uint64_t first, last;
	if (!block->reported &&
		find_change(block->start, filled_bytes(block->bytes), FREED_FILL, &first, &last) &&
		is_still(block, flags))
		report_change(
			HW_ERROR_FREED_WRITE, block, first, last, (struct guard_caller){0}, flags);
}

void plain_pass_over(const struct guard_block *block)
{
	uint64_t first, last;
	if (block->live && !canary_is_whole(block->start, block->bytes))
		write_canary(block->start, block->bytes);
	else if (!block->live &&
		 find_change(block->start, filled_bytes(block->bytes), FREED_FILL, &first, &last))
		plain_note_reported(block->start);
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
	fill_freed(block->start, block->bytes);
	uint64_t first = header_of(block->start)[0] & ((1ull << FORKS_SHIFT) - 1);
	write_header(block->start, first | KEPT | forks_bits(),
		block->allocated_at | stack_word(stack) << FREED_AT_SHIFT);
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

/* Whether a block of that first word may be freed so. */
static inline bool is_matching(uint64_t first, struct guard_freeing freeing)
{
	enum hw_alloc_kind kind = kind_of(first);
	return hw_matching_free(kind) == freeing.kind && !freeing.aligned &&
	       kind < HW_NEW_ALIGNED && (!freeing.sized || freeing.size == plain_bytes(first));
}

bool plain_drop_good(uint64_t start, struct guard_freeing freeing)
{
	uint64_t first = header_of(start)[0], second = header_of(start)[1];
	if (rt_unlikely(!is_whole(start, first, second) || !is_matching(first, freeing) ||
			!canary_is_whole(start, plain_bytes(first))))
		return false;
	plain_lose(start);
	__libc_free((void *)(start - offset_of(align_shift_of(first))));
	return true;
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
	__atomic_store_n(mark, TABLE_GONE, __ATOMIC_RELEASE);
	void *base =
		bytes > PLAIN_MOST ? NULL : __libc_realloc((void *)(block->start - offset), total);
	uint64_t start = base ? (uint64_t)base + offset : block->start;
	if (base) {
		write_header(start, first_word(bytes, HW_REALLOC, block->align_shift),
			stack_word(stack));
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

/* glibc's malloc.c: the flags of a chunk; the least size of one. */
#define CHUNK_BEFORE_USED 1u
#define CHUNK_MAPPED 2u
#define CHUNK_FLAGS 7u
#define CHUNK_LEAST 32u
#define CHUNK_END (1ull << 47)

bool plain_is_libcs(uint64_t address)
{
	if (address & 15)
		return false;
	uint64_t chunk = address - 16, word = guard_peek_word(address - 8);
	uint64_t size = word & ~(uint64_t)CHUNK_FLAGS;
	if (size < CHUNK_LEAST || size >= CHUNK_END || size & 15)
		return false;
	if (word & CHUNK_MAPPED) {
		uint64_t before = guard_peek_word(chunk);
		return before < CHUNK_END && !((chunk - before) % GUARD_PAGE) &&
		       !((before + size) % GUARD_PAGE);
	}
	uint64_t next = guard_peek_word(chunk + size + 8);
	uint64_t after = next & ~(uint64_t)CHUNK_FLAGS;
	return next & CHUNK_BEFORE_USED && after >= 16 && after < CHUNK_END && !(after & 15);
}

void plain_fork_prepare(void)
{
	kept_lock_all();
}

void plain_fork_done(bool child)
{
	kept_unlock_all(child);
}
