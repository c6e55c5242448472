/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An allocator with the names and signatures of mimalloc's: it never gives anything back. Its
 * functions call no malloc. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static char memory[64 << 20] __attribute__((aligned(4096)));
static size_t used;

static void *take(size_t size, size_t alignment)
{
	size_t room = size + alignment + 16;
	size_t at = __atomic_fetch_add(&used, (room + 15) & ~(size_t)15, __ATOMIC_RELAXED);
	if (at + room > sizeof(memory))
		return NULL;
	uintptr_t block =
		((uintptr_t)memory + at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
	((size_t *)block)[-1] = size;
	return (void *)block;
}

__attribute__((noinline)) void *mi_malloc(size_t size)
{
	return take(size, 16);
}

__attribute__((noinline)) void mi_free(void *block)
{
	if (block)
		memset(block, 0xee, ((size_t *)block)[-1]);
}

__attribute__((noinline)) void *mi_malloc_aligned(size_t size, size_t alignment)
{
	return take(size, alignment < 16 ? 16 : alignment);
}

__attribute__((noinline)) void *mi_zalloc_aligned(size_t size, size_t alignment)
{
	return mi_malloc_aligned(size, alignment); /* no memory is taken twice */
}

__attribute__((noinline)) void *mi_realloc_aligned(void *block, size_t size, size_t alignment)
{
	void *to = mi_malloc_aligned(size, alignment);
	size_t before = block ? ((size_t *)block)[-1] : 0;
	if (to && block) {
		memcpy(to, block, before < size ? before : size);
		mi_free(block);
	}
	return to;
}
