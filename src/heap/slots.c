/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/slots.h"

#include <stdlib.h>
#include <string.h>

#include "heap/choices.h"
#include "heap/limits.h"
#include "heap/nodes.h"

struct finding_slots {
	struct types *types;
	struct slot_vec *slots;
	unsigned steps;
	uint32_t node;  /* of the container around; TYPE_VOID: none */
	bool is_inside; /* that is the type itself, and no container in it */
	/* What a pointer must be in; `at` is from the type's beginning. */
	struct slot_when when[SLOT_WHENS];
	unsigned when_count;
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
	struct slot slot = {.offset = offset,
		.count = 1,
		.target = target,
		.is_node = is_node,
		.is_link = is_node && f->is_inside,
		.when_count = (uint8_t)f->when_count};
	for (unsigned i = 0; i < f->when_count; i++) {
		slot.when[i] = f->when[i];
		slot.when[i].at -= (int64_t)offset;
	}
	f->ok = slot_vec_push(f->slots, slot);
}

/* What stands in one of `count` elements stands in all of them. An array in an element either goes
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

static void descend(struct finding_slots *f, uint32_t number, uint64_t offset, unsigned depth);

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
		descend(f, array->target, offset + i * size, depth + 1);
	if (f->when_count)
		return;
	descend(f, array->target, offset, depth + 1);
	size_t end = f->slots->len;
	for (size_t i = before; array->count > 1 && i < end && f->ok; i++)
		f->ok = repeat_slot(f->slots, i, array->count, size);
}

static void descend_choice(
	struct finding_slots *f, struct choice *choice, uint64_t offset, unsigned depth)
{
	uint32_t alternative;
	if (f->when_count == SLOT_WHENS)
		return;
	struct slot_when *when = &f->when[f->when_count++];
	*when = (struct slot_when){.at = (int64_t)(offset + choice->which), .bytes = choice->bytes};
	for (when->value = choice->value; choices_next(f->types, choice, &alternative);
		when->value++)
		descend(f, alternative, offset + choice->at, depth + 1);
	f->when_count--;
}

static void descend(struct finding_slots *f, uint32_t number, uint64_t offset, unsigned depth)
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
		descend(f, types_content(f->types, number), offset, depth + 1);
	} else if (choices_find(f->types, number, &choice)) {
		descend_choice(f, &choice, offset, depth);
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
	descend(&f, type, 0, 0);
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

static uint32_t number_in(const struct slot_when *when, const uint8_t bytes[static 4])
{
	uint32_t number = 0;
	for (unsigned i = 0; i < when->bytes; i++)
		number |= (uint32_t)bytes[i] << 8 * i;
	return number;
}

bool slots_holds(const struct slot *slot, const struct address_space *space, uint64_t address)
{
	uint8_t bytes[4];
	bool holds = true;
	for (unsigned i = 0; holds && i < slot->when_count; i++) {
		const struct slot_when *when = &slot->when[i];
		holds = address_space_read(space, address + (uint64_t)when->at, bytes,
				when->bytes) == when->bytes &&
			number_in(when, bytes) == when->value;
	}
	return holds;
}

bool slots_holds_in(const struct slot *slot, const uint8_t *bytes, size_t len, uint64_t at)
{
	bool holds = true;
	for (unsigned i = 0; holds && i < slot->when_count; i++) {
		const struct slot_when *when = &slot->when[i];
		uint64_t where = at + (uint64_t)when->at;
		uint8_t number[4] = {0};
		holds = where < len && len - where >= when->bytes;
		if (holds)
			memcpy(number, bytes + where, when->bytes);
		holds = holds && number_in(when, number) == when->value;
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
