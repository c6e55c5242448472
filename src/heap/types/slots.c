/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/slots.h"

#include <stdlib.h>
#include <string.h>

#include "heap/contents.h"
#include "heap/limits.h"
#include "heap/types/choices.h"
#include "heap/types/nodes.h"

struct finding_slots {
	struct types *types;
	struct slot_vec *slots;
	unsigned steps;
	uint32_t node;  /* of the container around; TYPE_VOID: none */
	bool is_inside; /* that is the type itself, and no container in it */
	bool is_cell;   /* what may have no value yet has one, if the conditions hold */
	/* What a pointer must be in; `at` is from the type's beginning. */
	struct slot_when when[SLOT_CONDITIONS];
	unsigned when_count;
	bool ok;
};

bool slots_are_distinctive(const struct types *types, uint32_t plain)
{
	const struct type *type = types_get(types, plain);
	return type->size && type->kind != TYPE_UNKNOWN && type->kind != TYPE_FUNCTION &&
	       !type->is_declared;
}

/* What a pointer itself says: it is none, if it is NULL. */
static bool is_needless(const struct slot_when *when, uint64_t offset)
{
	return when->at == (int64_t)offset && when->bytes == 8 && when->is_outside && !when->low &&
	       !when->high;
}

static void take_slot(struct finding_slots *f, struct slot *slot)
{
	for (unsigned i = 0; i < f->when_count; i++) {
		if (is_needless(&f->when[i], slot->offset))
			continue;
		slot->when[slot->when_count] = f->when[i];
		slot->when[slot->when_count++].at -= (int64_t)slot->offset;
	}
	f->ok = slot_vec_push(f->slots, *slot);
}

static void take_pointer(struct finding_slots *f, uint32_t number, uint64_t offset)
{
	uint32_t target = types_plain(f->types, types_target(f->types, number));
	bool is_node = nodes_is_base(f->types, target);
	if (is_node)
		target = f->node;
	if (!slots_are_distinctive(f->types, target))
		return;
	struct slot slot = {.offset = offset,
		.count = 1,
		.target = target,
		.is_node = is_node,
		.is_link = is_node && f->is_inside};
	const struct type of = *types_get(f->types, target);
	if (rust_is_leaf(&of))
		slot.internal = rust_internal_of_leaf(f->types, &of);
	/* Structures need no such declaration. */
	if (types_get(f->types, number)->is_box && !type_has_members(&of))
		slot.container = (struct slot_container){.form = RUST_BOX, .type = number};
	take_slot(f, &slot);
}

static void take_container(struct finding_slots *f, uint32_t number,
	const struct rust_container *container, uint64_t offset)
{
	struct slot slot = {.offset = offset + container->pointer,
		.count = 1,
		.target = container->element,
		.container = {.form = container->form,
			.type = number,
			.count = (int32_t)container->count - (int32_t)container->pointer,
			.room = (int32_t)container->room - (int32_t)container->pointer,
			.begin = (int32_t)container->begin - (int32_t)container->pointer,
			.has_begin = container->begin != RUST_NOWHERE,
			.ends = container->ends,
			.is_held = container->is_held}};
	take_slot(f, &slot);
}

/* What is in one of `count` elements is in all of them. An array in an element either goes
 * on in the next one, or the shorter of both is written out: slots are at most the square root of
 * words. */
static bool repeat_slot(struct slot_vec *slots, size_t at, uint64_t count, uint64_t size)
{
	struct slot slot = slots->data[at];
	if (slot.count == 1 || slot.stride * slot.count == size) {
		slots->data[at].stride = slot.count == 1 ? size : slot.stride;
		slots->data[at].count = slot.count * count;
		return true;
	}
	bool is_inner = slot.count < count;
	uint64_t times = is_inner ? slot.count : count, step = is_inner ? slot.stride : size;
	if (is_inner) {
		slot.stride = size;
		slot.count = count;
	}
	slots->data[at] = slot;
	bool ok = true;
	for (uint64_t i = 1; i < times && ok; i++) {
		slot.offset += step;
		ok = slot_vec_push(slots, slot);
	}
	return ok;
}

