/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each reader tries libstdc++'s members, then libc++'s. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "heap/values/contents_parts.h"

/* More than a process can have: such a count makes no sense. */
#define COUNT_MOST (1ull << 40)
#define ADAPTED_DEPTH_MOST 4u
#define LIBCXX_STRING_BYTES 24u

/* A member of up to 8 bytes. */
static bool read_member(const struct contents_object *o, const char *name, uint64_t *ret)
{
	uint64_t offset;
	uint32_t type;
	*ret = 0;
	if (!contents_member(o->types, o->type, name, &offset, &type))
		return false;
	uint64_t size = types_get(o->types, types_plain(o->types, type))->size;
	return size && size <= sizeof(*ret) &&
	       address_space_read(o->scan->heap.space, o->address + offset, ret, (size_t)size) ==
		       size;
}

static bool contents_read_word(const struct contents_object *o, uint64_t address, uint64_t *ret)
{
	return address_space_word(o->scan->heap.space, address, ret);
}

/* A member as an object of its own. */
static bool contents_read_find_part(
	const struct contents_object *o, const char *name, struct contents_object *ret)
{
	uint64_t offset;
	uint32_t type;
	if (!contents_member(o->types, o->type, name, &offset, &type))
		return false;
	*ret = *o;
	ret->type = types_plain(o->types, type);
	ret->address = o->address + offset;
	return true;
}

static uint64_t contents_read_size_of(const struct contents_object *o, uint32_t type)
{
	return types_get(o->types, types_plain(o->types, type))->size;
}

static bool is_readable(const struct contents_object *o, uint64_t address)
{
	uint8_t byte;
	return address_space_read(o->scan->heap.space, address, &byte, 1) == 1;
}

/* This many of libc++'s layouts begin with a pair that has the count. */
static bool read_pair_value(const struct contents_object *o, const char *name, uint64_t *ret)
{
	struct contents_object pair;
	return contents_read_find_part(o, name, &pair) &&
	       (read_member(&pair, "__value_", ret) ||
		       (!type_has_members(types_get(o->types, pair.type)) &&
			       read_member(o, name, ret)));
}

/* Bytes of a string's characters; 0: they are no such. */
static uint32_t unit_of(const struct contents_object *o)
{
	const char *name = strchr(types_get(o->types, o->type)->name, '<');
	static const struct {
		const char *name;
		uint32_t unit;
	} units[] = {{"<char,", 1}, {"<char>", 1}, {"<char8_t", 1}, {"<char16_t", 2},
		{"<char32_t", 4}, {"<wchar_t", 4}};
	for (size_t i = 0; name && i < ARRAY_SIZE(units); i++) {
		if (!strncmp(name, units[i].name, strlen(units[i].name)))
			return units[i].unit;
	}
	return 0;
}

/*
 * libc++'s strings: allocated bytes, length, pointer, where the first bit says that it is a long
 * one, and else the first byte has the length of the text after it. Or all of that turned round,
 * as a library may be built: then it is the last bit, and the last byte.
 */
static bool read_libcxx_string(
	const struct contents_object *o, uint32_t unit, uint64_t *ret_len, uint64_t *ret_address)
{
	uint64_t words[3] = {0, 0, 0}, data_at;
	struct contents_object parts;
	uint32_t type;
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		if (!contents_read_word(o, o->address + 8ull * i, &words[i]))
			return false;
	}
	bool is_turned = contents_read_find_part(o, "__l", &parts) &&
			 contents_member(o->types, parts.type, "__data_", &data_at, &type) &&
			 !data_at;
	bool is_long = is_turned ? words[2] >> 63 : words[0] & 1;
	uint64_t short_len = is_turned ? words[2] >> 56 : (words[0] & 0xff) >> 1;
	*ret_len = is_long ? words[1] : short_len;
	*ret_address = is_long     ? words[is_turned ? 0 : 2]
		       : is_turned ? o->address
				   : o->address + unit;
	return is_long || (short_len + 1) * unit < LIBCXX_STRING_BYTES;
}

