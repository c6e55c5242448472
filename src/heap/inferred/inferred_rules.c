/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/inferred_rules.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "heap/inferred/inferred_find.h"

#define RULES_MOST 64u
#define STEPS_MOST 4096u
#define ELEMENTS_MOST 16u
/* Of an enumeration's values; of those with more only the least and the largest count. */
#define VALUES_MOST 256u

struct finding_rules {
	struct types *types;
	struct alike_rules *rules;
	unsigned steps;
	bool ok;
};

static void add_rule(struct finding_rules *f, enum alike_kind kind, uint32_t type, uint64_t offset,
	uint64_t size)
{
	if (f->rules->len >= RULES_MOST || offset + size > 8ull * SHAPE_WORDS)
		return;
	f->ok &= alike_rules_push(f->rules, (struct alike_rule){.offset = (uint32_t)offset,
						    .size = (uint32_t)size,
						    .type = type,
						    .kind = kind});
}

static void add_number(
	struct finding_rules *f, const struct type *type, uint32_t number, uint64_t offset)
{
	bool is_wide = type->size == 4 || type->size == 8;
	if (type->kind == TYPE_ENUM && type->size && type->size <= 8)
		add_rule(f, ALIKE_ENUM, number, offset, type->size);
	else if (type->encoding == TYPE_BOOLEAN && type->size == 1)
		add_rule(f, ALIKE_BOOLEAN, number, offset, 1);
	else if (type->encoding == TYPE_FLOAT && is_wide)
		add_rule(f, ALIKE_FLOAT, number, offset, type->size);
	else if (is_wide && (type->encoding == TYPE_SIGNED || type->encoding == TYPE_UNSIGNED))
		add_rule(f, ALIKE_INTEGER, number, offset, type->size);
}

static void inferred_rules_descend(
	struct finding_rules *f, uint32_t number, uint64_t offset, unsigned depth);

static void descend_array(
	struct finding_rules *f, const struct type *array, uint64_t offset, unsigned depth)
{
	const struct type *of = types_get(f->types, types_plain(f->types, array->target));
	uint64_t size = of->size;
	if (of->kind == TYPE_NUMBER && size == 1 && of->encoding == TYPE_CHARACTER) {
		if (array->count >= 4)
			add_rule(f, ALIKE_TEXT, array->target, offset, array->count);
		return;
	}
	for (uint64_t i = 0; size && i < array->count && i < ELEMENTS_MOST; i++)
		inferred_rules_descend(f, array->target, offset + i * size, depth + 1);
}

/* Unions, bit fields and what is placed at run time make none. */
static void inferred_rules_descend(
	struct finding_rules *f, uint32_t number, uint64_t offset, unsigned depth)
{
	number = types_plain(f->types, number);
	struct type type = *types_get(f->types, number);
	uint32_t content = types_content(f->types, number);
	if (!f->ok || ++f->steps > STEPS_MOST || depth > TYPES_DEPTH_MAX ||
		offset >= 8ull * SHAPE_WORDS)
		return;
	enum alike_kind whole = alike_rule_of_object(&type);
	if (whole != ALIKE_NOTHING)
		add_rule(f, whole, number, offset, type.size);
	if (content != TYPE_VOID)
		inferred_rules_descend(f, content, offset, depth + 1);
	else if (type.kind == TYPE_NUMBER || type.kind == TYPE_ENUM)
		add_number(f, &type, number, offset);
	else if (type.kind == TYPE_ARRAY)
		descend_array(f, &type, offset, depth);
	for (uint32_t i = 0; content == TYPE_VOID && i < type.member_count &&
			     (type.kind == TYPE_STRUCT || type.kind == TYPE_CLASS);
		i++) {
		const struct type_member *member = &type.members[i];
		if (member->kind <= MEMBER_BASE && !member->bit_size)
			inferred_rules_descend(
				f, member->type, offset + member->bits / 8, depth + 1);
	}
}

