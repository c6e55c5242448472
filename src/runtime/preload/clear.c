/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates and leaks are to be searched for, any thread, any moment. May
 * touch: the block that is being given out, next definitions.
 *
 * Cleared is all that the allocator gave (malloc_usable_size), so that a later realloc finds
 * nothing old after the requested size: after what it keeps all is cleared again. Of an allocator
 * that can't be asked only the requested bytes are, and none in realloc, which may have kept them.
 *
 * Large blocks cost most and are mostly clear already, because they are fresh from the kernel; to
 * write to them would even make the program larger. Of those calloc knows better: glibc's leaves
 * out fresh mappings and the fresh top of the heap, jemalloc's and mimalloc's fresh pages.
 * tcmalloc's writes to all of it, and jemalloc's gives used pages back to the kernel and gets fresh
 * ones, at a page fault each, which costs ten times what it costs to clear them: it is called for
 * very large blocks alone. There, and where no calloc helps (realloc, aligned blocks), pages are
 * read and only those with something in them are written. Reading a fresh page takes no memory.
 */
#include "runtime/preload/clear.h"

#include "format/shm.h"
#include "runtime/core/sys.h"
#include "runtime/preload/process.h"

#include <stdint.h>

/* To this size malloc may be much quicker than calloc: glibc's lists of each thread end there. */
#define DIRECT_MAX 1032u
/* jemalloc gives larger blocks back to the kernel as they are freed: the next ones are fresh. */
#define JEMALLOC_DIRECT_MAX (8u << 20)
/* From this size on blocks are looked at before they are written to. */
#define LOOK_MIN (32u << 10)
#define PAGE_BYTES 4096u
/* In the word before a block of glibc's (malloc/malloc.c: struct malloc_chunk, in all versions):
 * the size of its chunk, in which its owner may use all but one word, and three flags, of which one
 * says that it has a mapping of its own, fresh from the kernel (IS_MMAPPED). */
#define CHUNK_FLAGS 7ul
#define CHUNK_MMAPPED 2ul

bool rt_clears;

static struct rt_real plain; /* what stood in rt_real before */
static void *(*malloc_that_clears)(size_t);
static enum rt_allocator allocator;
/* The allocator was seen to give more than was asked for, as those do that have classes of sizes.
 * One that looks for writes beyond blocks gives exactly what was asked for; of aligned blocks
 * tcmalloc's for debugging says that more is there than there is. */
static bool rounds;

/* Of jemalloc, which gives as much for all sizes of equally many words, in all threads and arenas
 * and of sampled blocks too: what it said was given for this many words. 0: it was not asked yet,
 * or said what does not fit to this. */
static uint16_t given_for_words[DIRECT_MAX / 8 + 1];

/* Bytes at any address. */
typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));

static inline void clear_pair(char *at)
{
	*(volatile pair *)at = (pair){0, 0}; /* volatile: not a call of memset */
}

static inline void clear_quad(char *at)
{
	clear_pair(at);
	clear_pair(at + 16);
	clear_pair(at + 32);
	clear_pair(at + 48);
}

/* Sizes differ from call to call, so the last branch of a loop over the rest would be mispredicted:
 * the last writes overlap those before them instead. */
static inline void clear_bytes(char *at, size_t bytes)
{
	char *end = at + bytes;
	if (rt_unlikely(bytes < 16)) {
		if (bytes >= 8) {
			*(volatile word *)at = 0;
			*(volatile word *)(end - 8) = 0;
			return;
		}
		while (at < end)
			*(volatile char *)at++ = 0;
	} else if (bytes <= 32) {
		clear_pair(at);
		clear_pair(end - 16);
	} else if (bytes <= 64) {
		clear_pair(at);
		clear_pair(at + 16);
		clear_pair(end - 32);
		clear_pair(end - 16);
	} else {
		for (; at < end - 64; at += 64)
			clear_quad(at);
		clear_quad(end - 64);
	}
}

