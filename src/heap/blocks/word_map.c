/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "heap/inferred.h"
#include "heap/scan/shapes.h"
#include "heap/types/slots.h"

/* Of one type; those of a damaged file contain themselves. */
#define STEPS_MOST 4096u

struct mapping_words {
	struct types *types;
	struct word_map *map;
	unsigned steps;
	bool is_rust; /* the structure that is looked at */
};

/* Bits of the words that [offset, offset + size) touches. */
static uint64_t words_of(uint64_t offset, uint64_t size)
{
	uint64_t bits = 0, end = offset + size;
	for (uint64_t word = offset / 8; word < SHAPE_WORDS && 8 * word < end; word++)
		bits |= 1ull << word;
	return bits;
}

/* Whether a pointer may be kept in it without being declared. */
static bool may_hide(const struct type *type)
{
	return type->kind == TYPE_NUMBER && type->size == 8 && type->encoding == TYPE_UNSIGNED;
}

static bool is_bytes(const struct types *types, const struct type *array)
{
	const struct type *of = types_get(types, types_plain(types, array->target));
	return of->kind == TYPE_NUMBER && of->size == 1 && of->encoding != TYPE_BOOLEAN;
}

/* libstdc++ keeps the characters of short strings where long ones have their capacity. */
static void map_union(struct mapping_words *m, const struct type *type, uint64_t offset)
{
	for (uint32_t i = 0; i < type->member_count && !(offset % 8); i++) {
		const struct type_member *member = &type->members[i];
		if (member->name && !strcmp(member->name, "_M_local_buf") && !member->bits)
			m->map->texts |=
				words_of(offset, types_get(m->types, member->type)->size & ~7ull);
	}
}

static void map_words(struct mapping_words *m, uint32_t number, uint64_t offset, unsigned depth)
{
	number = types_plain(m->types, number);
	struct type type = *types_get(m->types, number);
	struct rust_container container;
	if (++m->steps > STEPS_MOST || depth > TYPES_DEPTH_MAX || offset / 8 >= SHAPE_WORDS)
		return;
	if (type.kind == TYPE_POINTER || type.kind == TYPE_REFERENCE) {
		uint64_t bit = offset % 8 ? 0 : 1ull << offset / 8;
		uint32_t target = types_plain(m->types, types_target(m->types, number));
		/* Those of Rust to things without a size, and to the elements that there are none
		 * of, are the size to which they are aligned. */
		if (m->is_rust && !slots_are_distinctive(m->types, target))
			return;
		m->map->pointers |= bit;
		if (types_get(m->types, target)->kind == TYPE_FUNCTION)
			m->map->code |= bit;
	} else if (type.kind == TYPE_MEMBER_POINTER) {
		/* What is called may be at the address of a function, or a number of a table's. */
		if (type.size == 16)
			m->map->data |= words_of(offset + 8, 8);
		else
			m->map->data |= words_of(offset, 8);
	} else if (type.kind == TYPE_ARRAY) {
		uint64_t size = types_get(m->types, type.target)->size;
		if (is_bytes(m->types, &type) && type.size % 8 == 0)
			return;
		for (uint64_t i = 0; i < type.count && size; i++) {
			map_words(m, type.target, offset + i * size, depth + 1);
			if (m->steps > STEPS_MOST || (offset + i * size) / 8 >= SHAPE_WORDS)
				break;
		}
	} else if (types_content(m->types, number) != TYPE_VOID) {
		map_words(m, types_content(m->types, number), offset, depth + 1);
	} else if (type.is_rust && rust_container_find(m->types, number, &container)) {
		return;
	} else if (type.kind == TYPE_STRUCT || type.kind == TYPE_CLASS) {
		bool was_rust = m->is_rust;
		m->is_rust = type.is_rust;
		for (uint32_t i = 0; i < type.member_count; i++) {
			const struct type_member *member = &type.members[i];
			if (member->kind == MEMBER_VIRTUAL_BASE)
				continue;
			uint64_t at = offset + member->bits / 8;
			if (member->kind == MEMBER_VTABLE)
				m->map->vtables |= words_of(at, 8);
			if (member->bit_size)
				m->map->data |= words_of(at, 1);
			else
				map_words(m, member->type, at, depth + 1);
		}
		m->is_rust = was_rust;
	} else if (type.kind == TYPE_UNION) {
		map_union(m, &type, offset);
	} else if (type.kind != TYPE_UNKNOWN && !may_hide(&type)) {
		m->map->data |= words_of(offset, type.size);
	}
}

void inferred_word_map(struct types *types, uint32_t type, struct word_map *ret)
{
	*ret = (struct word_map){.pointers = 0};
	struct mapping_words m = {.types = types, .map = ret};
	map_words(&m, type, 0, 0);
	ret->data &= ~ret->pointers;
	ret->texts &= ~ret->pointers;
}
