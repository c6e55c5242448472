/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/python/python.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096ull
/* So much of a module's data is in memory at once. */
#define PORTION_BYTES (1u << 20)
/* This many addresses are remembered as ones without a type: further ones are asked anew each time,
 * which takes longer. */
#define OTHERS_MAX (1u << 22)

/* Include/cpython/object.h, struct _typeobject: the same in all versions. */
#define TYPE_OF 1u /* words */
#define TYPE_NAME 3u
#define TYPE_BASIC 4u
#define TYPE_ITEM 5u
#define TYPE_FLAGS 21u
#define TYPE_BASE 32u
#define TYPE_WORDS 33u
#define FLAG_INLINE_VALUES (1ull << 2)
#define FLAG_MANAGED_DICT (1ull << 4)
#define FLAG_READY (1ull << 12)
#define FLAG_COLLECTED (1ull << 14)
/* tp_basicsize is that of the largest kind of strings. */
#define STRING_BYTES 40u

/* A type's type is `type` or derived from it: so far at most. */
#define HOPS 4u
#define BASIC_MAX (1u << 24)
#define BASES_MAX 64u
#define NAME_BYTES 256u

/* A name of Python's, with dots: ASCII, or UTF-8. */
static bool is_name(const char *name)
{
	if (!*name || *name == '.' || (*name >= '0' && *name <= '9'))
		return false;
	for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
		if (*at <= ' ' || *at == 0x7f)
			return false;
	}
	return true;
}

static bool python_has_name(const struct address_space *space, uint64_t at, const char *name)
{
	char text[NAME_BYTES];
	return address_space_string(space, at, text, sizeof(text)) && !strcmp(text, name);
}

/* Adds what of some words is a `type`: an object that is its own type, and is called so. */
static struct error *find_in_words(
	struct python *p, const uint64_t *words, size_t count, uint64_t start)
{
	for (size_t i = 0; i + TYPE_WORDS <= count; i++) {
		const uint64_t *type = words + i;
		uint64_t address = start + 8 * i;
		if (type[TYPE_OF] != address || type[TYPE_BASIC] < 8ull * TYPE_WORDS ||
			type[TYPE_BASIC] > BASIC_MAX || !(type[TYPE_FLAGS] & PYTHON_FLAG_TYPE) ||
			!python_has_name(p->space, type[TYPE_NAME], "type"))
			continue;
		if (!python_addresses_push(&p->roots, address))
			return error_no_memory();
	}
	return NULL;
}

/* Each portion has as much of the next as a `type` takes that begins with its last word. */
static struct error *python_find_in_map(struct python *p, const struct process_map *map)
{
	const size_t more = 8ul * (TYPE_WORDS - 1);
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES + more);
	if (!words)
		return error_no_memory();
	struct error *error = NULL;
	for (uint64_t at = map->start; at < map->end && !error; at += PORTION_BYTES) {
		at = address_space_next(p->space, at, map->end) & ~7ull;
		uint64_t left = map->end - at;
		size_t bytes = left < PORTION_BYTES + more ? (size_t)left : PORTION_BYTES + more;
		if (address_space_untouched(p->space, at, bytes) < bytes)
			error = find_in_words(
				p, words, address_space_read(p->space, at, words, bytes) / 8, at);
	}
	return error;
}

struct error *python_find(const struct address_space *space, struct python *ret)
{
	*ret = (struct python){.space = space, .others_most = OTHERS_MAX};
	struct error *error = NULL;
	arena_init(&ret->arena);
	for (size_t i = 0; i < space->maps.maps.len && !error; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (map->writable && map->inode && address_space_module(space, map->start))
			error = python_find_in_map(ret, map);
	}
	return error;
}

void python_close(struct python *python)
{
	python_addresses_deinit(&python->roots);
	python_types_deinit(&python->types);
	python_known_deinit(&python->known);
	arena_deinit(&python->arena);
}

