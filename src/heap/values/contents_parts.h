/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to contents*.c: how the objects of each class are read. */
#ifndef HEAP_CONTENTS_PARTS_H
#define HEAP_CONTENTS_PARTS_H

#include "heap/contents.h"

struct contents_object {
	const struct heap_scan *scan;
	struct types *types;
	uint32_t type; /* plain */
	uint64_t address;
	unsigned depth; /* of what stands for another object */
};

/* Where a value of a type begins in a node that has this many bytes before it. */
uint32_t contents_value_offset(struct types *types, uint32_t type, uint32_t after);

bool contents_read_string(struct contents_object *object, struct contents *ret);
bool contents_read_view(struct contents_object *object, struct contents *ret);
bool contents_read_bools(struct contents_object *object, struct contents *ret);
bool contents_read_vector(struct contents_object *object, struct contents *ret);
bool contents_read_list(struct contents_object *object, struct contents *ret);
bool contents_read_forward(struct contents_object *object, struct contents *ret);
bool contents_read_deque(struct contents_object *object, struct contents *ret);
bool contents_read_map(struct contents_object *object, struct contents *ret);
bool contents_read_set(struct contents_object *object, struct contents *ret);
bool contents_read_hash_map(struct contents_object *object, struct contents *ret);
bool contents_read_hash_set(struct contents_object *object, struct contents *ret);
bool contents_read_adapted(struct contents_object *object, struct contents *ret);
bool contents_read_array(struct contents_object *object, struct contents *ret);
bool contents_read_bitset(struct contents_object *object, struct contents *ret);
bool contents_read_tuple(struct contents_object *object, struct contents *ret);
bool contents_read_optional(struct contents_object *object, struct contents *ret);
bool contents_read_variant(struct contents_object *object, struct contents *ret);
bool contents_read_any(struct contents_object *object, struct contents *ret);
bool contents_read_function(struct contents_object *object, struct contents *ret);
bool contents_read_unique(struct contents_object *object, struct contents *ret);
bool contents_read_shared(struct contents_object *object, struct contents *ret);
bool contents_read_atomic(struct contents_object *object, struct contents *ret);

bool contents_read_rust_tree(struct contents_object *object, struct contents *ret);
uint64_t contents_each_in_nodes(const struct heap_scan *scan, struct types *types,
	const struct contents *contents, uint64_t most,
	bool (*take)(void *context, uint64_t number, uint32_t type, uint64_t address),
	void *context);
bool contents_read_rust(struct contents_object *object, struct contents *ret);
bool contents_read_rust_hash(struct contents_object *object, struct contents *ret);
bool contents_read_rust_enum(struct contents_object *object, struct contents *ret);
bool contents_read_rust_pointer(struct contents_object *object, struct contents *ret);

#endif
