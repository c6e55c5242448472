/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap/heap_values.h"

#include <assert.h>
#include <ctype.h>
#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/where.h"
#include "views/heap/heap_contents_view.h"

#define TEXT_MOST 60u /* characters of a string */

/* A std::string of libstdc++'s, since 5: up to 15 characters stand in `own`. */
struct string_words {
	uint64_t start, len;
	char own[16];
};
static_assert(sizeof(struct string_words) == 32, "as libstdc++ has it");
#define STRING_MOST (1ull << 40)
/* Structures in structures in containers. */
#define STRUCTURE_DEPTH 4u

/* Up to 8 bytes, or a bit field. */
static bool heap_values_read_number(
	const struct heap_values *v, uint64_t bits, uint64_t size, uint32_t bit_size, uint64_t *ret)
{
	uint64_t at = bits / 8, bytes = bit_size ? (bits % 8 + bit_size + 7) / 8 : size;
	unsigned __int128 value = 0;
	if (!bytes || bytes > 9 || at > v->len || v->len - at < bytes)
		return false;
	memcpy(&value, v->bytes + at, bytes);
	value >>= bit_size ? bits % 8 : 0;
	*ret = (uint64_t)value;
	if (bit_size && bit_size < 64)
		*ret &= (1ull << bit_size) - 1;
	return true;
}

static int64_t with_sign(uint64_t value, unsigned bits)
{
	return bits && bits < 64 ? (int64_t)(value << (64 - bits)) >> (64 - bits) : (int64_t)value;
}

static void add_float(const struct heap_values *v, uint64_t at, uint64_t size, struct text *text)
{
	float small;
	double large;
	long double huge;
	if (at > v->len || v->len - at < size)
		text_add(text, "?");
	else if (size == sizeof(small))
		text_printf(text, "%.9g", (double)*(float *)memcpy(&small, v->bytes + at, size));
	else if (size == sizeof(large))
		text_printf(text, "%.17g", *(double *)memcpy(&large, v->bytes + at, size));
	else if (size == sizeof(huge))
		text_printf(text, "%.20Lg", *(long double *)memcpy(&huge, v->bytes + at, size));
	else
		text_add(text, "{…}");
}

/* 128 bits. */
static void add_wide(const struct heap_values *v, uint64_t at, struct text *text)
{
	uint64_t words[2];
	if (at > v->len || v->len - at < sizeof(words)) {
		text_add_char(text, '?');
		return;
	}
	memcpy(words, v->bytes + at, sizeof(words));
	text_printf(text, "0x%016" PRIx64 "%016" PRIx64, words[1], words[0]);
}

static void add_character(unsigned char c, struct text *text)
{
	if (c == '"' || c == '\\')
		text_printf(text, "\\%c", c);
	else if (isprint(c))
		text_add_char(text, (char)c);
	else
		text_printf(text, "\\%03o", c);
}

/* `end`: what is behind is no part of it. */
static void add_characters(const uint8_t *bytes, size_t end, struct text *text)
{
	size_t shown = end < TEXT_MOST ? end : TEXT_MOST;
	text_add_char(text, '"');
	for (size_t i = 0; i < shown; i++)
		add_character(bytes[i], text);
	text_add(text, shown < end ? "\"…" : "\"");
}

/* The name of a value; of flags those of their bits. */
static void add_enumerator(const struct type *type, int64_t value, struct text *text)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		if ((int64_t)type->members[i].bits == value && type->members[i].name) {
			text_add_shown(text, type->members[i].name, 200);
			return;
		}
	}
	int64_t left = value;
	size_t start = text->len;
	for (uint32_t i = 0; i < type->member_count && left > 0; i++) {
		int64_t bit = (int64_t)type->members[i].bits;
		if (bit <= 0 || (bit & left) != bit || !type->members[i].name)
			continue;
		text_add(text, text->len > start ? " | " : "");
		text_add_shown(text, type->members[i].name, 200);
		left &= ~bit;
	}
	if (!left && value)
		return;
	text_add(text, text->len > start ? " | " : "");
	text_printf(text, type->encoding == TYPE_SIGNED ? "%" PRId64 : "%" PRIu64, left);
}

