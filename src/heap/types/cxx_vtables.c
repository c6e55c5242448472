/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/heap_scan.h"
#include "heap/types/recognisers.h"

/* Most names are shorter; those of templates may be as long as they like. What goes on for so long
 * is no name. */
#define NAME_BYTES 4096u
#define NAME_BYTES_MAX (16u << 20)
/* No program has so much of long names; a damaged core may seem to have one for each class. */
#define LONG_NAMES_BYTES_MAX (1ull << 30)
/* Before a table's first function (Itanium C++ ABI, 2.5.2): the distance to the object's beginning,
 * and the address of its class's description. */
#define TO_TOP 16u
#define DESCRIPTION 8u
/* The classes that descriptions are objects of are described themselves, and named so. */
#define DESCRIBED_BY "N10__cxxabiv1"

static inline uint64_t head_hash(uint64_t head)
{
	return hash_u64(head);
}
static inline bool head_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(head_types, uint64_t, uint32_t, head_hash, head_equal)

/* There are three such tables, and as many of each library that is there twice. */
#define TABLES_KNOWN 16u

struct recognising {
	const struct address_space *space;
	struct heap_names *names;
	struct heap_types *types;
	struct head_types known; /* the types of heads that were asked for */
	uint64_t tables[TABLES_KNOWN];
	bool answers[TABLES_KNOWN]; /* whether what begins with that table is a description */
	unsigned table_count;
	uint64_t long_bytes;    /* that were read for names longer than NAME_BYTES */
	bool is_cxx, was_asked; /* whether the program is of C++ */
};

static bool cxx_vtables_is_library(const char *path)
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	return !strncmp(base, "libstdc++", 9) || !strncmp(base, "libc++", 6);
}

/* Whether a table is one of those that descriptions of classes begin with. */
static struct error *ask_table(struct recognising *r, uint64_t table, bool *ret)
{
	char name[64];
	uint64_t own, text;
	*ret = false;
	if (address_space_word(r->space, table - DESCRIPTION, &own) &&
		address_space_module(r->space, own) &&
		address_space_word(r->space, own + 8, &text) &&
		address_space_read(r->space, text, name, sizeof(name)) == sizeof(name)) {
		const char *from = name[0] == '*' ? name + 1 : name;
		*ret = !strncmp(from, DESCRIBED_BY, sizeof(DESCRIBED_BY) - 1);
		return NULL;
	}
	struct heap_place place;
	struct error *error = heap_names_place(r->names, r->space, table, &place);
	if (!error && place.module)
		*ret = place.name ? !strncmp(place.name, "vtable for __cxxabiv1::", 23)
				  : cxx_vtables_is_library(place.module->path);
	return error;
}

static struct error *is_description(struct recognising *r, uint64_t address, bool *ret)
{
	uint64_t table;
	*ret = false;
	if (address % 8 || !address_space_module(r->space, address) ||
		!address_space_word(r->space, address, &table) || table % 8 ||
		!address_space_module(r->space, table))
		return NULL;
	for (unsigned i = 0; i < r->table_count; i++) {
		if (r->tables[i] == table) {
			*ret = r->answers[i];
			return NULL;
		}
	}
	struct error *error = ask_table(r, table, ret);
	if (r->table_count < TABLES_KNOWN) {
		r->tables[r->table_count] = table;
		r->answers[r->table_count++] = *ret;
	}
	return error;
}

/* The place of a table stands for its class. */
static void cxx_vtables_add_place(
	struct text *text, const char *word, const struct address_module *module, uint64_t head)
{
	const char *base = strrchr(module->path, '/');
	text_printf(text, "%s %s+0x%" PRIx64, word, base ? base + 1 : module->path,
		head - module->start);
}

/* "vtable for X", "construction vtable for X-in-Y": X. */
static bool add_symbol(struct text *text, const char *symbol)
{
	static const char plain[] = "vtable for ", making[] = "construction vtable for ";
	if (!strncmp(symbol, plain, sizeof(plain) - 1)) {
		cxx_add_plain_name(text, symbol + sizeof(plain) - 1);
		return true;
	}
	if (strncmp(symbol, making, sizeof(making) - 1) != 0)
		return false;
	_cleanup_free_ char *class = strdup(symbol + sizeof(making) - 1);
	char *end = class ? strstr(class, "-in-") : NULL;
	if (!end)
		return false;
	*end = '\0';
	cxx_add_plain_name(text, class);
	return true;
}

static bool is_code(const struct address_space *space, uint64_t address)
{
	const struct process_map *map = address_space_map(space, address);
	return map && map->executable;
}

/* By its symbol; else its place stands for it, unless its symbol says that it is no such table. */
static struct error *name_by_place(
	struct recognising *r, uint64_t head, bool described, struct text *name)
{
	struct heap_place place;
	uint64_t first;
	struct error *error = heap_names_place(r->names, r->space, head, &place);
	if (error || !place.module || (place.name && add_symbol(name, place.name)))
		return error;
	if (described)
		cxx_vtables_add_place(name, "vtable", place.module, head);
	else if (!place.name && address_space_word(r->space, head, &first) &&
		 is_code(r->space, first))
		cxx_vtables_add_place(name, "table of functions", place.module, head);
	return NULL;
}

