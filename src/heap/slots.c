/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/slots.h"

#include "heap/nodes.h"

/* Arrays in objects, and what is looked at of a damaged file's types. */
#define STEPS_MOST 20000u

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

static void take_pointer(struct finding_slots *f, uint32_t number, uint64_t offset)
{
	uint32_t target = types_plain(f->types, types_target(f->types, number));
	bool is_node = nodes_is_base(f->types, target);
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
	} else if (type.kind == TYPE_STRUCT || type.kind == TYPE_CLASS ||
		   (type.kind == TYPE_UNION && type.member_count == 1)) {
		/* A union of one thing keeps it from being made too early. */
		uint32_t own = nodes_inside(f->types, number, TYPE_VOID);
		if (own != TYPE_VOID) {
			f->is_inside = own == number && outer == TYPE_VOID;
			f->node = own;
		}
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
