/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/nodes.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Names of libc++'s are those after its inline namespace. */
static const struct {
	const char *container, *node, *node_end, *base;
	unsigned argument;
	bool libcxx;
} linked[] = {
	{"std::_Rb_tree<", "std::_Rb_tree_node<", "", "std::_Rb_tree_node_base", 1, false},
	{"std::__cxx11::_List_base<", "std::_List_node<", "", "std::__detail::_List_node_base", 0,
		false},
	/* Before C++11. */
	{"std::_List_base<", "std::_List_node<", "", "std::__detail::_List_node_base", 0, false},
	{"std::_Hashtable<", "std::__detail::_Hash_node<", ", true",
		"std::__detail::_Hash_node_base", 1, false},
	{"std::_Hashtable<", "std::__detail::_Hash_node<", ", false",
		"std::__detail::_Hash_node_base", 1, false},
	{"std::_Fwd_list_base<", "std::_Fwd_list_node<", "", "std::_Fwd_list_node_base", 0, false},
	{"__tree<", "__tree_node<", ", void *", "__tree_end_node<", 0, true},
	{"__tree<", "__tree_node<", ", void *", "__tree_node_base<", 0, true},
	{"__list_imp<", "__list_node<", ", void *", "__list_node_base<", 0, true},
	{"list<", "__list_node<", ", void *", "__list_node_base<", 0, true},
	{"__hash_table<", "__hash_node<", ", void *", "__hash_node_base<", 0, true},
	{"__forward_list_base<", "__forward_list_node<", ", void *", "__forward_begin_node<", 0,
		true},
	{"forward_list<", "__forward_list_node<", ", void *", "__forward_begin_node<", 0, true},
};

const char *nodes_libcxx_name(const char *name)
{
	static const char std[] = "std::__";
	if (strncmp(name, std, sizeof(std) - 1) != 0)
		return NULL;
	size_t len = strcspn(name + sizeof(std) - 1, ":<");
	const char *end = name + sizeof(std) - 1 + len;
	return end[0] == ':' && end[1] == ':' ? end + 2 : NULL;
}

/* The name as a row of the table has it. */
static const char *name_for(size_t row, const char *name)
{
	return linked[row].libcxx ? nodes_libcxx_name(name) : name;
}

static bool nodes_begins(const char *name, const char *with)
{
	return name && !strncmp(name, with, strlen(with));
}

/* GCC writes "int*" where a declaration has "int *". */
static void join_stars(struct text *name)
{
	for (char *space; name->data && (space = strstr(name->data, " *"));)
		memmove(space, space + 1, strlen(space));
	name->len = name->data ? strlen(name->data) : 0;
}

/* GCC and clang write the same type in different ways. */
static uint32_t find_spelled(struct types *types, size_t row, const char *space, size_t space_len,
	uint32_t element, bool joined)
{
	static const char *const ends[] = {" >", ">"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_add_n(&name, space, space_len);
		text_add(&name, linked[row].node);
		types_declare(types, element, "", &name);
		text_add(&name, linked[row].node_end);
		if (joined)
			join_stars(&name);
		text_add(&name, ends[i]);
		uint32_t node = name.failed ? TYPE_VOID : types_find(types, name.data);
		if (node != TYPE_VOID)
			return node;
	}
	return TYPE_VOID;
}

static uint32_t find_node(struct types *types, size_t row, uint32_t container, const char *name)
{
	const char *own = name_for(row, name);
	uint32_t element;
	if (!types_argument(types, container, linked[row].argument, &element))
		return TYPE_VOID;
	size_t space_len = (size_t)(own - name);
	uint32_t node = find_spelled(types, row, name, space_len, element, true);
	return node != TYPE_VOID ? node : find_spelled(types, row, name, space_len, element, false);
}

uint32_t nodes_inside(struct types *types, uint32_t plain, uint32_t around)
{
	const char *name = types_get(types, plain)->name;
	if (!nodes_begins(name, "std::"))
		return around;
	for (size_t i = 0; i < ARRAY_SIZE(linked); i++) {
		const char *own = name_for(i, name);
		if (nodes_begins(own, linked[i].node))
			return plain;
		uint32_t node = nodes_begins(own, linked[i].container)
					? find_node(types, i, plain, name)
					: TYPE_VOID;
		if (node != TYPE_VOID)
			return node;
	}
	return around;
}

bool nodes_is_base(const struct types *types, uint32_t plain)
{
	const char *name = types_get(types, plain)->name;
	if (!nodes_begins(name, "std::"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(linked); i++) {
		const char *base = linked[i].base;
		if (linked[i].libcxx ? nodes_begins(nodes_libcxx_name(name), base)
				     : !strcmp(name, base))
			return true;
	}
	return false;
}

/* libc++ wraps the pairs of its maps, to move them. */
static uint32_t nodes_unwrapped(const struct types *types, uint32_t element)
{
	uint32_t plain = types_plain(types, element);
	const struct type *type = types_get(types, plain);
	const char *own = type->name ? nodes_libcxx_name(type->name) : NULL;
	if (!nodes_begins(own, "__value_type<") && !nodes_begins(own, "__hash_value_type<"))
		return element;
	return type->member_count == 1 ? type->members[0].type : element;
}

uint32_t nodes_element(struct types *types, uint32_t plain)
{
	const char *name = types_get(types, plain)->name;
	uint32_t element;
	for (size_t i = 0; nodes_begins(name, "std::") && i < ARRAY_SIZE(linked); i++) {
		if (nodes_begins(name_for(i, name), linked[i].node) &&
			types_argument(types, plain, 0, &element))
			return nodes_unwrapped(types, element);
	}
	return TYPE_VOID;
}