/* The string at an address; NULL: there is none. False: no memory. */
static bool read_name(struct recognising *r, uint64_t at, char **ret)
{
	const struct address_space *space = r->space;
	for (size_t room = NAME_BYTES; room <= NAME_BYTES_MAX; room *= 8) {
		char last, *text;
		if (room > NAME_BYTES && (r->long_bytes += room) > LONG_NAMES_BYTES_MAX)
			break;
		text = malloc(room);
		if (!text)
			return false;
		if (address_space_string(space, at, text, room)) {
			*ret = text;
			return true;
		}
		free(text);
		/* It ends with the memory that there is. */
		if (address_space_read(space, at + room - 1, &last, 1) != 1)
			break;
	}
	return true;
}

static struct error *name_by_description(
	struct recognising *r, uint64_t head, uint64_t description, struct text *name)
{
	uint64_t at;
	_cleanup_free_ char *text = NULL;
	r->is_cxx = true;
	if (address_space_word(r->space, description + 8, &at) &&
		address_space_module(r->space, at) && !read_name(r, at, &text))
		return error_no_memory();
	if (!text || !text[0])
		return name_by_place(r, head, true, name);
	cxx_add_class_name(name, text[0] == '*' ? text + 1 : text);
	return NULL;
}

/* Without descriptions: it may be one if it begins with a pointer into a module, and there is C++
 * at all. */
static bool is_undescribed(struct recognising *r, uint64_t head)
{
	uint64_t first;
	if (!address_space_word(r->space, head, &first) || !address_space_module(r->space, first))
		return false;
	if (!r->is_cxx && !r->was_asked)
		r->is_cxx = cxx_is_there(r->space);
	r->was_asked = true;
	return r->is_cxx;
}

/* The name of the class whose table a head is; nothing: it is none. */
static struct error *name_head(struct recognising *r, uint64_t head, struct text *name)
{
	uint64_t to_top, description;
	bool described = false;
	if (head % 8 || !address_space_word(r->space, head - TO_TOP, &to_top) ||
		!address_space_word(r->space, head - DESCRIPTION, &description) || to_top)
		return NULL;
	struct error *error = description ? is_description(r, description, &described) : NULL;
	if (!error && described)
		error = name_by_description(r, head, description, name);
	else if (!error && !description && is_undescribed(r, head))
		error = name_by_place(r, head, false, name);
	return error ? error : name->failed ? error_no_memory() : NULL;
}

static struct error *type_of_head(struct recognising *r, uint64_t head, uint32_t *ret)
{
	const uint32_t *known = head_types_find(&r->known, head);
	if (known) {
		*ret = *known;
		return NULL;
	}
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	*ret = HEAP_TYPE_NONE;
	struct error *error = name_head(r, head, &name);
	if (!error && name.len)
		error = heap_types_add(r->types, HEAP_TYPE_CXX, name.data, ret);
	if (error)
		return error;
	uint32_t *at = head_types_insert(&r->known, head, NULL);
	if (!at)
		return error_no_memory();
	*at = *ret;
	return NULL;
}

struct error *cxx_objects_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	const struct heap_shapes *classes = &scan->classes;
	struct heap_types *types = &scan->types;
	struct recognising r = {.space = scan->heap.space, .names = scan->names, .types = types};
	(void)subset;
	struct error *error = NULL;
	for (uint32_t i = 0; i < classes->classes.len && !error; i++) {
		uint64_t head = classes->classes.data[i].key.head;
		uint32_t type = HEAP_TYPE_NONE;
		if (head && types->of_shape[i] == HEAP_TYPE_NONE)
			error = type_of_head(&r, head, &type);
		if (type != HEAP_TYPE_NONE)
			heap_types_assign(types, i, type);
	}
	head_types_deinit(&r.known);
	return error;
}

/* Whether a mapping has the name in it. */
static bool cxx_vtables_has_name(
	const struct address_space *space, const struct process_map *map, char *bytes)
{
	const size_t portion = 1u << 20, more = sizeof(DESCRIBED_BY);
	for (uint64_t at = map->start; at < map->end; at += portion) {
		at = address_space_next(space, at, map->end);
		uint64_t left = map->end - at;
		size_t wanted = left < portion + more ? (size_t)left : portion + more;
		size_t n = address_space_read(space, at, bytes, wanted);
		if (memmem(bytes, n, DESCRIBED_BY, sizeof(DESCRIBED_BY) - 1))
			return true;
	}
	return false;
}

bool cxx_is_there(const struct address_space *space)
{
	for (size_t i = 0; i < space->modules.len; i++) {
		if (cxx_vtables_is_library(space->modules.data[i].path))
			return true;
	}
	_cleanup_free_ char *bytes = malloc((1u << 20) + sizeof(DESCRIBED_BY));
	for (size_t i = 0; bytes && i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		const struct address_module *module = address_space_module(space, map->start);
		if (module && module->executable && map->readable && !map->writable &&
			!map->executable && cxx_vtables_has_name(space, map, bytes))
			return true;
	}
	return false;
}
