/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/types/rust.h"

/* After others, these arguments say nothing. */
static const char *const defaults[] = {"alloc::alloc::Global", "std::hash::random::RandomState",
	"std::collections::hash::map::RandomState"};
/* Types whose paths are not written. */
static const char *const libraries[] = {"alloc::", "core::", "std::", "hashbrown::"};

static bool is_path(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == ':' || c == '{' || c == '}' ||
	       c == '#' || (unsigned char)c >= 0x80;
}

static size_t path_len(const char *at)
{
	size_t len = 0;
	while (is_path(at[len]))
		len++;
	return len;
}

/* The length of a default at the beginning; 0: none. */
static size_t default_len(const char *at)
{
	size_t len = path_len(at);
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (len == strlen(defaults[i]) && !strncmp(at, defaults[i], len) &&
			(at[len] == '>' || at[len] == ','))
			return len;
	}
	return 0;
}

/* After the last "::" of a library's path. */
static const char *own_part(const char *path, size_t len)
{
	bool is_library = false;
	for (size_t i = 0; i < ARRAY_SIZE(libraries) && !is_library; i++)
		is_library = !strncmp(path, libraries[i], strlen(libraries[i]));
	const char *part = path;
	for (size_t i = 0; is_library && i + 2 < len; i++) {
		if (path[i] == ':' && path[i + 1] == ':')
			part = path + i + 2;
	}
	return part;
}

static void rust_names_add_plain(struct text *text, const char *name, size_t len)
{
	const char *end = name + len;
	for (const char *at = name; at < end && *at;) {
		if (at[0] == ',' && at[1] == ' ' && at + 2 < end) {
			size_t skipped = default_len(at + 2);
			if (skipped) {
				at += 2 + skipped;
				continue;
			}
		}
		size_t path = path_len(at);
		path = path < (size_t)(end - at) ? path : (size_t)(end - at);
		if (!path) {
			text_add_char(text, *at++);
			continue;
		}
		const char *own = own_part(at, path);
		text_add_n(text, own, path - (size_t)(own - at));
		at += path;
	}
}

/* What is between the first '<' and the last '>' of a name. */
static const char *arguments_of(const char *name, size_t *ret_len)
{
	const char *start = strchr(name, '<'), *end = strrchr(name, '>');
	if (!start || !end || end <= start)
		return NULL;
	*ret_len = (size_t)(end - start - 1);
	return start + 1;
}

/* "u32, ()" or "u32, alloc::…::SetValZST": a set's elements alone; 0: it is a map's. */
static size_t set_len(const char *arguments, size_t len)
{
	static const char *const ends[] = {
		", ()", ", alloc::collections::btree::set_val::SetValZST"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);
		if (len > end && !strncmp(arguments + len - end, ends[i], end))
			return len - end;
	}
	return 0;
}

static void add_collection(
	struct text *text, const char *kind, const char *arguments, size_t len, const char *part)
{
	size_t of_set = set_len(arguments, len);
	text_printf(text, "%s%s<", kind, of_set ? "Set" : "Map");
	rust_names_add_plain(text, arguments, of_set ? of_set : len);
	text_printf(text, "> %s", part);
}

void rust_add_name(struct text *text, const char *name)
{
	static const struct {
		const char *begin, *name;
	} blocks[] = {
		{"alloc::rc::RcInner<", "Rc block of "},
		{"alloc::rc::RcBox<", "Rc block of "},
		{"alloc::sync::ArcInner<", "Arc block of "},
		{"alloc::collections::btree::node::LeafNode<", NULL},
		{"alloc::collections::btree::node::InternalNode<", NULL},
	};
	size_t len = 0;
	const char *arguments = arguments_of(name, &len);
	for (size_t i = 0; arguments && i < ARRAY_SIZE(blocks); i++) {
		if (strncmp(name, blocks[i].begin, strlen(blocks[i].begin)) != 0)
			continue;
		if (!blocks[i].name) {
			add_collection(text, "BTree", arguments, len,
				strstr(blocks[i].begin, "Leaf") ? "leaf node" : "node with edges");
			return;
		}
		text_add(text, blocks[i].name);
		rust_names_add_plain(text, arguments, len);
		return;
	}
	rust_names_add_plain(text, name, strlen(name));
}

/* Of "RawTable<(u64, alloc::string::String), alloc::alloc::Global>" the tuple. */
static void add_table_name(struct text *text, struct types *types, uint32_t container)
{
	uint32_t element = TYPE_VOID;
	if (!types_argument(types, container, 0, &element))
		return;
	const char *name = types_get(types, types_plain(types, element))->name;
	size_t len = name ? strlen(name) : 0;
	if (len > 2 && name[0] == '(' && name[len - 1] == ')') {
		add_collection(text, "Hash", name + 1, len - 2, "table");
		return;
	}
	text_add(text, "hash table of ");
	rust_names_add_plain(text, name ? name : "?", name ? len : 1);
}

void rust_add_part_name(struct text *text, struct types *types, uint32_t container)
{
	const char *name = types_get(types, container)->name;
	if (name && !strncmp(name, "hashbrown::", strlen("hashbrown::"))) {
		add_table_name(text, types, container);
		return;
	}
	rust_add_name(text, name ? name : "?");
	text_add(text, " buffer");
}
