/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to types*.c: how types are kept. */
#ifndef SYMBOLS_TYPE_STORE_H
#define SYMBOLS_TYPE_STORE_H

#include "symbols/split/opened.h"
#include "symbols/strings.h"
#include "symbols/types.h"
#include "symbols/types/outline.h"

/* Whether a type has a virtual base anywhere inside. */
enum known_bases {
	BASES_NOT_LOOKED,
	BASES_NONE, /* also while that is being looked for */
	BASES_VIRTUAL,
};

/* A type, and what is read of it later. */
struct type_made {
	struct type type;
	Dwarf_Die target; /* .addr NULL: there is none, or it was read */
	Dwarf_Die *arguments;
	uint32_t argument_count;
	bool from_outline; /* was given out by types_each() */
	enum known_bases bases;
};
DEFINE_VEC(type_store, struct type_made)
DEFINE_VEC(member_vec, struct type_member)

/* What two descriptions of one type have in common. */
struct die_key {
	const char
		*name; /* kept, so the pointer tells; of a type without a name its first member's */
	const char *around; /* of a type without a name: the class that it is in; or NULL */
	uint64_t size;
	uint32_t line, tag;
};
static inline uint64_t type_key_hash(struct die_key key)
{
	return hash_u64((uint64_t)(uintptr_t)key.name ^ hash_u64(key.size << 32 | key.line)) ^
	       hash_u64((uint64_t)(uintptr_t)key.around) ^ key.tag;
}
static inline bool type_key_equal(struct die_key a, struct die_key b)
{
	return a.name == b.name && a.around == b.around && a.size == b.size && a.line == b.line &&
	       a.tag == b.tag;
}
DEFINE_MAP(type_key_map, struct die_key, uint32_t, type_key_hash, type_key_equal)
DEFINE_MAP(type_name_map, const char *, uint32_t, string_hash, string_equal)
DEFINE_VEC(module_numbers, uint32_t)

/* An entry of a structure that begins with a smaller one. */
struct beginning {
	uint64_t of_part, size; /* bytes: of the smaller one, and of its own */
	Dwarf_Die whole;
};
DEFINE_VEC(beginning_vec, struct beginning)

struct beginning_key {
	uint64_t name, size, of_part; /* name: its hash */
	uint32_t line;
};
static inline uint64_t beginning_hash(struct beginning_key key)
{
	return hash_u64(key.name ^ hash_u64(key.size << 32 | key.line)) ^ key.of_part;
}
static inline bool beginning_equal(struct beginning_key a, struct beginning_key b)
{
	return a.name == b.name && a.size == b.size && a.of_part == b.of_part && a.line == b.line;
}
DEFINE_MAP(beginning_set, struct beginning_key, uint8_t, beginning_hash, beginning_equal)

struct types {
	struct symbols *symbols;
	struct outline outline;
	struct module_numbers modules;   /* that were added … */
	struct module_numbers described; /* … and of these those with debug information */
	struct type_store made;
	struct outline_map of_die; /* by the address of an entry: number of its type */
	struct type_key_map by_key;
	struct type_name_map by_name; /* numbers in outline.types: of what is described */
	size_t named;                 /* this many of these are in by_name */
	struct beginning_vec beginnings;
	struct beginning_set beginning_set;
	size_t begun; /* this many of the outline's types are in them */
	struct strings strings;
	const Dwarf_Die *around; /* of the class with a name that is just read; NULL: none */
	const char *around_name;
	struct member_vec scratch; /* members of the types that are just read */
	unsigned depth;
	bool failed;
};

static inline struct type_made *type_store_at(struct types *types, uint32_t number)
{
	return &types->made.data[number < types->made.len ? number : TYPE_VOID];
}

/* Returns the type that an entry describes; TYPE_VOID if it can't be read. */
uint32_t types_of_die(struct types *types, Dwarf_Die *die);

/* Returns the outline's number of a type that is described, by its whole name; NULL: none. */
const uint32_t *types_named(struct types *types, const char *name);

#endif