bool contents_read_string(struct contents_object *o, struct contents *ret)
{
	const struct type *type = types_get(o->types, o->type);
	struct contents_object parts;
	uint64_t len = 0;
	ret->kind = CONTENTS_TEXT;
	ret->unit = unit_of(o);
	if (contents_read_find_part(o, "_M_string_length", &parts)) {
		if (!read_member(o, "_M_p", &ret->address) ||
			!read_member(o, "_M_string_length", &len))
			return false;
	} else if (type->size == 8 && read_member(o, "_M_p", &ret->address)) {
		/* Before C++11: length, room and count precede the text. */
		if (!contents_read_word(o, ret->address - 24, &len))
			return false;
	} else if (type->size == LIBCXX_STRING_BYTES) {
		if (!read_libcxx_string(o, ret->unit, &len, &ret->address))
			return false;
	} else {
		return false;
	}
	ret->count = len;
	return ret->unit && len < COUNT_MOST &&
	       is_readable(o, ret->address + ret->unit * (len ? len - 1 : 0));
}

bool contents_read_view(struct contents_object *o, struct contents *ret)
{
	ret->kind = CONTENTS_TEXT;
	ret->unit = unit_of(o);
	bool ok = (read_member(o, "_M_str", &ret->address) &&
			  read_member(o, "_M_len", &ret->count)) ||
		  (read_member(o, "__data", &ret->address) &&
			  read_member(o, "__size", &ret->count)) ||
		  (read_member(o, "__data_", &ret->address) &&
			  read_member(o, "__size_", &ret->count));
	return ok && ret->unit && ret->count < COUNT_MOST &&
	       (!ret->count || is_readable(o, ret->address + ret->unit * (ret->count - 1)));
}

/* Elements from one address to another; the type is what the member points to. */
static bool read_between(
	struct contents_object *o, const char *first, const char *last, struct contents *ret)
{
	uint64_t offset, end;
	uint32_t pointer;
	if (!contents_member(o->types, o->type, first, &offset, &pointer) ||
		!read_member(o, first, &ret->address) || !read_member(o, last, &end))
		return false;
	ret->kind = CONTENTS_ELEMENTS;
	ret->type = types_target(o->types, types_plain(o->types, pointer));
	uint64_t size = contents_read_size_of(o, ret->type), bytes = end - ret->address;
	if (!size || end < ret->address || bytes % size || bytes / size > COUNT_MOST)
		return false;
	ret->count = bytes / size;
	return !ret->count || (is_readable(o, ret->address) && is_readable(o, end - 1));
}

bool contents_read_vector(struct contents_object *o, struct contents *ret)
{
	return read_between(o, "_M_start", "_M_finish", ret) ||
	       read_between(o, "__begin_", "__end_", ret);
}

bool contents_read_bools(struct contents_object *o, struct contents *ret)
{
	struct contents_object first, last;
	uint64_t end, offset;
	ret->kind = CONTENTS_BITS;
	if (contents_read_find_part(o, "_M_start", &first) &&
		contents_read_find_part(o, "_M_finish", &last)) {
		if (!read_member(&first, "_M_p", &ret->address) ||
			!read_member(&last, "_M_p", &end) ||
			!read_member(&last, "_M_offset", &offset) || end < ret->address)
			return false;
		ret->count = 8 * (end - ret->address) + offset;
	} else if (!read_member(o, "__begin_", &ret->address) ||
		   !read_member(o, "__size_", &ret->count)) {
		return false;
	}
	return ret->count < COUNT_MOST &&
	       (!ret->count || is_readable(o, ret->address + (ret->count - 1) / 8));
}

bool contents_read_bitset(struct contents_object *o, struct contents *ret)
{
	const char *name = types_get(o->types, o->type)->name;
	const char *count = name ? strchr(name, '<') : NULL;
	ret->kind = CONTENTS_BITS;
	ret->address = o->address;
	ret->count = count ? strtoull(count + 1, NULL, 10) : 0;
	uint64_t size = types_get(o->types, o->type)->size;
	return count && ret->count <= 8 * size && (!ret->count || is_readable(o, o->address));
}

