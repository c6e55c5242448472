/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a BTreeMap or BTreeSet of Rust's holds. Nodes are leaves, or begin with one and have edges
 * after it; a map has its root and how many levels are below that:
 *
 *	LeafNode      parent, its number among the parent's edges, len, keys[11], vals[11]
 *	InternalNode  data (a leaf), edges[12]
 *
 * A node counts only if it says of its parent what led to it, so no node comes twice, whatever
 * is in damaged memory.
 */
#include <string.h>

#include "heap/types/rust.h"
#include "heap/values/contents_parts.h"

#define COUNT_MOST (1ull << 40)
/* A node that is not the root has five keys at least. */
#define HEIGHT_MOST 20u

static bool read_part(const struct contents_object *o, const char *name, uint64_t *ret)
{
	uint64_t offset;
	uint32_t type;
	return contents_member(o->types, o->type, name, &offset, &type) &&
	       types_get(o->types, types_plain(o->types, type))->size == sizeof(*ret) &&
	       address_space_word(o->scan->heap.space, o->address + offset, ret);
}

static bool find_offset(
	struct types *types, uint32_t type, const char *name, uint32_t *ret, uint32_t *ret_type)
{
	uint64_t offset;
	if (!contents_member(types, type, name, &offset, ret_type) || offset > UINT32_MAX)
		return false;
	*ret = (uint32_t)offset;
	return true;
}

/* Where leaves, and nodes with edges, have what. */
static bool find_nodes(struct types *types, uint32_t leaf, struct contents_nodes *ret)
{
	const struct type of_leaf = *types_get(types, leaf);
	uint32_t keys, values, unused, edges;
	if (!rust_is_leaf(&of_leaf) || !find_offset(types, leaf, "len", &ret->len, &unused) ||
		!find_offset(types, leaf, "parent", &ret->parent, &unused) ||
		!find_offset(types, leaf, "parent_idx", &ret->place, &unused) ||
		!find_offset(types, leaf, "keys", &ret->keys, &keys) ||
		!find_offset(types, leaf, "vals", &ret->values, &values))
		return false;
	const struct type *array = types_get(types, types_plain(types, keys));
	ret->room = array->count < UINT16_MAX ? (uint32_t)array->count : 0;
	if (array->kind != TYPE_ARRAY || !ret->room)
		return false;
	uint32_t internal = rust_internal_of_leaf(types, &of_leaf);
	return !ret->height || (internal != TYPE_VOID &&
				       find_offset(types, internal, "edges", &ret->edges, &edges));
}

/* A set is a map without values, one member inside; a map to () has none either. */
static bool find_arguments(struct contents_object *o, struct contents *ret)
{
	uint64_t offset;
	uint32_t map, value;
	bool is_set = strstr(types_get(o->types, o->type)->name, "::set::BTreeSet<");
	if (is_set) {
		if (!contents_member(o->types, o->type, "map", &offset, &map))
			return false;
		o->type = types_plain(o->types, map);
		o->address += offset;
	}
	if (!types_argument(o->types, o->type, 0, &ret->type) ||
		!types_argument(o->types, o->type, 1, &value))
		return false;
	is_set |= !types_get(o->types, types_plain(o->types, value))->size;
	ret->kind = is_set ? CONTENTS_ELEMENTS : CONTENTS_PAIRS;
	ret->nodes.value = is_set ? TYPE_VOID : value;
	return true;
}

bool contents_read_rust_tree(struct contents_object *o, struct contents *ret)
{
	struct contents_object root = *o;
	struct contents some = {.what = NULL};
	uint64_t offset, height;
	uint32_t type, pointer;
	if (!find_arguments(o, ret) || !read_part(o, "length", &ret->count) ||
		ret->count > COUNT_MOST ||
		!contents_member(o->types, o->type, "root", &offset, &type))
		return false;
	ret->way = CONTENTS_NODES;
	root.type = types_plain(o->types, type);
	root.address = o->address + offset;
	if (!contents_read_rust_enum(&root, &some))
		return false;
	if (!strcmp(some.name, "None"))
		return !ret->count;
	root.type = types_plain(o->types, some.type);
	root.address = some.address;
	if (!read_part(&root, "height", &height) || height > HEIGHT_MOST ||
		!read_part(&root, "pointer", &ret->node) ||
		!contents_member(o->types, root.type, "pointer", &offset, &pointer))
		return false;
	ret->nodes.height = (unsigned)height;
	uint32_t leaf = types_target(o->types, types_plain(o->types, pointer));
	return find_nodes(o->types, types_plain(o->types, leaf), &ret->nodes);
}

/* A node on the way to the one that is looked at. */
struct step {
	uint64_t node;
	uint32_t len, at; /* the next key */
};

static bool contents_nodes_enter(const struct heap_scan *scan, const struct contents *c,
	uint64_t node, uint64_t parent, uint32_t place, struct step *ret)
{
	const struct address_space *space = scan->heap.space;
	const struct contents_nodes *n = &c->nodes;
	uint16_t len = 0, own_place = 0;
	uint64_t own_parent;
	*ret = (struct step){.node = node};
	if (!node || address_space_read(space, node + n->len, &len, sizeof(len)) != sizeof(len) ||
		len > n->room || !address_space_word(space, node + n->parent, &own_parent) ||
		own_parent != parent)
		return false;
	ret->len = len;
	return !parent || (address_space_read(space, node + n->place, &own_place,
				   sizeof(own_place)) == sizeof(own_place) &&
				  own_place == place);
}

/* From a node of the way down to the first leaf at one of its edges. */
static bool contents_nodes_descend(const struct heap_scan *scan, const struct contents *c,
	struct step *way, unsigned depth, uint32_t edge)
{
	for (; depth < c->nodes.height; depth++, edge = 0) {
		uint64_t child;
		const struct step *step = &way[depth];
		if (!address_space_word(
			    scan->heap.space, step->node + c->nodes.edges + 8ull * edge, &child) ||
			!contents_nodes_enter(scan, c, child, step->node, edge, &way[depth + 1]))
			return false;
	}
	return true;
}

uint64_t contents_each_in_nodes(const struct heap_scan *scan, struct types *types,
	const struct contents *c, uint64_t most,
	bool (*take)(void *context, uint64_t number, uint32_t type, uint64_t address),
	void *context)
{
	struct step way[HEIGHT_MOST + 2];
	const struct contents_nodes *n = &c->nodes;
	uint64_t key_size = types_get(types, types_plain(types, c->type))->size, i = 0;
	uint64_t value_size = types_get(types, types_plain(types, n->value))->size;
	bool are_apart = contents_are_apart(c);
	unsigned depth = n->height;
	if (!c->count || !contents_nodes_enter(scan, c, c->node, 0, 0, &way[0]) ||
		!contents_nodes_descend(scan, c, way, 0, 0))
		return 0;
	while (i < c->count && i < most) {
		struct step *step = &way[depth];
		if (step->at == step->len && !depth)
			break;
		if (step->at == step->len) {
			depth--;
			continue;
		}
		uint32_t at = step->at++;
		uint64_t key = step->node + n->keys + at * key_size;
		uint64_t value = step->node + n->values + at * value_size;
		i++;
		if (!take(context, are_apart ? 2 * i - 2 : i - 1, c->type, key) ||
			(are_apart && !take(context, 2 * i - 1, n->value, value)))
			return i;
		if (depth == n->height)
			continue;
		if (!contents_nodes_descend(scan, c, way, depth, step->at))
			break;
		depth = n->height;
	}
	return i;
}
