/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For programs that report the blocks of their own allocators to Valgrind: include this in place of
 * <valgrind/valgrind.h> (or after it) and build again. A program that is built with Valgrind's own
 * header says these things by instructions that only Valgrind's emulation sees; no other tool can.
 *
 * Of VALGRIND_MEMPOOL_ALLOC the pool itself is not recorded: its blocks have call stacks, and are
 * to be freed one by one. VALGRIND_DESTROY_MEMPOOL frees none.
 */
#ifndef HEAPWISE_VALGRIND_H
#define HEAPWISE_VALGRIND_H

#include <heapwise/client.h>

#undef VALGRIND_MALLOCLIKE_BLOCK
#define VALGRIND_MALLOCLIKE_BLOCK(addr, size, redzone, is_zeroed)                                  \
	heapwise_block_alloc((void *)(addr), (size))
#undef VALGRIND_FREELIKE_BLOCK
#define VALGRIND_FREELIKE_BLOCK(addr, redzone) heapwise_block_free((void *)(addr))
#undef VALGRIND_CREATE_MEMPOOL
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, is_zeroed) ((void)(pool))
#undef VALGRIND_DESTROY_MEMPOOL
#define VALGRIND_DESTROY_MEMPOOL(pool) ((void)(pool))
#undef VALGRIND_MEMPOOL_ALLOC
#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size) heapwise_block_alloc((void *)(addr), (size))
#undef VALGRIND_MEMPOOL_FREE
#define VALGRIND_MEMPOOL_FREE(pool, addr) heapwise_block_free((void *)(addr))

#endif
