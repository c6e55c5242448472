/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: an address is looked up; any thread, any moment. May touch: the table, headers of
 * blocks, slots. */
#include "runtime/guard/guard.h"
#include "runtime/guard/plain.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/table.h"

uint64_t guard_largest; /* bytes of the largest plain block so far; relaxed */

static enum guard_where where_in(const struct guard_block *block, uint64_t address)
{
	if (address < block->start)
		return GUARD_BEFORE;
	return address - block->start < block->bytes ? GUARD_INSIDE : GUARD_AFTER;
}

static enum guard_where find_slot(uint64_t address, struct guard_block *ret)
{
	const struct guard_slot *slot = slots_nearest(address);
	if (!slot)
		return GUARD_NOWHERE;
	slots_describe(slot, ret);
	return where_in(ret, address);
}

/* The block that begins right after, if the address is in its header. */
static bool find_next(uint64_t address, struct guard_block *ret)
{
	uint64_t next = (address | 15) + 1;
	const uint8_t *mark = table_mark(next);
	uint8_t is = mark ? __atomic_load_n(mark, __ATOMIC_ACQUIRE) : (uint8_t)TABLE_NONE;
	return (is == TABLE_LIVE || is == TABLE_FREED) &&
	       plain_describe(next, is == TABLE_LIVE, ret);
}

enum guard_where guard_find(uint64_t address, struct guard_block *ret)
{
	struct guard_block block;
	uint64_t start, most = __atomic_load_n(&guard_largest, __ATOMIC_RELAXED) + GUARD_NEAR;
	if (__atomic_load_n(&guard_readiness, __ATOMIC_ACQUIRE) != GUARD_READY)
		return GUARD_NOWHERE;
	if (slots_have(address))
		return find_slot(address, ret);
	enum table_mark mark = table_before(address, most, &start);
	bool found = mark != TABLE_NONE && plain_describe(start, mark == TABLE_LIVE, &block);
	if (found && address - start < block.bytes) {
		*ret = block;
		return GUARD_INSIDE;
	}
	if (find_next(address, ret))
		return GUARD_BEFORE;
	if (!found || address - start - block.bytes >= GUARD_NEAR)
		return GUARD_NOWHERE;
	*ret = block;
	return GUARD_AFTER;
}

/*
 * The copy is one instruction; where the source can't be read the handler of faults continues at
 * guard_peek_failed.
 */
__asm__(".text\n"
	".hidden guard_peek\n"
	".globl guard_peek\n"
	".type guard_peek, @function\n"
	"guard_peek:\n"
	"	mov %rdx, %rcx\n"
	".hidden guard_peek_pc\n"
	".globl guard_peek_pc\n"
	"guard_peek_pc:\n"
	"	rep movsb\n"
	"	mov $1, %eax\n"
	"	ret\n"
	".hidden guard_peek_failed\n"
	".globl guard_peek_failed\n"
	"guard_peek_failed:\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size guard_peek, . - guard_peek\n"
	".hidden guard_peek_word\n"
	".globl guard_peek_word\n"
	".type guard_peek_word, @function\n"
	"guard_peek_word:\n"
	"	mov (%rdi), %rax\n"
	"	ret\n"
	".hidden guard_peek_word_failed\n"
	".globl guard_peek_word_failed\n"
	"guard_peek_word_failed:\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size guard_peek_word, . - guard_peek_word\n");