static bool is_character(const struct heap_values *v, uint32_t type)
{
	const struct type *of = types_get(v->types, types_plain(v->types, type));
	return of->kind == TYPE_NUMBER && of->size == 1 &&
	       (of->encoding == TYPE_CHARACTER || of->encoding == TYPE_BYTE);
}

/* Where an array of characters ends: a string with its NUL; bytes, which may be any, with the last
 * one that is none. */
static size_t heap_values_end_of(
	const struct heap_values *v, uint32_t type, const uint8_t *bytes, size_t len)
{
	const struct type *of = types_get(v->types, types_plain(v->types, type));
	if (of->encoding == TYPE_CHARACTER)
		return strnlen((const char *)bytes, len);
	while (len && !bytes[len - 1])
		len--;
	return len;
}

/* The string that a pointer to characters leads to, if it is printable. */
static void add_pointed_text(const struct heap_values *v, uint64_t address, struct text *text)
{
	char string[TEXT_MOST + 2];
	size_t got = address_space_read(v->scan->heap.space, address, string, sizeof(string) - 1);
	size_t len = strnlen(string, got);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)string[i] < ' ' && !isspace((unsigned char)string[i]))
			return;
	}
	if (!len)
		return;
	text_add_char(text, ' ');
	add_characters((const uint8_t *)string, len, text);
}

/* What an address leads to. */
static void heap_values_add_place(struct heap_values *v, uint64_t address, struct text *text)
{
	struct heap_where where = {.kind = HEAP_WHERE_NOWHERE};
	struct error *error = heap_where(v->scan, address, &where);
	if (v->error)
		error_destroy(error);
	else
		v->error = error;
	heap_where_describe(&where, text);
}

static void add_pointer(struct heap_values *v, uint32_t number, uint64_t value, struct text *text)
{
	if (!value) {
		text_add(text, "NULL");
		return;
	}
	text_printf(text, "0x%" PRIx64, value);
	if (is_character(v, types_target(v->types, number)))
		add_pointed_text(v, value, text);
	if (!v->is_short) {
		text_add(text, " → ");
		heap_values_add_place(v, value, text);
	}
}

/* A member by its name; of functions a virtual one by its place in the table (Itanium C++
 * ABI, 2.3). */
static void add_member_pointer(
	struct heap_values *v, const struct type *type, uint64_t bits, struct text *text)
{
	uint64_t value, added = 0;
	if (!heap_values_read_number(v, bits, 8, 0, &value) ||
		(type->size == 16 && !heap_values_read_number(v, bits + 64, 8, 0, &added))) {
		text_add_char(text, '?');
		return;
	}
	/* On aarch64 the second word is twice what is added, and odd for virtual ones (C++ ABI for
	 * the Arm 64-bit Architecture, 3.2.1). */
	bool is_function = type->size == 16;
	bool arm = v->scan->heap.space->machine == EM_AARCH64;
	bool is_virtual = arm ? added & 1 : value & 1;
	int64_t moved = arm ? (int64_t)added >> 1 : (int64_t)added;
	bool is_null = is_function ? !value && !(arm && is_virtual) : value == UINT64_MAX;
	if (is_null) {
		text_add(text, "NULL");
	} else if (!is_function) {
		struct types_place place;
		_cleanup_(text_deinit) struct text path;
		text_init(&path);
		if (type->member_count)
			types_locate(v->types, type->members[0].type, value, &place, &path);
		text_printf(text, "%" PRIu64, value);
		if (path.len) {
			text_add(text, " (");
			text_add_shown(text, path.data, 200);
			text_add_char(text, ')');
		}
	} else {
		if (is_virtual)
			text_printf(text, "virtual function %" PRIu64, value / 8);
		else
			heap_values_add_place(v, value, text);
		if (moved)
			text_printf(text, ", this %+" PRId64, moved);
	}
}

uint64_t heap_values_count(
	const struct heap_values *values, const struct type *array, uint64_t bits)
{
	uint64_t size = types_get(values->types, array->target)->size, at = bits / 8;
	if (array->count || !size || at + 8 <= values->size || at > values->len ||
		values->size == UINT64_MAX)
		return array->count;
	return (values->len - at) / size;
}