bool contents_read_array(struct contents_object *o, struct contents *ret)
{
	struct contents_object part;
	ret->kind = CONTENTS_ELEMENTS;
	if (!contents_read_find_part(o, "_M_elems", &part) &&
		!contents_read_find_part(o, "__elems_", &part))
		return false;
	const struct type *array = types_get(o->types, part.type);
	if (array->kind != TYPE_ARRAY)
		return false;
	ret->type = array->target;
	ret->count = array->count;
	ret->address = part.address;
	return true;
}

bool contents_read_list(struct contents_object *o, struct contents *ret)
{
	struct contents_object head;
	uint64_t first;
	bool is_new = contents_read_find_part(o, "_M_node", &head);
	if (!is_new && !contents_read_find_part(o, "__end_", &head))
		return false;
	if (!types_argument(o->types, o->type, 0, &ret->type) ||
		!contents_read_word(o, head.address + (is_new ? 0 : 8), &first))
		return false;
	bool has_count = is_new ? read_member(o, "_M_size", &ret->count)
				: read_pair_value(o, "__size_alloc_", &ret->count);
	if (!has_count || ret->count > COUNT_MOST || (first == head.address) != !ret->count)
		return false;
	ret->kind = CONTENTS_ELEMENTS;
	ret->way = CONTENTS_LINKED;
	ret->node = first;
	ret->end = head.address;
	ret->next = is_new ? 0 : 8; /* libc++ has the one before in front */
	ret->value = contents_value_offset(o->types, ret->type, 16);
	return true;
}

bool contents_read_forward(struct contents_object *o, struct contents *ret)
{
	struct contents_object head;
	if (!types_argument(o->types, o->type, 0, &ret->type) ||
		(!contents_read_find_part(o, "_M_head", &head) &&
			!contents_read_find_part(o, "__before_begin_", &head)) ||
		!contents_read_word(o, head.address, &ret->node))
		return false;
	ret->kind = CONTENTS_ELEMENTS;
	ret->way = CONTENTS_LINKED;
	ret->value = contents_value_offset(o->types, ret->type, 8);
	/* It keeps no count; what comes back to one of these nodes is no list (Brent). */
	uint64_t mark = 0, next_mark = 1;
	for (uint64_t node = ret->node; node; ret->count++) {
		if (!contents_read_word(o, node, &node) || (node && node == mark))
			return false;
		if (ret->count + 1 == next_mark) {
			mark = node;
			next_mark *= 2;
		}
	}
	return true;
}

bool contents_read_deque(struct contents_object *o, struct contents *ret)
{
	struct contents_object first, last;
	uint64_t size, end, end_first, end_node, node, start, piece;
	if (!types_argument(o->types, o->type, 0, &ret->type) ||
		!(size = contents_read_size_of(o, ret->type)))
		return false;
	ret->kind = CONTENTS_ELEMENTS;
	ret->way = CONTENTS_IN_PIECES;
	if (contents_read_find_part(o, "_M_start", &first) &&
		contents_read_find_part(o, "_M_finish", &last)) {
		ret->piece_count = size < 512 ? 512 / size : 1;
		if (!read_member(&first, "_M_cur", &start) ||
			!read_member(&first, "_M_first", &piece) ||
			!read_member(&first, "_M_node", &node) ||
			!read_member(&last, "_M_cur", &end) ||
			!read_member(&last, "_M_first", &end_first) ||
			!read_member(&last, "_M_node", &end_node))
			return false;
		if (start < piece || end < end_first || end_node < node || (end_node - node) % 8)
			return false;
		ret->pieces = node;
		ret->begin = (start - piece) / size;
		ret->count = (end_node - node) / 8 * ret->piece_count + (end - end_first) / size -
			     ret->begin;
	} else {
		ret->piece_count = size < 256 ? 4096 / size : 16;
		if (!contents_read_find_part(o, "__map_", &first) ||
			!read_member(&first, "__begin_", &ret->pieces) ||
			!read_member(o, "__start_", &ret->begin) ||
			!read_pair_value(o, "__size_", &ret->count))
			return false;
	}
	return ret->count < COUNT_MOST && (!ret->count || is_readable(o, ret->pieces));
}

