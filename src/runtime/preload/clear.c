/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates and leaks are to be searched for, any thread, any moment. May
 * touch: the block that is being given out, next definitions.
 *
 * Cleared is all that the allocator gave (malloc_usable_size), so that a later realloc finds
 * nothing old behind the requested size: behind what it keeps all is cleared again. Of an allocator
 * that can't be asked only the requested bytes are, and none in realloc, which may have kept them.
 *
 * Large blocks cost most and are mostly clear already, because they are fresh from the kernel; to
 * write to them would even make the program larger. Of those calloc knows better: glibc's leaves
 * out fresh mappings and the fresh top of the heap, jemalloc's and mimalloc's fresh pages.
 * tcmalloc's writes to all of it; there, and where no calloc helps (realloc, aligned blocks), pages
 * are read and only those with something in them are written. Reading a fresh page takes no memory.
 */
#include "runtime/preload/clear.h"

#include "format/shm.h"
#include "runtime/core/sys.h"
#include "runtime/preload/process.h"

#include <stdint.h>

/* To this size malloc may be much quicker than calloc: glibc's lists of each thread end there. */
#define DIRECT_MAX 1032u
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
static bool is_clib, calloc_is_wise;
/* The allocator was seen to give more than was asked for, as those do that have classes of sizes.
 * One that looks for writes beyond blocks gives exactly what was asked for; of aligned blocks
 * tcmalloc's for debugging says that more is there than there is. */
static bool rounds;

/* Sixteen bytes at any address that is a multiple of 8. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline void clear_bytes(char *at, size_t bytes)
{
	if (bytes > 512) {
		__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(0) : "memory");
		return;
	}
	for (; bytes >= 16; at += 16, bytes -= 16) {
		*(pair *)at = (pair){0, 0};
		__asm__ volatile("" ::: "memory"); /* not a call of memset */
	}
	for (; bytes >= 8; at += 8, bytes -= 8)
		*(volatile uint64_t *)at = 0;
	for (; bytes; at++, bytes--)
		*(volatile char *)at = 0;
}

static bool is_clear(const char *at, size_t bytes)
{
	uint64_t any = 0;
	for (; bytes >= 8; at += 8, bytes -= 8)
		any |= *(const uint64_t __attribute__((may_alias)) *)at;
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

static inline void clear(char *at, size_t bytes)
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

/* Whether room_of() knows more than the size it is told. */
static inline bool is_measured(void)
{
	return is_clib || (plain.malloc_usable_size && !rt_here.asks);
}

/* What the allocator gave for a block of that size: of glibc's read where its function would look,
 * since it is asked of each block. tcmalloc's answer to the first such question
 * allocates, by operator new: that is ours and not the program's. */
static inline size_t room_of(void *block, size_t size)
{
	if (rt_likely(is_clib && !(chunk_of(block) & CHUNK_MMAPPED)))
		return (chunk_of(block) & ~CHUNK_FLAGS) - 8;
	if (!is_measured())
		return size;
	rt_here.asks = !is_clib;
	size_t room = plain.malloc_usable_size(block);
	rt_here.asks = false;
	return room > size ? room : size;
}

static bool is_fresh_mapping(const void *block)
{
	return is_clib && chunk_of(block) & CHUNK_MMAPPED;
}

static inline void *given(void *block, size_t size)
{
	if (rt_likely(block && !is_fresh_mapping(block))) {
		size_t room = room_of(block, size);
		if (rt_unlikely(
			    room > size && !is_clib && !__atomic_load_n(&rounds, __ATOMIC_RELAXED)))
			__atomic_store_n(&rounds, true, __ATOMIC_RELAXED);
		clear(block, room);
	}
	return block;
}

/* The same of an aligned form. */
static void *given_aligned(void *block, size_t size)
{
	bool known = is_clib || __atomic_load_n(&rounds, __ATOMIC_RELAXED);
	if (block && !is_fresh_mapping(block))
		clear(block, known ? room_of(block, size) : size);
	return block;
}

static void *clearing_malloc(size_t size)
{
	if (size > DIRECT_MAX && calloc_is_wise)
		return plain.calloc(1, size);
	return given(plain.malloc(size), size);
}

static void *clearing_calloc(size_t count, size_t size)
{
	void *block = plain.calloc(count, size);
	size_t bytes = count * size; /* of one that was given it does not overflow */
	size_t room = block ? room_of(block, bytes) : 0;
	if (block && !calloc_is_wise && room > bytes)
		clear((char *)block + bytes, room - bytes);
	return block;
}

static void *clearing_realloc(void *block, size_t size)
{
	if (!block)
		return clearing_malloc(size);
	if (!is_measured())
		return plain.realloc(block, size); /* how much of it is kept is not known */
	size_t before = room_of(block, 0);
	char *moved = plain.realloc(block, size);
	if (!moved || !size)
		return moved;
	size_t kept = before < size ? before : size, room = room_of(moved, size);
	if (is_fresh_mapping(moved) && room - size < PAGE_BYTES)
		kept = size; /* what was added is fresh */
	clear(moved + kept, room - kept);
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

void rt_clear_wrap(struct rt_real *real, bool clib, bool wise, bool measures)
{
	is_clib = clib;
	calloc_is_wise = wise;
	plain = *real;
	if (!measures)
		plain.malloc_usable_size = NULL;
	real->malloc = clearing_malloc;
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
		clear(block, size); /* realloc gets no such block */
}