static void slots_descend(
	struct finding_slots *f, uint32_t number, uint64_t offset, unsigned depth);

static void descend_array(
	struct finding_slots *f, const struct type *array, uint64_t offset, unsigned depth)
{
	uint64_t size = types_get(f->types, array->target)->size;
	if (!array->count || !size)
		return;
	size_t before = f->slots->len;
	/* A number that says what is there is not repeated with what is there. */
	for (uint64_t i = 0;
		f->when_count && i < array->count && f->ok && f->steps <= LIMIT_TYPE_STEPS; i++)
		slots_descend(f, array->target, offset + i * size, depth + 1);
	if (f->when_count)
		return;
	slots_descend(f, array->target, offset, depth + 1);
	size_t end = f->slots->len;
	for (size_t i = before; array->count > 1 && i < end && f->ok; i++)
		f->ok = repeat_slot(f->slots, i, array->count, size);
}

static void descend_choice(
	struct finding_slots *f, struct choice *choice, uint64_t offset, unsigned depth)
{
	uint32_t alternative;
	if (f->when_count == SLOT_CONDITIONS)
		return;
	struct slot_when *when = &f->when[f->when_count++];
	*when = (struct slot_when){.at = (int64_t)(offset + choice->which), .bytes = choice->bytes};
	for (when->low = choice->value; choices_next(f->types, choice, &alternative); when->low++) {
		when->high = when->low;
		slots_descend(f, alternative, offset + choice->at, depth + 1);
	}
	f->when_count--;
}

/* The values that some variant has; of what is in between and has none it does not matter. */
static void find_values(const struct type *type, struct slot_when *when)
{
	when->low = UINT64_MAX;
	for (uint32_t i = 0; i < type->variant_count; i++) {
		const struct type_variant *variant = &type->variants[i];
		if (variant->is_rest)
			continue;
		when->low = variant->value < when->low ? variant->value : when->low;
		when->high = variant->value > when->high ? variant->value : when->high;
	}
}

/* One of several things. */
static void descend_variants(
	struct finding_slots *f, const struct type *type, uint64_t offset, unsigned depth)
{
	if (f->when_count == SLOT_CONDITIONS && type->which_bytes)
		return;
	struct slot_when values = {
		.at = (int64_t)(offset + type->which), .bytes = type->which_bytes};
	find_values(type, &values);
	for (uint32_t i = 0; i < type->variant_count; i++) {
		const struct type_variant *variant = &type->variants[i];
		struct slot_when when = values;
		when.is_outside = variant->is_rest;
		if (!variant->is_rest)
			when.low = when.high = variant->value;
		/* What is alone is always there. */
		bool is_sure = !type->which_bytes || type->variant_count == 1;
		if (!is_sure)
			f->when[f->when_count++] = when;
		slots_descend(f, variant->type, offset + variant->bits / 8, depth + 1);
		f->when_count -= !is_sure;
	}
}

/* The elements of a BTreeMap's node that are there: the n-th if its `len`, which is at
 * `len_at`, is n + `first` at least. */
static void descend_counted(struct finding_slots *f, const struct type_member *member,
	uint64_t offset, uint64_t len_at, uint64_t first, unsigned depth)
{
	const struct type array = *types_get(f->types, types_plain(f->types, member->type));
	uint64_t size = types_get(f->types, array.target)->size;
	bool was_cell = f->is_cell;
	if (array.kind != TYPE_ARRAY || !size || f->when_count == SLOT_CONDITIONS)
		return;
	f->is_cell = true;
	for (uint64_t i = 0; i < array.count && f->ok && f->steps <= LIMIT_TYPE_STEPS; i++) {
		f->when[f->when_count++] = (struct slot_when){
			.at = (int64_t)len_at, .bytes = 2, .low = i + first, .high = array.count};
		slots_descend(f, array.target, offset + member->bits / 8 + i * size, depth + 1);
		f->when_count--;
	}
	f->is_cell = was_cell;
}