static bool read_tree(struct contents_object *o, enum contents_kind kind, struct contents *ret)
{
	struct contents_object tree, head;
	uint64_t first;
	ret->kind = kind;
	ret->way = CONTENTS_TREE;
	if (contents_read_find_part(o, "_M_t", &tree)) {
		if (!types_argument(o->types, tree.type, 1, &ret->type) ||
			!contents_read_find_part(&tree, "_M_header", &head) ||
			!read_member(&head, "_M_left", &first) ||
			!read_member(&tree, "_M_node_count", &ret->count))
			return false;
		ret->end = head.address;
		ret->parent = 8;
		ret->left = 16;
		ret->right = 24;
		ret->value = contents_value_offset(o->types, ret->type, 32);
	} else {
		if (!contents_read_find_part(o, "__tree_", &tree) ||
			!types_argument(o->types, tree.type, 0, &ret->type) ||
			!read_member(&tree, "__begin_node_", &first) ||
			!read_pair_value(&tree, "__pair3_", &ret->count))
			return false;
		/* It ends at what is its root's parent. */
		if (contents_read_find_part(&tree, "__pair1_", &head))
			ret->end = head.address;
		ret->right = 8;
		ret->parent = 16;
		ret->value = contents_value_offset(o->types, ret->type, 25);
	}
	ret->node = first;
	return ret->count < COUNT_MOST && (!ret->count || is_readable(o, first));
}

bool contents_read_map(struct contents_object *o, struct contents *ret)
{
	return read_tree(o, CONTENTS_PAIRS, ret);
}

bool contents_read_set(struct contents_object *o, struct contents *ret)
{
	return read_tree(o, CONTENTS_ELEMENTS, ret);
}

static bool read_hash(struct contents_object *o, enum contents_kind kind, struct contents *ret)
{
	struct contents_object table, head;
	ret->kind = kind;
	ret->way = CONTENTS_LINKED;
	if (contents_read_find_part(o, "_M_h", &table)) {
		if (!types_argument(o->types, table.type, 1, &ret->type) ||
			!contents_read_find_part(&table, "_M_before_begin", &head) ||
			!read_member(&table, "_M_element_count", &ret->count))
			return false;
		ret->value = contents_value_offset(o->types, ret->type, 8);
	} else {
		if (!contents_read_find_part(o, "__table_", &table) ||
			!types_argument(o->types, table.type, 0, &ret->type) ||
			!contents_read_find_part(&table, "__p1_", &head) ||
			!read_pair_value(&table, "__p2_", &ret->count))
			return false;
		ret->value = contents_value_offset(o->types, ret->type, 16);
	}
	return contents_read_word(o, head.address, &ret->node) && ret->count < COUNT_MOST &&
	       !ret->node == !ret->count;
}

bool contents_read_hash_map(struct contents_object *o, struct contents *ret)
{
	return read_hash(o, CONTENTS_PAIRS, ret);
}

bool contents_read_hash_set(struct contents_object *o, struct contents *ret)
{
	return read_hash(o, CONTENTS_ELEMENTS, ret);
}

/* What holds its elements in another container. */
bool contents_read_adapted(struct contents_object *o, struct contents *ret)
{
	struct contents_object inner;
	const char *what = ret->what;
	if (o->depth > ADAPTED_DEPTH_MOST || !contents_read_find_part(o, "c", &inner) ||
		!contents_read(o->scan, o->types, inner.type, inner.address, ret))
		return false;
	ret->what = what;
	return true;
}