static bool is_clear(const char *at, size_t bytes)
{
	for (; bytes >= 64; at += 64, bytes -= 64) {
		const pair *pairs = (const pair *)at;
		pair sum = pairs[0] | pairs[1] | pairs[2] | pairs[3];
		if (sum[0] | sum[1])
			return false;
	}
	uint64_t any = 0;
	for (; bytes >= 8; at += 8, bytes -= 8)
		any |= *(const word *)at;
	for (; bytes; at++, bytes--)
		any |= (uint8_t)*at;
	return !any;
}

/* Writes to those pages alone that have something in them. */
static __attribute__((noinline)) void clear_written(char *at, size_t bytes)
{
	while (bytes) {
		size_t part = PAGE_BYTES - ((uintptr_t)at & (PAGE_BYTES - 1));
		if (part > bytes)
			part = bytes;
		if (!is_clear(at, part))
			clear_bytes(at, part);
		at += part;
		bytes -= part;
	}
}

static inline void zero_bytes(char *at, size_t bytes)
{
	if (rt_likely(bytes < LOOK_MIN))
		clear_bytes(at, bytes);
	else
		clear_written(at, bytes);
}

static inline uint64_t chunk_of(const void *block)
{
	return ((const uint64_t __attribute__((may_alias)) *)block)[-1];
}

static inline bool is_clib(void)
{
	return allocator == RT_CLIB;
}

/* Returns whether room_of() knows more than the requested size. */
static inline bool is_measured(void)
{
	return is_clib() || (plain.malloc_usable_size && !rt_here.asks);
}

/* tcmalloc's answer to the first such question allocates, by operator new: that is ours and not the
 * program's. */
static size_t asked_of(void *block, size_t size)
{
	rt_here.asks = !is_clib();
	size_t room = plain.malloc_usable_size(block);
	rt_here.asks = false;
	return room > size ? room : size;
}

static inline size_t room_of_chunk(uint64_t chunk)
{
	return (chunk & ~CHUNK_FLAGS) - 8;
}

/* What the allocator gave for a block of that size: of glibc's read where its function would look,
 * since it is asked of each block. */
static inline size_t room_of(void *block, size_t size)
{
	if (rt_likely(is_clib() && !(chunk_of(block) & CHUNK_MMAPPED)))
		return room_of_chunk(chunk_of(block));
	return is_measured() ? asked_of(block, size) : size;
}

static bool is_fresh_mapping(const void *block)
{
	return is_clib() && chunk_of(block) & CHUNK_MMAPPED;
}

/* An aligned block: of what is there beyond the requested size only if the allocator's word for it
 * can be trusted. */
static void *given_aligned(void *block, size_t size)
{
	bool known =
		is_clib() || allocator == RT_JEMALLOC || __atomic_load_n(&rounds, __ATOMIC_RELAXED);
	if (block && !is_fresh_mapping(block))
		zero_bytes(block, known ? room_of(block, size) : size);
	return block;
}

static void *clearing_malloc(size_t size)
{
	if (size > DIRECT_MAX && allocator == RT_MIMALLOC)
		return plain.calloc(1, size);
	void *block = plain.malloc(size);
	if (rt_unlikely(!block))
		return block;
	size_t room = room_of(block, size);
	if (rt_unlikely(room > size && !__atomic_load_n(&rounds, __ATOMIC_RELAXED)))
		__atomic_store_n(&rounds, true, __ATOMIC_RELAXED);
	zero_bytes(block, room);
	return block;
}

static void *clearing_malloc_clib(size_t size)
{
	if (size > DIRECT_MAX)
		return plain.calloc(1, size);
	void *block = plain.malloc(size);
	if (rt_likely(block && !(chunk_of(block) & CHUNK_MMAPPED)))
		clear_bytes(block, room_of_chunk(chunk_of(block)));
	return block;
}

static inline uint16_t *place_of_words(size_t size)
{
	return &given_for_words[(size + 7) / 8];
}

