/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/virtual_bases.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BASES_MOST 32u
/* Bases and members that are looked at, of one object; damaged files' may contain themselves. */
#define STEPS_MOST 4096u
#define NESTING_MOST 8u

struct base {
	uint32_t type;
	uint64_t at; /* from the object's beginning */
};

struct placing {
	struct types *types;
	const struct address_space *space;
	uint64_t object; /* address */
	uint64_t size;
	struct base bases[BASES_MOST];
	unsigned count;
	unsigned *steps; /* of the whole object, of which this may be a member */
	/* Of a base of a larger type: what lies where in that one. */
	uint32_t whole; /* TYPE_VOID: it is an object of its own */
	uint64_t offset;
};

static const struct base *find_base(const struct placing *p, uint32_t type)
{
	for (unsigned i = 0; i < p->count; i++) {
		if (types_are_same(p->types, p->bases[i].type, type))
			return &p->bases[i];
	}
	return NULL;
}

/* What the table says that the object's part at `at` begins with. */
static bool ask_table(
	const struct placing *p, uint64_t at, const struct type_member *member, uint64_t *ret)
{
	uint64_t table, moved;
	if (!member->before || !address_space_word(p->space, p->object + at, &table) || table % 8 ||
		!address_space_module(p->space, table) ||
		!address_space_word(p->space, table - member->before, &moved))
		return false;
	*ret = at + moved;
	return true;
}

/* What the larger type has, which has each virtual base once. */
static bool ask_whole(const struct placing *p, uint32_t type, uint64_t *ret)
{
	const struct type *whole = types_get(p->types, p->whole);
	for (uint32_t i = 0; i < whole->member_count; i++) {
		const struct type_member *member = &whole->members[i];
		if (member->kind != MEMBER_BASE || member->bits / 8 < p->offset ||
			!types_are_same(p->types, types_plain(p->types, member->type), type))
			continue;
		*ret = member->bits / 8 - p->offset;
		return true;
	}
	return false;
}

/* All virtual bases of a part of the object, and of these. */
static void find_bases(struct placing *p, uint32_t type, uint64_t at, unsigned depth)
{
	struct type of = *types_get(p->types, type);
	for (uint32_t i = 0; i < of.member_count && depth < TYPES_DEPTH_MAX; i++) {
		const struct type_member *member = &of.members[i];
		uint32_t plain = types_plain(p->types, member->type);
		uint64_t place = at + member->bits / 8;
		if (++*p->steps > STEPS_MOST)
			return;
		if (member->kind == MEMBER_VIRTUAL_BASE) {
			if (p->count == BASES_MOST || find_base(p, plain) ||
				!(p->whole != TYPE_VOID ? ask_whole(p, plain, &place)
							: ask_table(p, at, member, &place)) ||
				place >= p->size || place % 8)
				continue;
			p->bases[p->count++] = (struct base){plain, place};
		} else if (member->kind != MEMBER_BASE) {
			continue;
		}
		find_bases(p, plain, place, depth + 1);
	}
}

static uint32_t virtual_bases_place_place(struct placing *p, uint32_t type, unsigned depth);

/* Adds the virtual bases to a type's own members, by place. */
static uint32_t virtual_bases_make(
	struct placing *p, uint32_t type, struct type_member *members, bool is_other)
{
	uint32_t count = types_get(p->types, type)->member_count;
	for (unsigned i = 0; i < p->count; i++) {
		uint32_t at = count;
		uint64_t bits = 8 * p->bases[i].at;
		while (at && (members[at - 1].bits > bits ||
				     members[at - 1].kind == MEMBER_VIRTUAL_BASE)) {
			members[at] = members[at - 1];
			at--;
		}
		members[at] = (struct type_member){
			.bits = bits, .type = p->bases[i].type, .kind = MEMBER_BASE};
		count++;
	}
	return p->count || is_other ? types_with_members(p->types, type, members, count) : type;
}

/* Members that are objects are of types of their own, too. */
static bool place_members(
	const struct placing *p, uint32_t count, unsigned depth, struct type_member *members)
{
	bool any = false;
	for (uint32_t i = 0; i < count && ++*p->steps <= STEPS_MOST; i++) {
		uint32_t plain = types_plain(p->types, members[i].type);
		struct placing member = {.types = p->types,
			.space = p->space,
			.object = p->object + members[i].bits / 8,
			.steps = p->steps};
		uint32_t placed = members[i].kind == MEMBER_PLAIN
					  ? virtual_bases_place_place(&member, plain, depth + 1)
					  : plain;
		any |= placed != plain;
		if (placed != plain)
			members[i].type = placed;
	}
	return any;
}

static uint32_t virtual_bases_place_place(struct placing *p, uint32_t type, unsigned depth)
{
	const struct type of = *types_get(p->types, type);
	p->size = of.size;
	if ((of.kind != TYPE_STRUCT && of.kind != TYPE_CLASS) || depth > NESTING_MOST ||
		!types_have_virtual_bases(p->types, type))
		return type;
	_cleanup_free_ struct type_member *members =
		malloc((of.member_count + BASES_MOST) * sizeof(*members));
	if (!members)
		return type;
	memcpy(members, of.members, of.member_count * sizeof(*members));
	bool is_other = place_members(p, of.member_count, depth, members);
	find_bases(p, type, 0, 0);
	return virtual_bases_make(p, type, members, is_other);
}

uint32_t virtual_bases_place(
	struct types *types, const struct address_space *space, uint32_t type, uint64_t address)
{
	unsigned steps = 0;
	struct placing p = {.types = types, .space = space, .object = address, .steps = &steps};
	return virtual_bases_place_place(&p, type, 0);
}

uint32_t virtual_bases_within(struct types *types, uint32_t whole, uint64_t offset, uint32_t type)
{
	/* Not as it is where it is no base. */
	type = types_declared(types, type);
	const struct type of = *types_get(types, type);
	unsigned steps = 0;
	struct placing p = {.types = types,
		.steps = &steps,
		.size = types_get(types, whole)->size,
		.whole = whole,
		.offset = offset};
	find_bases(&p, type, 0, 0);
	if (!p.count)
		return type;
	_cleanup_free_ struct type_member *members =
		malloc((of.member_count + BASES_MOST) * sizeof(*members));
	if (!members)
		return type;
	memcpy(members, of.members, of.member_count * sizeof(*members));
	return virtual_bases_make(&p, type, members, false);
}