/* They were found in ascending order. */
static bool is_root(const struct python *p, uint64_t address)
{
	size_t low = 0, high = p->roots.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->roots.data[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->roots.len && p->roots.data[low] == address;
}

/* Whether the types of what is at an address lead to `type`. */
static bool leads_to_type(const struct python *p, uint64_t address)
{
	for (unsigned i = 0; i < HOPS; i++) {
		if (address % 8 ||
			!address_space_word(p->space, address + 8ull * TYPE_OF, &address))
			return false;
		if (is_root(p, address))
			return true;
	}
	return false;
}

bool python_type_base(const struct python *p, uint64_t type, uint64_t *ret)
{
	return address_space_word(p->space, type + 8ull * TYPE_BASE, ret);
}

bool python_type_is(const struct python *p, uint64_t address, const char *name)
{
	for (unsigned i = 0; i < BASES_MAX && address; i++) {
		uint64_t text, base;
		if (!address_space_word(p->space, address + 8ull * TYPE_NAME, &text) ||
			!python_type_base(p, address, &base))
			return false;
		if (python_has_name(p->space, text, name))
			return true;
		address = base;
	}
	return false;
}

static enum python_parts parts_of(const struct python *p, uint64_t address, uint64_t flags)
{
	if (flags & PYTHON_FLAG_DICT)
		return PYTHON_PARTS_DICT;
	if (flags & PYTHON_FLAG_LIST)
		return PYTHON_PARTS_LIST;
	if (flags & PYTHON_FLAG_TYPE)
		return PYTHON_PARTS_TYPE;
	if (python_type_is(p, address, "set") || python_type_is(p, address, "frozenset"))
		return PYTHON_PARTS_SET;
	return PYTHON_PARTS_NONE;
}

/* False: no type is there. */
static bool read_type(struct python *p, uint64_t address, struct python_type *ret)
{
	uint64_t words[TYPE_WORDS];
	char name[NAME_BYTES];
	if (!leads_to_type(p, address) ||
		address_space_read(p->space, address, words, sizeof(words)) != sizeof(words) ||
		words[TYPE_BASIC] < 16 || words[TYPE_BASIC] > BASIC_MAX ||
		words[TYPE_ITEM] > BASIC_MAX || !(words[TYPE_FLAGS] & FLAG_READY) ||
		!address_space_string(p->space, words[TYPE_NAME], name, sizeof(name)) ||
		!is_name(name))
		return false;
	uint64_t flags = words[TYPE_FLAGS];
	*ret = (struct python_type){.address = address,
		.name = arena_strdup(&p->arena, name),
		.basic_bytes = flags & PYTHON_FLAG_TEXT ? STRING_BYTES : words[TYPE_BASIC],
		.own_bytes = words[TYPE_BASIC],
		.item_bytes = words[TYPE_ITEM],
		.flags = flags,
		.collected = flags & FLAG_COLLECTED,
		.has_values = flags & (FLAG_MANAGED_DICT | FLAG_INLINE_VALUES),
		.parts = parts_of(p, address, flags)};
	return ret->name;
}

/* Types are larger than pymalloc's blocks: most of what objects point to is none at a glance. */
static bool is_small(struct python *p, uint64_t address)
{
	if (address - p->low < p->high - p->low)
		return true;
	const struct heap_area *area = p->areas ? heap_areas_find(p->areas, address) : NULL;
	if (!area || area->allocator != HEAP_PYMALLOC)
		return false;
	p->low = area->start;
	p->high = area->end;
	return true;
}

const struct python_type *python_type(struct python *python, uint64_t address)
{
	if (address % 8 || !address || is_small(python, address))
		return NULL;
	const uint32_t *known = python_known_find(&python->known, address);
	if (known)
		return *known ? &python->types.data[*known - 1] : NULL;
	struct python_type type;
	bool is_type = read_type(python, address, &type);
	if (!is_type && python->known.len - python->types.len >= python->others_most)
		return NULL;
	uint32_t *number = python_known_insert(&python->known, address, NULL);
	if (!number)
		return NULL;
	*number = 0;
	if (!is_type || !python_types_push(&python->types, type))
		return NULL;
	*number = (uint32_t)python->types.len;
	return &python->types.data[*number - 1];
}

const struct python_type *python_type_known(const struct python *python, uint64_t address)
{
	const uint32_t *known = python_known_find(&python->known, address);
	return known && *known ? &python->types.data[*known - 1] : NULL;
}

const struct python_type *python_type_of(struct python *python, uint64_t object)
{
	uint64_t type;
	if (object % 8 || !address_space_word(python->space, object + 8ul * TYPE_OF, &type))
		return NULL;
	return python_type(python, type);
}

/* With PYTHONMALLOC=debug two words are before all that: the size, and a letter (raw, memory,
 * object) with bytes that are always the same (Objects/obmalloc.c). What is too large for pymalloc
 * comes from the raw allocator, which is debugged, too, and has them twice. */
#define DEBUG_WORDS 2u
#define DEBUG_TIMES 2u
#define DEBUG_MARK 0xfdfdfdfdfdfdfd00ull

unsigned python_debug_words(uint64_t size, const uint8_t *bytes)
{
	unsigned words = 0;
	for (unsigned i = 0; i < DEBUG_TIMES && size >= 8ul * (words + DEBUG_WORDS + 2); i++) {
		uint64_t word;
		memcpy(&word, bytes + 8ul * (words + 1), sizeof(word));
		if ((word & ~0xffull) != DEBUG_MARK)
			break;
		words += DEBUG_WORDS;
	}
	return words;
}

/* A reference count, as far as it is not of one that lives forever (3.12 and later). */
#define REFERENCES_MAX UINT32_MAX

unsigned python_head(struct python *python, uint64_t size, const uint8_t *bytes, uint64_t pointers,
	uint64_t *ret)
{
	static const uint8_t places[] = {1, 3, 5};
	unsigned before = pointers & ~7ull ? python_debug_words(size, bytes) : 0;
	for (unsigned i = 0; i < sizeof(places); i++) {
		unsigned word = places[i] + before;
		uint64_t pair[2];
		if (!(pointers >> word & 1))
			continue;
		memcpy(pair, bytes + 8ul * (word - 1), sizeof(pair));
		/* What the interpreter keeps for the next of its type has none. */
		if ((!pair[0] && !i) || pair[0] > REFERENCES_MAX)
			continue;
		const struct python_type *type = python_type(python, pair[1]);
		if (type && type->collected == (i > 0) &&
			type->basic_bytes + 8ul * (word - 1) <= size) {
			python->is_debugged |= before > 0;
			*ret = pair[1];
			return word;
		}
	}
	return 0;
}
