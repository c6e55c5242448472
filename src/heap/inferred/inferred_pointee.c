/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_pointee.h"

#include <ctype.h>
#include <string.h>

#include "heap/inferred/inferred_find.h"

/* Of pointers to pointers. */
#define DEPTH_MOST 3u
#define TEXT_LOOKED_AT 16u

static bool is_byte(const struct type *type)
{
	return type->kind == TYPE_NUMBER && type->size == 1 && type->encoding != TYPE_BOOLEAN;
}

/* What is known of a block beside a declaration. A base class may be anywhere in an object. */
static enum pointee classify_known(const struct inferring *f, uint32_t heap_type, uint32_t target)
{
	const struct heap_type *known = &f->scan->types.types.data[heap_type];
	if (is_byte(types_get(f->types, target)))
		return POINTEE_MAY_BE;
	if (known->kind == HEAP_TYPE_STRING)
		return POINTEE_DENIES;
	if (known->layout == TYPE_VOID)
		return POINTEE_MAY_BE;
	uint32_t layout = types_plain(f->types, known->layout);
	if (types_begins_with(f->types, layout, target))
		return POINTEE_AGREES;
	bool may_derive = known->kind == HEAP_TYPE_CXX || known->kind == HEAP_TYPE_CONTAINER ||
			  types_begins_with(f->types, target, layout);
	return may_derive ? POINTEE_MAY_BE : POINTEE_DENIES;
}

/* Words of the target's that are in the block's first ones. */
static uint64_t own_words(const struct fact *fact)
{
	return fact->size / 8 < SHAPE_WORDS ? (1ull << fact->size / 8) - 1 : UINT64_MAX;
}

bool inferred_can_be_pointers(const struct inferring *inferring, const struct heap_shape *class,
	uint64_t address, uint64_t words)
{
	const struct address_space *space = inferring->scan->heap.space;
	/* Classes know that of most. */
	uint64_t doubtful = words & ~class->key.pointers & ~class->nulls;
	for (; doubtful; doubtful &= doubtful - 1) {
		uint64_t word, at = address + 8 * (uint64_t)__builtin_ctzll(doubtful);
		if (8 * (uint64_t)__builtin_ctzll(doubtful) + 8 > class->key.size)
			return false;
		/* Pointers to characters may be odd. */
		if (address_space_read(space, at, &word, 8) == 8 && word &&
			!address_space_map(space, word))
			return false;
	}
	return true;
}

static enum pointee classify_class(
	struct inferring *f, uint32_t class_number, uint64_t address, uint32_t target)
{
	const struct heap_shape *class = &f->scan->classes.classes.data[class_number];
	const struct type *type = types_get(f->types, target);
	struct fact *fact = inferred_fact(f, target);
	if (!fact || !fact->size)
		return POINTEE_MAY_BE;
	if (type_has_members(type) &&
		(class->key.pointers & fact->map.data & own_words(fact) ||
			!inferred_can_be_pointers(f, class, address, fact->map.pointers) ||
			inferred_breaks_values(f, address, target)))
		return POINTEE_DENIES;
	uint32_t expected = f->alike[class_number];
	if (expected != HEAP_TYPE_NONE &&
		types_begins_with(f->types,
			types_plain(f->types, f->scan->types.types.data[expected].layout), target))
		return POINTEE_AGREES;
	/* The end of a list, which has no pointers any more, looks like nothing. */
	bool is_likely = type_has_members(type) &&
			 inferred_is_single(f, target, class->key.size, class->key.pointers);
	return is_likely ? POINTEE_AGREES : POINTEE_MAY_BE;
}

static enum pointee classify_text(const struct inferring *f, uint64_t address)
{
	uint8_t bytes[TEXT_LOOKED_AT];
	size_t got = address_space_read(f->scan->heap.space, address, bytes, sizeof(bytes));
	for (size_t i = 0; i < got; i++) {
		if (!bytes[i])
			return i ? POINTEE_AGREES : POINTEE_MAY_BE;
		if (!isprint(bytes[i]) && !isspace(bytes[i]) && bytes[i] < 0x80)
			return POINTEE_MAY_BE;
	}
	return POINTEE_AGREES;
}

static enum pointee inferred_pointee_classify(
	struct inferring *f, uint64_t address, uint32_t target, unsigned depth);

/* A pointer to a pointer: what the first one leads to. */
static enum pointee classify_pointer(
	struct inferring *f, uint64_t address, uint32_t target, unsigned depth)
{
	uint64_t word;
	if (address_space_read(f->scan->heap.space, address, &word, 8) != 8 || !word)
		return POINTEE_MAY_BE;
	if (!address_space_map(f->scan->heap.space, word))
		return POINTEE_DENIES;
	return inferred_pointee_classify(
		f, word, types_plain(f->types, types_target(f->types, target)), depth + 1);
}

static enum pointee inferred_pointee_classify(
	struct inferring *f, uint64_t address, uint32_t target, unsigned depth)
{
	const struct type *type = types_get(f->types, target);
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (!slots_are_distinctive(f->types, target) || depth > DEPTH_MOST)
		return POINTEE_MAY_BE;
	if (block == SPACE_NONE)
		return is_byte(type) && address ? classify_text(f, address) : POINTEE_MAY_BE;
	if (search_block_size(f->search, block) - offset < type->size)
		return POINTEE_DENIES;
	if (is_byte(type))
		return classify_text(f, address);
	if (type->kind == TYPE_POINTER)
		return classify_pointer(f, address, target, depth);
	if (offset)
		return POINTEE_MAY_BE;
	struct block_label label = block_label(f->search, block);
	uint32_t known = heap_types_of_label(&f->scan->types, label);
	if (known == HEAP_TYPE_NONE)
		return classify_class(f, heap_types_shape(&f->scan->types, label), address, target);
	enum pointee judged = classify_known(f, known, target);
	/* A guess denies no other guess. */
	bool is_guess = inferred_bit(f->scan->alike.looks, block);
	return judged == POINTEE_DENIES && is_guess ? POINTEE_MAY_BE : judged;
}

enum pointee inferred_pointee(struct inferring *inferring, uint64_t address, uint32_t target)
{
	return inferred_pointee_classify(inferring, address, target, 0);
}