/* The base that has a tuple's part: _Head_base<1, int, false>, __tuple_leaf<1, int, false>. */
static bool find_leaf(const struct contents_object *o, uint32_t type, uint64_t at, unsigned number,
	unsigned depth, struct contents_object *ret)
{
	char with[2][40];
	snprintf(with[0], sizeof(with[0]), "_Head_base<%u", number);
	snprintf(with[1], sizeof(with[1]), "__tuple_leaf<%u", number);
	struct type of = *types_get(o->types, types_plain(o->types, type));
	for (unsigned i = 0; i < 2 && of.name; i++) {
		const char *found = strstr(of.name, with[i]);
		size_t len = strlen(with[i]);
		/* "1ul," or "1," */
		if (found && found - of.name < 24 && !(found[len] >= '0' && found[len] <= '9')) {
			*ret = *o;
			ret->type = types_plain(o->types, type);
			ret->address = o->address + at;
			return true;
		}
	}
	for (uint32_t i = 0; i < of.member_count && depth < TYPES_DEPTH_MAX; i++) {
		const struct type_member *member = &of.members[i];
		bool leads = member->kind == MEMBER_BASE ||
			     (member->name && !strcmp(member->name, "__base_"));
		if (leads &&
			find_leaf(o, member->type, at + member->bits / 8, number, depth + 1, ret))
			return true;
	}
	return false;
}

/* Compilers leave out what some packs have: the types are those of the parts. */
bool contents_read_tuple(struct contents_object *o, struct contents *ret)
{
	struct contents_object leaf, value;
	ret->kind = CONTENTS_PARTS;
	for (unsigned i = 0; i < CONTENTS_PARTS_MOST && find_leaf(o, o->type, 0, i, 0, &leaf);
		i++) {
		if (!types_argument(o->types, leaf.type, 0, &ret->part_types[i]))
			return false;
		/* One without members is the base itself. */
		bool has = contents_read_find_part(&leaf, "_M_head_impl", &value) ||
			   contents_read_find_part(&leaf, "__value_", &value);
		ret->part_addresses[i] = has ? value.address : leaf.address;
		ret->count = i + 1;
	}
	/* Of this many parts some may be missing. */
	return ret->count > 0 && ret->count < CONTENTS_PARTS_MOST;
}

static bool read_value(struct contents_object *o, const char *name, struct contents *ret)
{
	struct contents_object value;
	if (!contents_read_find_part(o, name, &value))
		return false;
	ret->address = value.address;
	return true;
}

bool contents_read_optional(struct contents_object *o, struct contents *ret)
{
	uint64_t engaged;
	if (!read_member(o, "_M_engaged", &engaged) && !read_member(o, "__engaged_", &engaged))
		return false;
	ret->kind = CONTENTS_ONE;
	ret->is_empty = !engaged;
	return engaged <= 1 && types_argument(o->types, o->type, 0, &ret->type) &&
	       (read_value(o, "_M_value", ret) || read_value(o, "__val_", ret));
}

bool contents_read_variant(struct contents_object *o, struct contents *ret)
{
	uint64_t offset;
	uint32_t type;
	const char *name = "_M_index";
	if (!contents_member(o->types, o->type, name, &offset, &type)) {
		name = "__index";
		if (!contents_member(o->types, o->type, name, &offset, &type))
			return false;
	}
	if (!read_member(o, name, &ret->index) ||
		(!read_value(o, "_M_u", ret) && !read_value(o, "__data", ret)))
		return false;
	uint64_t size = contents_read_size_of(o, type);
	ret->kind = CONTENTS_ONE;
	ret->has_index = true;
	ret->is_empty = ret->index == (size >= 8 ? UINT64_MAX : (1ull << 8 * size) - 1) ||
			(*name == '_' && name[1] == '_' && ret->index == UINT32_MAX);
	return ret->is_empty || (ret->index < 1024 && types_argument(o->types, o->type,
							      (unsigned)ret->index, &ret->type));
}

bool contents_read_atomic(struct contents_object *o, struct contents *ret)
{
	ret->kind = CONTENTS_ONE;
	return types_argument(o->types, o->type, 0, &ret->type) &&
	       contents_read_size_of(o, ret->type) == types_get(o->types, o->type)->size &&
	       (ret->address = o->address) != 0;
}

