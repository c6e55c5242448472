/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates or frees, any thread, any moment. May touch: libc's allocator,
 * the table, freed blocks that are kept.
 *
 * Plain blocks: libc's memory with a header before and a canary after.
 *
 *   base            block                block + bytes
 *   │ (alignment)   │                    │
 *   │ ... │ header  │ the program's      │ canary, 8 to 23 bytes │
 *         └ 16 bytes
 *
 * A freed one is filled and kept from reuse for a while, in the order of frees; when it is given
 * back to libc, changes of the filling show writes after the free.
 */
#ifndef RUNTIME_GUARD_PLAIN_H
#define RUNTIME_GUARD_PLAIN_H

#include "runtime/guard/guard.h"

#define PLAIN_STACKS ((1u << 24) - 1) /* numbers of stacks beyond are kept as 0: not known */

/*
 * Two words, which are made and read as such: other threads look meanwhile, and what is built from
 * bit-fields in memory can't be loaded as a word until the parts have been stored.
 *
 * first:  40 bits size in bytes, 4 kind (enum hw_alloc_kind), 6 shift of the alignment (0: none was
 *         asked for), 1 reported (plain_note_reported()), 1 kept (plain_is_kept()),
 *         12 guard_forks when the stacks were numbered
 * second: 24 bits number of the stack of the allocation, 24 of that of the free, 16 check, of all
 *         else and of the address
 */
struct plain_header {
	uint64_t first, second;
};
static_assert(sizeof(struct plain_header) == 16, "the block after it stays aligned");

#define PLAIN_MOST ((1ull << 40) - 1)

static inline uint64_t plain_bytes(uint64_t first)
{
	return first & PLAIN_MOST;
}

/* Prepares libc's allocator. */
void plain_init(void);

/* Allocates; NULL: libc has no memory, or the table has none. zero: the block is cleared. */
void *plain_new(size_t bytes, size_t align, enum hw_alloc_kind kind, uint32_t stack, bool zero);

/* Describes the block at a start that is live or freed; false: its header is damaged, or no more
 * there. */
bool plain_describe(uint64_t start, bool live, struct guard_block *ret);

/* Does so for a live block that nobody else can free now. */
bool plain_describe_own(uint64_t start, struct guard_block *ret);

/* Checks a live block of which no more will be heard: reports what has changed next to it.
 * Returns false if its header is damaged. */
bool plain_check(const struct guard_block *block, struct guard_caller caller, uint32_t flags);

/* The block's mark has become TABLE_FREED: keeps it, and gives others back. */
void plain_keep(const struct guard_block *block, uint32_t stack);

/* Gives a block that was taken from the program back to libc at once, without keeping it. */
void plain_drop(const struct guard_block *block);

/* The same for a block of which nothing is known yet. Returns whether it did: not if there is
 * something to report, of the block or of how it is freed. */
bool plain_drop_good(uint64_t start, struct guard_freeing freeing);

/* The header is damaged: the block stays what it is for good. */
void plain_lose(uint64_t start);

/* Changes the size of a block as libc's realloc does, in place or moved. NULL: no memory. */
void *plain_resize(const struct guard_block *block, size_t bytes, uint32_t stack);

/* libc's functions as they are, while there are no tables. */
void *plain_new_raw(size_t bytes, size_t align, bool zero);
void plain_free_raw(void *block);
void *plain_resize_raw(void *block, size_t bytes);
size_t plain_size_raw(const void *block);

/* Whether the words around an address, which may be any, are those of a chunk of libc's that is in
 * use. */
bool plain_is_libcs(uint64_t address);

/* Whether a freed block is filled, so that it can be checked: not yet, while another thread frees
 * it. */
bool plain_is_kept(uint64_t start);

/* Checks a freed block that is still kept. */
void plain_check_kept(const struct guard_block *block, uint32_t flags);

/* What has changed next to a live block, or in a kept one, is not to be reported. No other thread
 * runs. */
void plain_pass_over(const struct guard_block *block);

/* A write next to the block, or to the freed block, was reported before it was made: what it
 * changes is not reported again. */
void plain_note_reported(uint64_t start);

/* Around a fork: no other thread is in the midst of the kept blocks. */
void plain_fork_prepare(void);
void plain_fork_done(bool child);

#endif
