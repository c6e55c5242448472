/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays of C++ objects that are destroyed one by one: `new T[n]` puts the number before the first
 * element, and the program has a pointer after it (Itanium C++ ABI, 2.7). So does a structure with
 * a member of the type after a number: the number must fit the block, and be two at least.
 */
#include "base/cleanup.h"
#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_pools.h"

#define COUNT_LEAST 2u
/* Of elements that are aligned to more than a word the number is right before them. */
#define HEADER_MOST 64u
/* glibc rounds up by so much; its smallest block. */
#define GLIBC_STEP 16u
#define GLIBC_LEAST 24u

/* What a type says of words, of each element. */
static uint64_t of_elements(const struct fact *fact, uint64_t bits, uint64_t header, uint64_t count)
{
	uint64_t all = 0;
	for (uint64_t i = 0; i < count && (header + i * fact->size) / 8 < SHAPE_WORDS; i++)
		all |= bits << (header + i * fact->size) / 8;
	return all;
}

/* Whether words that are no pointers to multiples of 8 lead somewhere all the same: to characters,
 * or after the last of them. */
static bool lead_somewhere(const struct inferring *f, uint64_t start, uint64_t bits)
{
	const struct address_space *space = f->scan->heap.space;
	for (uint64_t left = bits; left; left &= left - 1) {
		uint64_t word, at = start + 8ull * (unsigned)__builtin_ctzll(left);
		if (!address_space_word(space, at, &word) ||
			(word && !address_space_map(space, word)))
			return false;
	}
	return true;
}

static bool may_be(const struct inferring *f, const struct fact *fact, uint32_t block,
	uint64_t header, uint64_t count)
{
	uint32_t class = block_first_shape(f->search, block);
	const struct heap_shape *of = &f->scan->classes.classes.data[class];
	if (fact->size % 8)
		return true;
	uint64_t data = of_elements(fact, fact->map.data, header, count);
	uint64_t pointers = of_elements(fact, fact->map.pointers, header, count);
	/* After the last one are stale bytes. */
	uint64_t end = (header + count * fact->size) / 8;
	uint64_t own = end < SHAPE_WORDS ? (1ull << end) - 1 : UINT64_MAX;
	return !(of->key.pointers & data) &&
	       lead_somewhere(f, search_block_address(f->search, block),
		       pointers & own & ~of->key.pointers & ~of->nulls);
}

/* Whether an allocator returns exactly that for a request of this size: little else is evidence for
 * it. */
static bool is_tight(const struct inferring *f, uint64_t wanted, uint64_t usable)
{
	return inferred_is_close(f, wanted, usable) &&
	       (f->loose || usable - wanted < GLIBC_STEP || usable == GLIBC_LEAST);
}

static bool inferred_counted_claim(
	struct inferring *f, uint32_t block, uint64_t header, uint32_t type)
{
	const struct type *of = types_get(f->types, type);
	struct block_label label = block_label(f->search, block);
	uint64_t usable = search_block_size(f->search, block), count;
	if (header % 8 || !header || header > HEADER_MOST || header >= usable ||
		!type_has_members(of) || of->is_c ||
		heap_types_shape(&f->scan->types, label) == HEAP_SHAPE_NONE ||
		heap_types_of_label(&f->scan->types, label) != HEAP_TYPE_NONE)
		return false;
	struct fact *fact = inferred_fact(f, type);
	uint64_t address = search_block_address(f->search, block) + header - 8;
	if (!fact || !fact->size || !address_space_word(f->scan->heap.space, address, &count) ||
		count < COUNT_LEAST || count > (usable - header) / fact->size ||
		!is_tight(f, header + count * fact->size, usable) ||
		!may_be(f, fact, block, header, count))
		return false;
	uint32_t found = inferred_counted_type(f, type, header, address + 8);
	if (found == HEAP_TYPE_NONE)
		return false;
	inferred_assign_block(f, block, found);
	inferred_push(f, block, found);
	return true;
}

bool inferred_claim_counted(
	struct inferring *inferring, uint32_t block, uint64_t header, uint32_t type)
{
	bool is_new_type = inferred_counted_claim(inferring, block, header, type);
	if (!is_new_type)
		inferred_take_place(inferring, block, header, type);
	return is_new_type;
}