/* Before the functions of a class's table: where the object begins, and what describes the class.
 */
#define TABLE_HEAD 16u

/* The function whose code a word leads to, with its parameters as far as its name has them. */
static const char *function_at(const struct contents_object *o, uint64_t address)
{
	struct heap_place place = {.name = NULL};
	error_destroy(heap_names_place(o->scan->names, o->scan->heap.space, address, &place));
	return place.is_code && !place.offset ? place.name : NULL;
}

/* The argument of a template that comes `which`, from the angle bracket after `from` on. */
static bool take_argument(
	const char *name, const char *from, unsigned which, char *ret, size_t room)
{
	const char *at = strstr(name, from);
	unsigned depth = 0;
	if (!at)
		return false;
	const char *start = at += strlen(from);
	for (; *at; at++) {
		if (strchr("<({[", *at)) {
			depth++;
		} else if (strchr(">)}]", *at) && depth) {
			depth -= at == name || at[-1] != '-';
		} else if (!depth && (*at == ',' || *at == '>')) {
			if (!which--)
				break;
			if (*at == '>')
				return false;
			start = at + 1;
		}
	}
	start += *start == ' ';
	size_t len = (size_t)(at - start);
	while (len && start[len - 1] == ' ')
		len--;
	if (!len || len >= room)
		return false;
	memcpy(ret, start, len);
	ret[len] = '\0';
	return true;
}

/* A name that is too long for its room ends with an ellipsis. */
static void set_name(struct contents *ret, const char *name)
{
	size_t len = strlen(name);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (len >= sizeof(ret->name))
		memcpy(ret->name + sizeof(ret->name) - sizeof("…"), "…", sizeof("…"));
}

/* The type that the function managing an `any` was made for, by debug information of the function's
 * class, whose last argument it is. */
static bool type_by_manager(const struct contents_object *o, uint64_t manager, struct contents *ret)
{
	const struct address_module *module = address_space_module(o->scan->heap.space, manager);
	struct types_function_class class;
	uint32_t number;
	if (!module || !heap_names_symbols(o->scan->names, module, &number) ||
		!types_add_module(o->types, number) ||
		!types_function_class(
			o->types, number, manager - module->bias, "__stored_locally", &class) ||
		class.argument == TYPE_VOID)
		return false;
	const char *name = types_get(o->types, class.argument)->name;
	ret->type = class.argument;
	if (name)
		set_name(ret, name);
	return name;
}

/* As above, by the name of the function. */
static bool type_by_name(
	const struct contents_object *o, const char *name, const char *form, struct contents *ret)
{
	if (!take_argument(name, form, 0, ret->name, sizeof(ret->name)))
		return false;
	/* The manager's own argument is a type without a name: a pointer. */
	if (ret->type != TYPE_VOID)
		return true;
	ret->type = types_find(o->types, ret->name);
	const char *one[1];
	if (ret->type == TYPE_VOID && type_query(o->types, ret->name, one, 1, &ret->type) != 1)
		ret->type = TYPE_VOID;
	return true;
}

/* What an `any` holds says the function that it is managed by. */
bool contents_read_any(struct contents_object *o, struct contents *ret)
{
	uint64_t manager;
	bool is_new = read_member(o, "_M_manager", &manager);
	if (!is_new && !read_member(o, "__h_", &manager) && !read_member(o, "__h", &manager))
		return false;
	ret->kind = CONTENTS_ONE;
	ret->is_empty = !manager;
	ret->is_type_shown = true;
	if (!manager)
		return true;
	const char *name = function_at(o, manager);
	if (!name)
		return false;
	static const struct {
		const char *from;
		bool is_inside;
	} forms[] = {{"_Manager_internal<", true}, {"_Manager_external<", false},
		{"_SmallHandler<", true}, {"_LargeHandler<", false}};
	struct contents_object storage;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!strstr(name, forms[i].from) ||
			(!type_by_manager(o, manager, ret) &&
				!type_by_name(o, name, forms[i].from, ret)))
			continue;
		if (!contents_read_find_part(o, "_M_storage", &storage) &&
			!contents_read_find_part(o, "__s_", &storage) &&
			!contents_read_find_part(o, "__s", &storage))
			return false;
		ret->address = storage.address;
		return forms[i].is_inside || contents_read_word(o, storage.address, &ret->address);
	}
	return false;
}