bool alike_rules_find(
	struct types *types, uint32_t type, const struct fact *fact, struct alike_rules *ret)
{
	struct finding_rules f = {.types = types, .rules = ret, .ok = true};
	for (size_t i = 0; i < fact->slots.len; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t at = slot->offset;
		/* Of bytes a block can't have too few. */
		bool is_distinctive = types_get(types, slot->target)->size > 1 &&
				      !slot->when_count && slot->container.form == RUST_NONE;
		for (uint64_t k = 0; is_distinctive && k < slot->count && at / 8 < SHAPE_WORDS;
			k++, at += slot->stride) {
			if (at % 8 == 0)
				add_rule(&f, ALIKE_POINTER, slot->target, at, 8);
		}
	}
	for (uint64_t left = fact->map.pointers & ~fact->map.vtables; left; left &= left - 1)
		add_rule(&f, ALIKE_APART, TYPE_VOID, 8 * (uint64_t)__builtin_ctzll(left), 8);
	inferred_rules_descend(&f, type, 0, 0);
	return f.ok;
}

static bool inferred_rules_is_text(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && bytes[i]; i++) {
		if (!isprint(bytes[i]) && !isspace(bytes[i]) && bytes[i] < 0x80)
			return false;
	}
	return true;
}

/* Four characters or more, and then nothing but NULs. */
static bool reads_as_text(const uint8_t *bytes, size_t len)
{
	size_t i = 0;
	while (i < len && isprint(bytes[i]))
		i++;
	for (size_t k = i; k < len; k++) {
		if (bytes[k])
			return false;
	}
	return i >= 4;
}

static int64_t signed_of(const uint8_t *bytes, size_t len)
{
	int64_t value = 0;
	memcpy(&value, bytes, len);
	return len < 8 ? (int64_t)((uint64_t)value << (64 - 8 * len)) >> (64 - 8 * len) : value;
}

/* Whether a value is made of those that are single bits; of 0, 1, 2, 3… no such flags exist. */
static bool is_flags(const struct type *type, int64_t value)
{
	uint64_t mask = 0;
	int64_t most = 0, named = 0;
	for (uint32_t i = 0; i < type->member_count; i++) {
		int64_t one = (int64_t)type->members[i].bits;
		if (one < 0)
			return false;
		mask |= one & (one - 1) ? 0 : (uint64_t)one;
		most = one > most ? one : most;
		named += one != 0;
	}
	return most > named && !((uint64_t)value & ~mask);
}

static bool has_value(const struct type *type, int64_t value)
{
	bool is_many = type->member_count > VALUES_MOST;
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (uint32_t i = 0; i < type->member_count; i++) {
		int64_t one = (int64_t)type->members[i].bits;
		if (one == value)
			return true;
		least = one < least ? one : least;
		most = one > most ? one : most;
	}
	return is_many && value >= least && value <= most;
}

/* Memory that was never written is 0. */
static bool is_value(const struct types *types, const struct alike_rule *rule, int64_t value)
{
	const struct type *type = types_get(types, rule->type);
	uint64_t bits = 8ull * rule->size;
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	return !value || !type->member_count || has_value(type, value) ||
	       has_value(type, (int64_t)((uint64_t)value & mask)) || is_flags(type, value);
}

static bool is_usual(const uint8_t *bytes, size_t size)
{
	float small;
	double value;
	if (size == sizeof(small))
		value = (double)*(float *)memcpy(&small, bytes, sizeof(small));
	else
		memcpy(&value, bytes, sizeof(value));
	double least = size == sizeof(small) ? 1e-30 : 1e-150;
	return value == 0 || isinf(value) || isnan(value) ||
	       (fabs(value) > least && fabs(value) < 1 / least);
}

bool alike_rule_keeps(const struct types *types, struct alike_rule *rule, const uint8_t *bytes)
{
	switch (rule->kind) {
	case ALIKE_BOOLEAN:
		return *bytes <= 1;
	case ALIKE_ENUM:
		return is_value(types, rule, signed_of(bytes, rule->size));
	case ALIKE_INTEGER:
		return !reads_as_text(bytes, rule->size);
	case ALIKE_FLOAT:
		return is_usual(bytes, rule->size);
	case ALIKE_TEXT:
		rule->is_met |= *bytes != 0;
		return inferred_rules_is_text(bytes, rule->size);
	default:
		return true;
	}
}