static void descend_tree_node(struct finding_slots *f, uint32_t number, const struct type *type,
	uint64_t offset, unsigned depth)
{
	uint64_t len_at;
	uint32_t unused;
	if (!contents_member(f->types, number, "len", &len_at, &unused) ||
		types_get(f->types, types_plain(f->types, unused))->size != 2)
		return;
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		const char *name = member->name ? member->name : "";
		bool is_edge = !strcmp(name, "edges");
		if (is_edge || !strcmp(name, "keys") || !strcmp(name, "vals"))
			descend_counted(f, member, offset, offset + len_at, is_edge ? 0 : 1, depth);
		else
			slots_descend(f, member->type, offset + member->bits / 8, depth + 1);
	}
}

/* The value of what may have none yet. */
static void descend_unset(
	struct finding_slots *f, const struct type *type, uint64_t offset, unsigned depth)
{
	bool is_there = f->is_cell;
	f->is_cell = false;
	for (uint32_t i = 0; is_there && i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		if (member->name && !strcmp(member->name, "value"))
			slots_descend(f, member->type, offset + member->bits / 8, depth + 1);
	}
	f->is_cell = is_there;
}

static void descend_members(
	struct finding_slots *f, const struct type *type, uint64_t offset, unsigned depth)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		if (member->kind <= MEMBER_BASE && !member->bit_size)
			slots_descend(f, member->type, offset + member->bits / 8, depth + 1);
	}
}

/* The members of what is only known to be there if its `once` says so: 1 to 3 is what all libraries
 * have for cells without a value, beside those (of zeros) that were never used. */
static void descend_cell(struct finding_slots *f, uint32_t number, const struct type *type,
	uint64_t offset, unsigned depth)
{
	uint64_t once_at;
	uint32_t once;
	bool was_cell = f->is_cell;
	bool has_once = f->when_count < SLOT_CONDITIONS &&
			contents_member(f->types, number, "once", &once_at, &once) &&
			types_get(f->types, types_plain(f->types, once))->size == 4;
	if (has_once)
		f->when[f->when_count++] = (struct slot_when){.at = (int64_t)(offset + once_at),
			.bytes = 4,
			.low = 1,
			.high = 3,
			.is_outside = true};
	f->is_cell = true;
	descend_members(f, type, offset, depth);
	f->is_cell = was_cell;
	f->when_count -= has_once;
}

static void descend_rust(struct finding_slots *f, uint32_t number, uint64_t offset, unsigned depth)
{
	const struct type type = *types_get(f->types, number);
	struct rust_container container;
	if (rust_container_find(f->types, number, &container))
		take_container(f, number, &container, offset);
	else if (rust_is_leaf(&type) || rust_is_internal(&type))
		descend_tree_node(f, number, &type, offset, depth);
	else if (type.kind == TYPE_UNION)
		descend_unset(f, &type, offset, depth);
	else if (rust_is_cell(&type))
		descend_cell(f, number, &type, offset, depth);
	else if (type.kind == TYPE_STRUCT)
		descend_members(f, &type, offset, depth);
	if (type.variant_count)
		descend_variants(f, &type, offset, depth);
}

