/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recogniser is a row of a table: the type's name up to its arguments, and how its members are
 * read. Members are found by their names, so that it does not matter where a version of the library
 * has them, nor in which of its own classes.
 */
#include "heap/contents.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/values/contents_parts.h"

/* Types that are looked through for a member; what is larger is no container. */
#define MEMBER_TYPES_MOST 1024u
#define ALIGN_DEPTH_MOST 16u
/* Of a red-black tree: twice the logarithm of its nodes. */
#define TREE_DEPTH_MOST 128u
/* Of Rust's tables of hashes (hashbrown): a byte below that is a full place's. */
#define TAG_EMPTY 0x80u
#define TAGS_AT_ONCE 64u

struct recogniser {
	const char *name; /* in std, or in another namespace that is written with it */
	const char *what;
	bool (*read)(struct contents_object *object, struct contents *ret);
};

static const struct recogniser recognisers[] = {
	{"basic_string<char,", "string", contents_read_string},
	{"basic_string<char>", "string", contents_read_string},
	{"basic_string<wchar_t", "wstring", contents_read_string},
	{"basic_string<char16_t", "u16string", contents_read_string},
	{"basic_string<char32_t", "u32string", contents_read_string},
	{"basic_string<char8_t", "u8string", contents_read_string},
	{"basic_string_view<wchar_t", "wstring_view", contents_read_view},
	{"basic_string_view<char16_t", "u16string_view", contents_read_view},
	{"basic_string_view<char32_t", "u32string_view", contents_read_view},
	{"basic_string_view<char8_t", "u8string_view", contents_read_view},
	{"basic_string_view<char,", "string_view", contents_read_view},
	{"basic_string_view<char>", "string_view", contents_read_view},
	{"vector<bool", "vector", contents_read_bools},
	{"vector<", "vector", contents_read_vector},
	{"list<", "list", contents_read_list},
	{"forward_list<", "forward_list", contents_read_forward},
	{"deque<", "deque", contents_read_deque},
	{"map<", "map", contents_read_map},
	{"multimap<", "multimap", contents_read_map},
	{"set<", "set", contents_read_set},
	{"multiset<", "multiset", contents_read_set},
	{"unordered_map<", "unordered_map", contents_read_hash_map},
	{"unordered_multimap<", "unordered_multimap", contents_read_hash_map},
	{"unordered_set<", "unordered_set", contents_read_hash_set},
	{"unordered_multiset<", "unordered_multiset", contents_read_hash_set},
	{"stack<", "stack", contents_read_adapted},
	{"queue<", "queue", contents_read_adapted},
	{"priority_queue<", "priority_queue", contents_read_adapted},
	{"array<", "array", contents_read_array},
	{"bitset<", "bitset", contents_read_bitset},
	{"tuple<", "tuple", contents_read_tuple},
	{"optional<", "optional", contents_read_optional},
	{"variant<", "variant", contents_read_variant},
	{"any", "any", contents_read_any},
	{"function<", "function", contents_read_function},
	{"unique_ptr<", "unique_ptr", contents_read_unique},
	{"shared_ptr<", "shared_ptr", contents_read_shared},
	{"weak_ptr<", "weak_ptr", contents_read_shared},
	{"atomic<", "atomic", contents_read_atomic},
	{NULL, NULL, NULL},
};

/* Rust's, whose names have their crate in front. */
static const struct recogniser rust_recognisers[] = {
	{"alloc::vec::Vec<", "Vec", contents_read_rust},
	{"alloc::string::String", "String", contents_read_rust},
	{"alloc::collections::vec_deque::VecDeque<", "VecDeque", contents_read_rust},
	{"&str", "str", contents_read_rust},
	{"&mut str", "str", contents_read_rust},
	{"&[", "slice", contents_read_rust},
	{"&mut [", "slice", contents_read_rust},
	{"alloc::boxed::Box<[", "slice", contents_read_rust},
	{"alloc::boxed::Box<str", "str", contents_read_rust},
	{"std::collections::hash::map::HashMap<", "HashMap", contents_read_rust_hash},
	{"std::collections::hash::set::HashSet<", "HashSet", contents_read_rust_hash},
	{"hashbrown::map::HashMap<", "HashMap", contents_read_rust_hash},
	{"hashbrown::set::HashSet<", "HashSet", contents_read_rust_hash},
	{"alloc::collections::btree::map::BTreeMap<", "BTreeMap", contents_read_rust_tree},
	{"alloc::collections::btree::set::BTreeSet<", "BTreeSet", contents_read_rust_tree},
	{"alloc::rc::Rc<", "Rc", contents_read_rust_pointer},
	{"alloc::rc::Weak<", "Weak", contents_read_rust_pointer},
	{"alloc::sync::Arc<", "Arc", contents_read_rust_pointer},
	{"alloc::sync::Weak<", "Weak", contents_read_rust_pointer},
	{"core::ptr::non_null::NonNull<", "NonNull", contents_read_rust_pointer},
	{NULL, NULL, NULL},
};
static const struct recogniser rust_enum = {"", "enum", contents_read_rust_enum};

