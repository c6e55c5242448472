/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers of libstdc++ declare links as pointers to what all nodes begin with; which nodes they
 * are follows from the container's own arguments:
 *
 *	std::_Rb_tree<K, V, …>     std::_Rb_tree_node<V>
 *	std::_List_base<T, …>      std::_List_node<T>
 *	std::_Hashtable<K, V, …>   std::__detail::_Hash_node<V, true or false>
 */
#include "heap/slots.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Arrays in objects, and what is looked at of a damaged file's types. */
#define STEPS_MOST 20000u

static const struct {
	const char *container, *node, *node_end, *base;
	unsigned argument;
} linked[] = {
	{"std::_Rb_tree<", "std::_Rb_tree_node<", " >", "std::_Rb_tree_node_base", 1},
	{"std::__cxx11::_List_base<", "std::_List_node<", " >", "std::__detail::_List_node_base",
		0},
	{"std::_Hashtable<", "std::__detail::_Hash_node<", ", true>",
		"std::__detail::_Hash_node_base", 1},
	{"std::_Hashtable<", "std::__detail::_Hash_node<", ", false>",
		"std::__detail::_Hash_node_base", 1},
};

struct finding_slots {
	struct types *types;
	struct slot_vec *slots;
	size_t most;
	unsigned steps;
	uint32_t node;  /* of the container around; TYPE_VOID: none */
	bool is_inside; /* that is the type itself, and no container in it */
	bool ok;
};

bool slots_tells(const struct types *types, uint32_t plain)
{
	const struct type *type = types_get(types, plain);
	return type->size && type->kind != TYPE_UNKNOWN && type->kind != TYPE_FUNCTION &&
	       !type->is_declared;
}

static uint32_t find_node(struct types *types, size_t which, uint32_t container)
{
	uint32_t element;
	if (!types_argument(types, container, linked[which].argument, &element))
		return TYPE_VOID;
	const char *ends[] = {linked[which].node_end, ">"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_add(&name, linked[which].node);
		types_declare(types, element, "", &name);
		/* GCC writes "int*" where a declaration has "int *". */
		for (char *space; name.data && (space = strstr(name.data, " *"));)
			memmove(space, space + 1, strlen(space));
		if (name.failed)
			return TYPE_VOID;
		name.len = strlen(name.data);
		text_add(&name, ends[i]);
		uint32_t node = types_find(types, name.data);
		if (node != TYPE_VOID)
			return node;
	}
	return TYPE_VOID;
}

/* The nodes of what is entered: a container's, or its own. */
static uint32_t node_inside(struct finding_slots *f, uint32_t number)
{
	const char *name = types_get(f->types, number)->name;
	if (!name || strncmp(name, "std::", 5) != 0)
		return f->node;
	for (size_t i = 0; i < ARRAY_SIZE(linked); i++) {
		if (!strncmp(name, linked[i].node, strlen(linked[i].node))) {
			f->is_inside = f->node == TYPE_VOID;
			return number;
		}
		if (strncmp(name, linked[i].container, strlen(linked[i].container)) != 0)
			continue;
		uint32_t node = find_node(f->types, i, number);
		if (node == TYPE_VOID)
			continue;
		f->is_inside = false;
		return node;
	}
	return f->node;
}

static bool is_node_base(const struct types *types, uint32_t plain)
{
	const char *name = types_get(types, plain)->name;
	for (size_t i = 0; name && i < ARRAY_SIZE(linked); i++) {
		if (!strcmp(name, linked[i].base))
			return true;
	}
	return false;
}

static void take_pointer(struct finding_slots *f, uint32_t number, uint64_t offset)
{
	uint32_t target = types_plain(f->types, types_target(f->types, number));
	bool is_node = is_node_base(f->types, target);
	if (is_node)
		target = f->node;
	if (!slots_tells(f->types, target))
		return;
	f->ok = slot_vec_push(
		f->slots, (struct slot){offset, target, is_node, is_node && f->is_inside});
}

static void descend(struct finding_slots *f, uint32_t number, uint64_t offset, unsigned depth)
{
	number = types_plain(f->types, number);
	struct type type = *types_get(f->types, number);
	if (!f->ok || ++f->steps > STEPS_MOST || f->slots->len >= f->most ||
		depth > TYPES_DEPTH_MAX)
		return;
	uint32_t outer = f->node;
	bool was_inside = f->is_inside;
	if (type.kind == TYPE_POINTER || type.kind == TYPE_REFERENCE) {
		take_pointer(f, number, offset);
	} else if (type.kind == TYPE_ARRAY) {
		uint64_t size = types_get(f->types, type.target)->size;
		for (uint64_t i = 0; i < type.count && size && f->steps <= STEPS_MOST; i++) {
			size_t before = f->slots->len;
			descend(f, type.target, offset + i * size, depth + 1);
			if (f->slots->len == before)
				break;
		}
	} else if (types_content(f->types, number) != TYPE_VOID) {
		descend(f, types_content(f->types, number), offset, depth + 1);
	} else if (type.kind == TYPE_STRUCT || type.kind == TYPE_CLASS) {
		f->node = node_inside(f, number);
		for (uint32_t i = 0; i < type.member_count; i++) {
			const struct type_member *member = &type.members[i];
			if (member->kind <= MEMBER_BASE && !member->bit_size)
				descend(f, member->type, offset + member->bits / 8, depth + 1);
		}
		f->node = outer;
		f->is_inside = was_inside;
	}
}

bool slots_find(struct types *types, uint32_t type, size_t most, struct slot_vec *ret)
{
	struct finding_slots f = {.types = types, .slots = ret, .most = most, .ok = true};
	descend(&f, type, 0, 0);
	return f.ok;
}