static __attribute__((noinline)) void clear_asked(void *block, size_t size)
{
	size_t room = room_of(block, size);
	bool fits = room % 8 == 0 && room > 0 && room <= UINT16_MAX;
	if (size <= DIRECT_MAX && fits && is_measured())
		__atomic_store_n(place_of_words(size), room, __ATOMIC_RELAXED);
	zero_bytes(block, room);
}

static void *clearing_malloc_jemalloc(size_t size)
{
	if (size > JEMALLOC_DIRECT_MAX)
		return plain.calloc(1, size);
	void *block = plain.malloc(size);
	size_t room = 0;
	if (rt_likely(size <= DIRECT_MAX))
		room = __atomic_load_n(place_of_words(size), __ATOMIC_RELAXED);
	if (rt_likely(block && room))
		clear_bytes(block, room);
	else if (block)
		clear_asked(block, size);
	return block;
}

static void *clearing_calloc(size_t count, size_t size)
{
	void *block = plain.calloc(count, size);
	if (!block || allocator != RT_ANY_ALLOCATOR)
		return block;
	size_t bytes = count * size; /* of one that was given it does not overflow */
	size_t room = room_of(block, bytes);
	if (room > bytes)
		zero_bytes((char *)block + bytes, room - bytes);
	return block;
}

static void *clearing_realloc(void *block, size_t size)
{
	if (!block)
		return malloc_that_clears(size);
	if (!is_measured())
		return plain.realloc(block, size); /* how much of it is kept is not known */
	size_t before = room_of(block, 0);
	char *moved = plain.realloc(block, size);
	if (!moved || !size)
		return moved;
	size_t kept = before < size ? before : size, room = room_of(moved, size);
	if (is_fresh_mapping(moved) && room - size < PAGE_BYTES)
		kept = size; /* what was added is fresh */
	zero_bytes(moved + kept, room - kept);
	return moved;
}

static void *clearing_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return plain.reallocarray(block, count, size);
	return clearing_realloc(block, bytes);
}

static int clearing_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int error = plain.posix_memalign(ret, alignment, size);
	if (!error)
		given_aligned(*ret, size);
	return error;
}

static void *clearing_aligned_alloc(size_t alignment, size_t size)
{
	return given_aligned(plain.aligned_alloc(alignment, size), size);
}

static void *clearing_memalign(size_t alignment, size_t size)
{
	return given_aligned(plain.memalign(alignment, size), size);
}

static void *clearing_valloc(size_t size)
{
	return given_aligned(plain.valloc(size), size);
}

static void *clearing_pvalloc(size_t size)
{
	return given_aligned(plain.pvalloc(size), size);
}

void rt_clear_wrap(struct rt_real *real, enum rt_allocator kind, bool measures)
{
	allocator = kind;
	plain = *real;
	if (!measures)
		plain.malloc_usable_size = NULL;
	malloc_that_clears = clearing_malloc;
	if (kind == RT_CLIB)
		malloc_that_clears = clearing_malloc_clib;
	else if (kind == RT_JEMALLOC && measures)
		malloc_that_clears = clearing_malloc_jemalloc;
	real->malloc = malloc_that_clears;
	real->calloc = clearing_calloc;
	real->realloc = clearing_realloc;
	real->reallocarray = clearing_reallocarray;
	real->posix_memalign = clearing_posix_memalign;
	real->aligned_alloc = clearing_aligned_alloc;
	real->memalign = clearing_memalign;
	real->valloc = clearing_valloc;
	real->pvalloc = clearing_pvalloc;
}

void rt_clear_prepare(const struct hw_shm *shm)
{
	if (!shm->clears || rt_clears || rt_real.front)
		return;
	__atomic_store_n(&rt_clears, true, __ATOMIC_RELEASE);
	rt_real_resolve();
}

void *(*rt_clear_allocator(void))(size_t)
{
	return rt_clears ? plain.malloc : rt_real.malloc;
}

void rt_clear_given(void *block, size_t size)
{
	if (rt_clears && block)
		zero_bytes(block, size); /* realloc gets no such block */
}
