/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For programs that report the blocks of their own allocators to Valgrind: include this in place of
 * <valgrind/valgrind.h> and <valgrind/memcheck.h> (or after them) and build again. A program that
 * is built with Valgrind's own headers says these things by instructions that only Valgrind's
 * emulation sees; no other tool can.
 *
 * Red zones and what is zeroed mean nothing here. A pool has no name in Valgrind's requests:
 * heapwise_pool_create() after VALGRIND_CREATE_MEMPOOL() gives it one.
 */
#ifndef HEAPWISE_VALGRIND_H
#define HEAPWISE_VALGRIND_H

#include <heapwise/client.h>

#undef VALGRIND_MALLOCLIKE_BLOCK
#define VALGRIND_MALLOCLIKE_BLOCK(addr, size, redzone, is_zeroed)                                  \
	heapwise_block_alloc((void *)(addr), (size))
#undef VALGRIND_RESIZEINPLACE_BLOCK
#define VALGRIND_RESIZEINPLACE_BLOCK(addr, old_size, new_size, redzone)                            \
	(heapwise_block_free((void *)(addr)), heapwise_block_alloc((void *)(addr), (new_size)))
#undef VALGRIND_FREELIKE_BLOCK
#define VALGRIND_FREELIKE_BLOCK(addr, redzone) heapwise_block_free((void *)(addr))

#undef VALGRIND_CREATE_MEMPOOL
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, is_zeroed)                                          \
	heapwise_pool_create((void *)(pool), (const char *)0)
#undef VALGRIND_CREATE_MEMPOOL_EXT
#define VALGRIND_CREATE_MEMPOOL_EXT(pool, redzone, is_zeroed, flags)                               \
	heapwise_pool_create((void *)(pool), (const char *)0)
#undef VALGRIND_DESTROY_MEMPOOL
#define VALGRIND_DESTROY_MEMPOOL(pool) heapwise_pool_destroy((void *)(pool))
#undef VALGRIND_MEMPOOL_ALLOC
#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size)                                                   \
	heapwise_pool_alloc((void *)(pool), (void *)(addr), (size))
#undef VALGRIND_MEMPOOL_FREE
#define VALGRIND_MEMPOOL_FREE(pool, addr) heapwise_pool_free((void *)(pool), (void *)(addr))
#undef VALGRIND_MEMPOOL_TRIM
#define VALGRIND_MEMPOOL_TRIM(pool, addr, size)                                                    \
	heapwise_pool_trim((void *)(pool), (void *)(addr), (size))
#undef VALGRIND_MOVE_MEMPOOL
#define VALGRIND_MOVE_MEMPOOL(from, to) heapwise_pool_move((void *)(from), (void *)(to))
#undef VALGRIND_MEMPOOL_CHANGE
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size)                                              \
	(heapwise_pool_free((void *)(pool), (void *)(from)),                                       \
		heapwise_pool_alloc((void *)(pool), (void *)(to), (size)))
#undef VALGRIND_MEMPOOL_EXISTS
#define VALGRIND_MEMPOOL_EXISTS(pool) heapwise_pool_exists((void *)(pool))

#endif