static void add_array(
	struct heap_values *v, const struct type *type, uint64_t bits, struct text *text)
{
	uint64_t at = bits / 8, element = types_get(v->types, type->target)->size;
	uint64_t count = heap_values_count(v, type, bits);
	if (is_character(v, type->target)) {
		uint64_t left = at < v->len ? v->len - at : 0;
		const uint8_t *bytes = left ? v->bytes + at : (const uint8_t *)"";
		size_t len = count < left ? (size_t)count : (size_t)left;
		add_characters(bytes, heap_values_end_of(v, type->target, bytes, len), text);
		return;
	}
	bool was_short = v->is_short;
	v->is_short = true;
	text_add_char(text, '{');
	for (uint64_t i = 0; i < count && element; i++) {
		text_add(text, i ? ", " : "");
		/* Of what was not read nothing is said, however many dimensions there are. */
		if (i == v->elements || (i && at + element * i >= v->len)) {
			text_printf(text, "… %" PRIu64 " more", count - i);
			break;
		}
		heap_values_add(v, type->target, bits + 8 * element * i, 0, text);
	}
	text_add_char(text, '}');
	v->is_short = was_short;
}

bool heap_values_is_text(const struct heap_values *values, uint32_t plain)
{
	static const char name[] = "std::__cxx11::basic_string<char,";
	const struct type *type = types_get(values->types, plain);
	return type->name && type->size == sizeof(struct string_words) &&
	       !strncmp(type->name, name, sizeof(name) - 1);
}

/* What makes no sense is said as it stands there. */
static void add_string(struct heap_values *v, uint64_t at, struct text *text)
{
	struct string_words string;
	if (at > v->len || v->len - at < sizeof(string)) {
		text_add_char(text, '?');
		return;
	}
	memcpy(&string, v->bytes + at, sizeof(string));
	heap_values_add_text(v, string.start, string.len, text);
}

void heap_values_add_text(
	struct heap_values *values, uint64_t address, uint64_t len, struct text *text)
{
	uint8_t bytes[TEXT_MOST + 1];
	size_t wanted = len < sizeof(bytes) ? (size_t)len : sizeof(bytes);
	size_t got = address_space_read(values->scan->heap.space, address, bytes, wanted);
	if (got == wanted && len <= STRING_MOST)
		add_characters(bytes, got, text);
	else
		text_printf(text, "{0x%" PRIx64 ", %" PRIu64 " bytes}", address, len);
	if (len > TEXT_MOST && got == wanted)
		text_printf(text, " (%" PRIu64 " bytes)", len);
}

/* A character of UTF-16 that is two units: returns 1. */
static size_t join_surrogates(const uint8_t *at, uint32_t unit, size_t left, uint32_t *character)
{
	uint16_t next;
	if (unit != sizeof(next) || left < 2 || *character >> 10 != 0xd800 >> 10)
		return 0;
	memcpy(&next, at + unit, sizeof(next));
	if (next >> 10 != 0xdc00 >> 10)
		return 0;
	*character = 0x10000 + ((*character & 0x3ff) << 10 | (next & 0x3ff));
	return 1;
}

void heap_values_add_wide_text(struct heap_values *values, uint64_t address, uint64_t len,
	uint32_t unit, struct text *text)
{
	uint8_t bytes[4 * TEXT_MOST];
	size_t shown = len < TEXT_MOST ? (size_t)len : TEXT_MOST;
	if (address_space_read(values->scan->heap.space, address, bytes, shown * unit) !=
		shown * unit) {
		text_printf(text, "{0x%" PRIx64 ", %" PRIu64 " characters}", address, len);
		return;
	}
	text_add_char(text, '"');
	for (size_t i = 0; i < shown; i++) {
		uint32_t character = 0;
		memcpy(&character, bytes + i * unit, unit);
		i += join_surrogates(bytes + i * unit, unit, shown - i, &character);
		if (character < 0x80)
			add_character((unsigned char)character, text);
		else
			text_printf(text,
				character > UINT16_MAX ? "\\U%08" PRIx32 : "\\u%04" PRIx32,
				character);
	}
	text_add_char(text, '"');
	if (shown < len)
		text_printf(text, "… (%" PRIu64 " characters)", len);
}

#define MEMBERS_SHOWN 8u

