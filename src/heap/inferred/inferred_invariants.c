/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the words of a member agree in that is a vector or a string of libstdc++'s or libc++'s: a
 * block that only looks like an object with one has to keep that, too.
 */
#include <string.h>

#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_rules.h"

#define VECTOR_BYTES 24u
#define STRING_BYTES 32u
/* libstdc++ keeps this many characters in the string itself, there. */
#define SHORT_MOST 15u
#define SHORT_AT 16u
#define BYTES_MOST (1ull << 40)

static bool inferred_invariants_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

enum alike_kind alike_rule_of_object(const struct type *type)
{
	const char *name = type->name ? type->name : "";
	if (type->size == VECTOR_BYTES && !strstr(name, "vector<bool") &&
		(inferred_invariants_begins(name, "std::vector<") ||
			inferred_invariants_begins(name, "std::__1::vector<")))
		return ALIKE_VECTOR;
	if (type->size == STRING_BYTES &&
		inferred_invariants_begins(name, "std::__cxx11::basic_string<char,"))
		return ALIKE_STRING;
	return ALIKE_NOTHING;
}

/* Whether an address is where this many bytes can be that were allocated. What is in no block an
 * allocator of the program's own may have given. */
static bool has_room(const struct inferring *f, uint64_t address, uint64_t bytes)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (block == SPACE_NONE)
		return address_space_map(f->scan->heap.space, address);
	return !offset && bytes <= search_block_size(f->search, block);
}

static bool is_vector(struct inferring *f, uint32_t type, const uint64_t words[3])
{
	uint64_t start = words[0], finish = words[1], end = words[2];
	if (!start)
		return !finish && !end;
	if (finish < start || end < finish || end - start > BYTES_MOST ||
		!has_room(f, start, end - start))
		return false;
	uint32_t element;
	uint64_t size = types_argument(f->types, type, 0, &element)
				? types_get(f->types, types_plain(f->types, element))->size
				: 0;
	return !size || (!((finish - start) % size) && !((end - start) % size));
}

static bool is_string(struct inferring *f, uint64_t address, const uint64_t words[3])
{
	uint64_t start = words[0], length = words[1], capacity = words[2];
	uint8_t end = 1;
	if (start == address + SHORT_AT)
		capacity = SHORT_MOST;
	else if (capacity > BYTES_MOST || !has_room(f, start, capacity + 1))
		return false;
	return length <= capacity &&
	       address_space_read(f->scan->heap.space, start + length, &end, 1) == 1 && !end;
}

bool inferred_keeps_invariant(struct inferring *inferring, const struct alike_rule *rule,
	uint64_t address, const uint8_t *bytes)
{
	uint64_t words[3];
	memcpy(words, bytes, sizeof(words));
	return rule->kind == ALIKE_VECTOR ? is_vector(inferring, rule->type, words)
					  : is_string(inferring, address, words);
}