/* After "std::" and a namespace of versions ("__cxx11::", "__1::"); NULL: it is not in std. */
static const char *name_in_std(const char *name)
{
	if (!name || strncmp(name, "std::", 5) != 0)
		return NULL;
	name += 5;
	if (name[0] == '_' && name[1] == '_') {
		size_t len = strspn(name, "_abcdefghijklmnopqrstuvwxyz0123456789");
		if (strncmp(name + len, "::", 2) != 0)
			return NULL;
		name += len + 2;
	}
	return name;
}

static const struct recogniser *find_rust_recogniser(const struct type *type)
{
	const struct recogniser *row = rust_recognisers;
	if (!type_has_members(type) || type->is_declared || !type->name)
		return NULL;
	if (type->variant_count)
		return &rust_enum;
	for (; row->name; row++) {
		size_t len = strlen(row->name);
		bool is_open = strchr("<[", row->name[len - 1]) || !strcmp(row->what, "str");
		if (is_open ? !strncmp(row->name, type->name, len) : !strcmp(row->name, type->name))
			return row;
	}
	return NULL;
}

static const struct recogniser *find_recogniser(const struct type *type)
{
	if (type->is_rust)
		return find_rust_recogniser(type);
	const char *name =
		type_has_members(type) && !type->is_declared ? name_in_std(type->name) : NULL;
	for (const struct recogniser *row = recognisers; name && row->name; row++) {
		size_t len = strlen(row->name);
		bool is_template = strchr(row->name, '<') != NULL;
		if (is_template ? !strncmp(row->name, name, len) : !strcmp(row->name, name))
			return row;
	}
	return NULL;
}

bool contents_knows(struct types *types, uint32_t plain)
{
	return find_recogniser(types_get(types, plain)) != NULL;
}

bool contents_read(const struct heap_scan *scan, struct types *types, uint32_t plain,
	uint64_t address, struct contents *ret)
{
	const struct recogniser *row = find_recogniser(types_get(types, plain));
	struct contents_object object = {scan, types, plain, address, 0};
	*ret = (struct contents){.what = row ? row->what : NULL, .unit = 1};
	return row && row->read(&object, ret);
}

/* Breadth first: a container's own members come before those of what it holds. */
bool contents_member(struct types *types, uint32_t number, const char *name, uint64_t *ret_offset,
	uint32_t *ret_type)
{
	struct {
		uint32_t type;
		uint64_t offset;
	} queue[MEMBER_TYPES_MOST];
	size_t len = 1;
	queue[0].type = types_plain(types, number);
	queue[0].offset = 0;
	for (size_t i = 0; i < len; i++) {
		struct type type = *types_get(types, queue[i].type);
		for (uint32_t k = 0; type_has_members(&type) && k < type.member_count; k++) {
			const struct type_member *member = &type.members[k];
			uint64_t offset = queue[i].offset + member->bits / 8;
			if (member->kind == MEMBER_VIRTUAL_BASE)
				continue;
			if (member->kind == MEMBER_PLAIN && member->name &&
				!strcmp(member->name, name)) {
				*ret_offset = offset;
				*ret_type = member->type;
				return true;
			}
			if (len == MEMBER_TYPES_MOST)
				continue;
			queue[len].type = types_plain(types, member->type);
			queue[len++].offset = offset;
		}
	}
	return false;
}

static uint64_t contents_alignment(struct types *types, uint32_t number, unsigned depth)
{
	struct type type = *types_get(types, types_plain(types, number));
	uint64_t most = 1;
	if (depth > ALIGN_DEPTH_MOST)
		return 8;
	if (type.kind == TYPE_ARRAY)
		return contents_alignment(types, type.target, depth + 1);
	if (!type_has_members(&type))
		return type.size == 2 || type.size == 4 || type.size == 8 || type.size == 16
			       ? type.size
			       : 1;
	for (uint32_t i = 0; i < type.member_count; i++) {
		uint64_t of = contents_alignment(types, type.members[i].type, depth + 1);
		most = most < of ? of : most;
	}
	return most;
}