static void slots_descend(struct finding_slots *f, uint32_t number, uint64_t offset, unsigned depth)
{
	number = types_plain(f->types, number);
	struct type type = *types_get(f->types, number);
	if (!f->ok || ++f->steps > LIMIT_TYPE_STEPS || depth > TYPES_DEPTH_MAX)
		return;
	uint32_t outer = f->node;
	bool was_inside = f->is_inside;
	struct choice choice;
	if (type.kind == TYPE_POINTER || type.kind == TYPE_REFERENCE) {
		take_pointer(f, number, offset);
	} else if (type.kind == TYPE_ARRAY) {
		descend_array(f, &type, offset, depth);
	} else if (types_content(f->types, number) != TYPE_VOID) {
		slots_descend(f, types_content(f->types, number), offset, depth + 1);
	} else if (choices_find(f->types, number, &choice)) {
		descend_choice(f, &choice, offset, depth);
	} else if (type.is_rust) {
		descend_rust(f, number, offset, depth);
	} else if (type.kind == TYPE_STRUCT || type.kind == TYPE_CLASS ||
		   (type.kind == TYPE_UNION && type.member_count == 1)) {
		/* A union of one thing keeps it from being made too early. */
		uint32_t own = nodes_inside(f->types, number, TYPE_VOID);
		if (own != TYPE_VOID) {
			f->is_inside = own == number && outer == TYPE_VOID;
			f->node = own;
		}
		descend_members(f, &type, offset, depth);
		f->node = outer;
		f->is_inside = was_inside;
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

static bool are_in_order(const struct slot_vec *slots)
{
	for (size_t i = 1; i < slots->len; i++) {
		if (slots->data[i - 1].offset > slots->data[i].offset)
			return false;
	}
	return true;
}

bool slots_find(struct types *types, uint32_t type, struct slot_vec *ret, bool *ret_whole)
{
	struct finding_slots f = {.types = types, .slots = ret, .ok = true};
	slot_vec_clear(ret);
	slots_descend(&f, type, 0, 0);
	if (!are_in_order(ret))
		qsort(ret->data, ret->len, sizeof(*ret->data), by_offset);
	uint64_t reach = 0;
	for (size_t i = 0; i < ret->len; i++) {
		struct slot *slot = &ret->data[i];
		uint64_t end = slot->offset + (slot->count - 1) * slot->stride + 8;
		reach = end > reach ? end : reach;
		slot->reach = reach;
	}
	*ret_whole = f.steps <= LIMIT_TYPE_STEPS;
	return f.ok;
}

static bool is_at(const struct slot *slot, uint64_t offset)
{
	uint64_t into = offset - slot->offset;
	return !into ||
	       (slot->count > 1 && into % slot->stride == 0 && into / slot->stride < slot->count);
}

static bool is_met(const struct slot_when *when, const uint8_t bytes[static 8])
{
	uint64_t number = 0;
	for (unsigned i = 0; i < when->bytes; i++)
		number |= (uint64_t)bytes[i] << 8 * i;
	return (number >= when->low && number <= when->high) != when->is_outside;
}

bool slots_holds(const struct slot *slot, const struct address_space *space, uint64_t address)
{
	uint8_t bytes[8];
	bool holds = true;
	for (unsigned i = 0; holds && i < slot->when_count; i++) {
		const struct slot_when *when = &slot->when[i];
		holds = address_space_read(space, address + (uint64_t)when->at, bytes,
				when->bytes) == when->bytes &&
			is_met(when, bytes);
	}
	return holds;
}

bool slots_holds_in(const struct slot *slot, const uint8_t *bytes, size_t len, uint64_t at)
{
	bool holds = true;
	for (unsigned i = 0; holds && i < slot->when_count; i++) {
		const struct slot_when *when = &slot->when[i];
		uint64_t where = at + (uint64_t)when->at;
		uint8_t number[8] = {0};
		holds = where < len && len - where >= when->bytes;
		if (holds)
			memcpy(number, bytes + where, when->bytes);
		holds = holds && is_met(when, number);
	}
	return holds;
}

/* space: NULL: only what is always there. */
static const struct slot *find_at(const struct slot_vec *slots, uint64_t offset,
	const struct address_space *space, uint64_t address)
{
	size_t low = 0, high = slots->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (slots->data[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	const struct slot *found = NULL;
	while (low-- > 0 && slots->data[low].reach > offset) {
		const struct slot *slot = &slots->data[low];
		if (is_at(slot, offset) &&
			(!slot->when_count || (space && slots_holds(slot, space, address))))
			found = slot;
		else if (found)
			break;
	}
	return found;
}

const struct slot *slots_at(const struct slot_vec *slots, uint64_t offset)
{
	return find_at(slots, offset, NULL, 0);
}

const struct slot *slots_at_address(const struct slot_vec *slots, uint64_t offset,
	const struct address_space *space, uint64_t address)
{
	return find_at(slots, offset, space, address);
}