/* A structure in a container: "{1, 2.5}". */
static void add_members(
	struct heap_values *v, const struct type *type, uint64_t bits, struct text *text)
{
	uint32_t shown = 0;
	text_add_char(text, '{');
	v->depth++;
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		uint32_t plain = types_plain(v->types, member->type);
		const struct type *of = types_get(v->types, plain);
		if (member->kind == MEMBER_VIRTUAL_BASE || member->kind == MEMBER_VTABLE ||
			(type_has_members(of) && !of->member_count && !of->variant_count))
			continue;
		if (shown == MEMBERS_SHOWN) {
			text_add(text, ", …");
			break;
		}
		text_add(text, shown++ ? ", " : "");
		heap_values_add(v, member->type, bits + member->bits, member->bit_size, text);
	}
	v->depth--;
	text_add_char(text, '}');
}

static void add_structure(struct heap_values *v, uint32_t plain, uint64_t bits, struct text *text)
{
	const struct type type = *types_get(v->types, plain);
	struct contents contents;
	if (heap_contents_read(v, plain, bits, &contents))
		heap_contents_add(v, &contents, text);
	else if (v->depth && v->depth < STRUCTURE_DEPTH && type.kind != TYPE_UNION)
		add_members(v, &type, bits, text);
	else
		text_add(text, "{…}");
}

static void add_whole(const struct type *type, uint64_t value, unsigned bits, struct text *text)
{
	if (type->encoding == TYPE_BOOLEAN && value <= 1)
		text_add(text, value ? "true" : "false");
	else if (type->encoding == TYPE_SIGNED || type->encoding == TYPE_CHARACTER)
		text_printf(text, "%" PRId64, with_sign(value, bits));
	else
		text_printf(text, "%" PRIu64, value);
	if (type->size != 1 || (type->encoding != TYPE_CHARACTER && type->encoding != TYPE_BYTE))
		return;
	text_add(text, " '");
	add_character((unsigned char)value, text);
	text_add_char(text, '\'');
}

void heap_values_add(struct heap_values *values, uint32_t number, uint64_t bits, uint32_t bit_size,
	struct text *text)
{
	struct heap_values *v = values;
	number = types_plain(v->types, number);
	struct type type = *types_get(v->types, number);
	uint64_t value;
	uint32_t content = types_content(v->types, number);
	if (content != TYPE_VOID) {
		heap_values_add(v, content, bits, 0, text);
		return;
	}
	if (heap_values_is_text(v, number)) {
		add_string(v, bits / 8, text);
		return;
	}
	if (type_has_members(&type)) {
		add_structure(v, number, bits, text);
		return;
	}
	if (type.kind == TYPE_ARRAY) {
		add_array(v, &type, bits, text);
		return;
	}
	if (type.kind == TYPE_MEMBER_POINTER) {
		add_member_pointer(v, &type, bits, text);
		return;
	}
	if (type.kind == TYPE_NUMBER && type.encoding == TYPE_FLOAT) {
		add_float(v, bits / 8, type.size, text);
		return;
	}
	if (type.kind == TYPE_NUMBER && type.encoding == TYPE_COMPLEX) {
		add_float(v, bits / 8, type.size / 2, text);
		text_add(text, " + ");
		add_float(v, bits / 8 + type.size / 2, type.size / 2, text);
		text_add_char(text, 'i');
		return;
	}
	if (type.kind == TYPE_NUMBER && type.size == 16 && !bit_size) {
		add_wide(v, bits / 8, text);
		return;
	}
	if (type.kind == TYPE_NUMBER && !type.size && type.name) {
		text_add(text, type.name); /* Rust's (), which has one value */
		return;
	}
	if (!heap_values_read_number(v, bits, type.size, bit_size, &value)) {
		text_add(text, "?");
		return;
	}
	unsigned width = bit_size ? bit_size : (unsigned)(8 * type.size);
	if (type.kind == TYPE_POINTER || type.kind == TYPE_REFERENCE)
		add_pointer(v, number, value, text);
	else if (type.kind == TYPE_ENUM)
		add_enumerator(&type,
			type.encoding == TYPE_SIGNED
				? with_sign(value, width < 64 && !bit_size ? width : 64)
				: (int64_t)value,
			text);
	else
		add_whole(&type, value, width, text);
}