uint32_t contents_value_offset(struct types *types, uint32_t type, uint32_t after)
{
	uint64_t align = contents_alignment(types, type, 0);
	return (uint32_t)((after + align - 1) / align * align);
}

/* The node that comes next in a tree. 0: none, or links that can't be. */
static uint64_t next_in_tree(const struct heap_scan *scan, const struct contents *c, uint64_t node)
{
	const struct address_space *space = scan->heap.space;
	uint64_t right, above, steps = 0;
	if (!address_space_word(space, node + c->right, &right))
		return 0;
	if (right) {
		for (uint64_t left = right; left; steps++) {
			right = left;
			if (steps > TREE_DEPTH_MOST ||
				!address_space_word(space, right + c->left, &left))
				return 0;
		}
		return right;
	}
	for (; steps <= TREE_DEPTH_MOST && address_space_word(space, node + c->parent, &above);
		steps++) {
		if (!above || !address_space_word(space, above + c->right, &right))
			return 0;
		if (right != node)
			return above;
		node = above;
	}
	return 0;
}

/* The piece of a deque that an element is in. */
static uint64_t place_in_pieces(
	const struct heap_scan *scan, const struct contents *c, uint64_t number, uint64_t size)
{
	uint64_t piece, at = c->begin + number;
	if (!address_space_word(scan->heap.space, c->pieces + 8 * (at / c->piece_count), &piece) ||
		!piece)
		return 0;
	return piece + at % c->piece_count * size;
}

/* The next place of a table that is full, from `from` on; UINT64_MAX: none, or none can be read. */
static uint64_t next_full(const struct heap_scan *scan, const struct contents *c, uint64_t from)
{
	uint8_t tags[TAGS_AT_ONCE];
	for (uint64_t at = from; at < c->piece_count;) {
		uint64_t left = c->piece_count - at;
		size_t some = left < sizeof(tags) ? (size_t)left : sizeof(tags);
		if (address_space_read(scan->heap.space, c->address + at, tags, some) != some)
			break;
		for (size_t i = 0; i < some; i++) {
			if (tags[i] < TAG_EMPTY)
				return at + i;
		}
		at += some;
	}
	return UINT64_MAX;
}

uint64_t contents_each(const struct heap_scan *scan, struct types *types, const struct contents *c,
	uint64_t most,
	bool (*take)(void *context, uint64_t number, uint32_t type, uint64_t address),
	void *context)
{
	uint64_t size = types_get(types, types_plain(types, c->type))->size, node = c->node, i = 0;
	/* Links that were damaged may go in a circle, which comes back to one of these (Brent). */
	uint64_t mark = 0, next_mark = 1;
	if (c->way == CONTENTS_NODES)
		return contents_each_in_nodes(scan, types, c, most, take, context);
	for (; i < c->count && i < most; i++) {
		uint64_t address = c->address + i * size;
		uint32_t type = c->type;
		if (c->kind == CONTENTS_PARTS) {
			type = c->part_types[i];
			address = c->part_addresses[i];
		} else if (c->way == CONTENTS_LINKED || c->way == CONTENTS_TREE) {
			if (!node || node == c->end)
				break;
			address = node + c->value;
		} else if (c->way == CONTENTS_IN_PIECES) {
			address = place_in_pieces(scan, c, i, size);
			if (!address)
				break;
		} else if (c->way == CONTENTS_RING) {
			address = c->address + (c->begin + i) % c->piece_count * size;
		} else if (c->way == CONTENTS_TABLE) {
			node = next_full(scan, c, node);
			if (node == UINT64_MAX)
				break;
			address = c->address - ++node * c->stride + c->value;
		}
		if (!take(context, i, type, address))
			return i + 1;
		if (i + 1 == c->count)
			continue;
		if (c->way == CONTENTS_TREE)
			node = next_in_tree(scan, c, node);
		else if (c->way == CONTENTS_LINKED &&
			 !address_space_word(scan->heap.space, node + c->next, &node))
			node = 0;
		if (c->way == CONTENTS_TABLE)
			continue;
		if (node && node == mark)
			node = 0;
		if (i + 1 == next_mark) {
			mark = node;
			next_mark *= 2;
		}
	}
	return i;
}