/* A pointer to a function is what the object has at an address; its name tells more than its type.
 */
static void name_pointer(const struct contents_object *o, uint64_t address, struct contents *ret)
{
	uint64_t target;
	const char *called = NULL;
	if (strstr(ret->name, "(*)") && contents_read_word(o, address, &target))
		called = function_at(o, target);
	if (called)
		snprintf(ret->name, sizeof(ret->name), "%s", called);
}

/* What the class of an object says in a block of its own, by debug information. */
static bool name_by_block(const struct contents_object *o, uint64_t address, struct contents *ret)
{
	uint64_t into;
	struct heap_layout layout;
	uint32_t block = search_block_at(o->scan->search, address, &into), type;
	if (block == SPACE_NONE || into || !heap_layout_of(o->scan, block, &layout) ||
		!types_argument(o->types, layout.type, 0, &type))
		return false;
	const char *name = types_get(o->types, types_plain(o->types, type))->name;
	if (name)
		snprintf(ret->name, sizeof(ret->name), "%s", name);
	return name;
}

/* As above, by the symbol of its vtable. */
static bool name_by_table(const struct contents_object *o, uint64_t address, struct contents *ret)
{
	uint64_t table;
	struct heap_place place = {.name = NULL};
	if (!contents_read_word(o, address, &table))
		return false;
	error_destroy(heap_names_place(o->scan->names, o->scan->heap.space, table, &place));
	return place.name && place.offset == TABLE_HEAD &&
	       !strncmp(place.name, "vtable for ", 11) &&
	       take_argument(place.name, "__func<", 0, ret->name, sizeof(ret->name));
}

/* libc++'s: it points to an object that has the target after a table of virtual functions, in the
 * function itself if that is small. */
static bool read_function_object(struct contents_object *o, struct contents *ret)
{
	struct contents_object value;
	uint64_t object;
	if (!contents_read_find_part(o, "__f_", &value) || !read_member(&value, "__f_", &object))
		return false;
	ret->is_empty = !object;
	if (!object)
		return true;
	if (!name_by_block(o, object, ret) && !name_by_table(o, object, ret))
		return false;
	name_pointer(o, object + 8, ret);
	return true;
}

bool contents_read_function(struct contents_object *o, struct contents *ret)
{
	uint64_t manager, invoker;
	ret->kind = CONTENTS_CALLED;
	if (!read_member(o, "_M_manager", &manager) || !read_member(o, "_M_invoker", &invoker))
		return read_function_object(o, ret);
	ret->is_empty = !manager;
	if (!manager)
		return true;
	const char *name = function_at(o, invoker);
	if (!name || !take_argument(name, "_Function_handler<", 1, ret->name, sizeof(ret->name)))
		return false;
	name_pointer(o, o->address, ret);
	return true;
}

/* A pointer that is a member. */
static bool read_pointer(struct contents_object *o, const char *name, struct contents *ret)
{
	struct contents_object pointer;
	if (!contents_read_find_part(o, name, &pointer) ||
		types_get(o->types, pointer.type)->kind != TYPE_POINTER)
		return false;
	ret->kind = CONTENTS_POINTER;
	ret->type = pointer.type;
	ret->address = pointer.address;
	return true;
}

bool contents_read_unique(struct contents_object *o, struct contents *ret)
{
	return read_pointer(o, "_M_head_impl", ret) || read_pointer(o, "__value_", ret) ||
	       read_pointer(o, "__ptr_", ret);
}

bool contents_read_shared(struct contents_object *o, struct contents *ret)
{
	return read_pointer(o, "_M_ptr", ret) || read_pointer(o, "__ptr_", ret);
}
