/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As gdb has it: each line begins with a comment of offset and size, bit fields have the number of
 * their first bit beside the offset, holes are lines of their own. Base classes are members here,
 * with what they have.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_answers.h"
#include "views/heap_layout_view.h"
#include "views/heap_notes.h"
#include "views/report/json_parts.h"

#define INDENT 4u
#define NO_OFFSET "                           "
/* Behind so many rows structures are not opened any more, but each member still has its row; types
 * that contain themselves are damaged files'. */
#define ROWS_OPENED_MAX 20000u

struct layout {
	struct types *types;
	struct text *out;
	struct json *json;
	unsigned rows;
	unsigned closed; /* structures that would have been opened, if there were fewer rows */
};

static void put_spaces(struct text *out, unsigned count)
{
	text_printf(out, "%*s", (int)count, "");
}

static void put_place(struct text *out, const struct type_member *member, uint64_t base,
	uint64_t size, bool in_union, unsigned level)
{
	/* All of a union's are where it is. */
	if (in_union)
		text_printf(out, "/*               %9" PRIu64 " */", size);
	else if (member->kind == MEMBER_VIRTUAL_BASE)
		text_printf(out, "/*      ?      | %7" PRIu64 " */", size);
	else if (member->bit_size)
		text_printf(out, "/* %6" PRIu64 ":%2u   | %7" PRIu64 " */", base + member->bits / 8,
			(unsigned)(member->bits % 8), size);
	else
		text_printf(out, "/* %6" PRIu64 "      | %7" PRIu64 " */", base + member->bits / 8,
			size);
	put_spaces(out, INDENT * level);
}

static void put_hole(struct text *out, uint64_t bits, const char *what)
{
	if (bits % 8)
		text_printf(out, "/* XXX %2u-bit %-9s    */\n", (unsigned)(bits % 8), what);
	if (bits >= 8)
		text_printf(out, "/* XXX %2" PRIu64 "-byte %-9s   */\n", bits / 8, what);
}

static bool is_expanded(struct layout *l, const struct type_member *member, unsigned level)
{
	const struct type *type = types_get(l->types, types_plain(l->types, member->type));
	if (!type_has_members(type) || !type->member_count || member->kind == MEMBER_VIRTUAL_BASE)
		return false;
	bool is_open = l->rows < ROWS_OPENED_MAX && level < TYPES_DEPTH_MAX;
	l->closed += !is_open;
	return is_open;
}

static const char *class_word(const struct type *type)
{
	return type->kind == TYPE_CLASS ? "class" : type->kind == TYPE_UNION ? "union" : "struct";
}

static void put_name(struct layout *l, const struct type_member *member)
{
	_cleanup_(text_deinit) struct text declaration;
	text_init(&declaration);
	types_declare(l->types, member->type, member->name ? member->name : "", &declaration);
	if (member->kind == MEMBER_BASE)
		text_add(l->out, "base ");
	if (member->kind == MEMBER_VIRTUAL_BASE)
		text_add(l->out, "virtual base ");
	text_add_shown(l->out, declaration.data ? declaration.data : "", 1000);
	if (member->bit_size)
		text_printf(l->out, " : %u", member->bit_size);
	text_add(l->out, ";\n");
}

static uint64_t bits_of(const struct types *types, const struct type_member *member)
{
	return member->bit_size ? member->bit_size : 8 * types_get(types, member->type)->size;
}

static void put_type(struct layout *l, uint32_t number, uint64_t base, unsigned level);

static void put_expanded(
	struct layout *l, const struct type_member *member, uint64_t base, unsigned level)
{
	uint32_t plain = types_plain(l->types, member->type);
	const struct type *type = types_get(l->types, plain);
	if (member->kind == MEMBER_BASE)
		text_add(l->out, "base ");
	text_add(l->out, class_word(type));
	if (type->name) {
		text_add_char(l->out, ' ');
		text_add_shown(l->out, type->name, 1000);
	}
	text_add(l->out, " {\n");
	put_type(l, plain, base + member->bits / 8, level + 1);
	text_add(l->out, NO_OFFSET);
	put_spaces(l->out, INDENT * level);
	text_add_char(l->out, '}');
	if (member->name && member->kind != MEMBER_BASE) {
		text_add_char(l->out, ' ');
		text_add_shown(l->out, member->name, 200);
	}
	text_add(l->out, ";\n");
}

static void put_member(struct layout *l, const struct type_member *member, uint64_t base,
	bool in_union, unsigned level)
{
	put_place(l->out, member, base, types_get(l->types, member->type)->size, in_union, level);
	if (is_expanded(l, member, level))
		put_expanded(l, member, base, level);
	else
		put_name(l, member);
}

/* What lies behind all members so far begins at *end; an empty base class takes no room. */
static void pass(struct layout *l, const struct type_member *member, bool is_union, uint64_t *end)
{
	uint64_t bits = bits_of(l->types, member);
	const struct type *type = types_get(l->types, types_plain(l->types, member->type));
	if (member->kind == MEMBER_BASE && !type->member_count)
		return;
	if (!is_union && member->bits > *end)
		put_hole(l->out, member->bits - *end, "hole");
	if (member->bits + bits > *end)
		*end = member->bits + bits;
}

static void put_type(struct layout *l, uint32_t number, uint64_t base, unsigned level)
{
	struct type type = *types_get(l->types, number);
	uint64_t end = 0;
	for (uint32_t i = 0; i < type.member_count; i++, l->rows++) {
		const struct type_member *member = &type.members[i];
		if (member->kind != MEMBER_VIRTUAL_BASE)
			pass(l, member, type.kind == TYPE_UNION, &end);
		put_member(l, member, base, type.kind == TYPE_UNION, level);
	}
	if (type.kind != TYPE_UNION && type.size * 8 > end && type.member_count)
		put_hole(l->out, type.size * 8 - end, "padding");
	text_add_char(l->out, '\n');
	text_add(l->out, NO_OFFSET);
	put_spaces(l->out, INDENT * level);
	text_printf(l->out, "/* total size: %4" PRIu64 " bytes */\n", type.size);
}

/* Of an enumeration, a typedef of a number… */
static void put_small(struct layout *l, uint32_t number, const struct type *type)
{
	types_declare(l->types, number, "", l->out);
	if (type->kind == TYPE_ENUM) {
		text_add(l->out, " {");
		for (uint32_t i = 0; i < type->member_count; i++) {
			text_printf(l->out, "%s%s = ", i ? ", " : "",
				type->members[i].name ? type->members[i].name : "?");
			text_printf(l->out, type->encoding == TYPE_SIGNED ? "%" PRId64 : "%" PRIu64,
				type->members[i].bits);
		}
		text_add_char(l->out, '}');
	}
	text_printf(
		l->out, "  /* %" PRIu64 " %s */\n", type->size, type->size == 1 ? "byte" : "bytes");
}

static void write_text(struct layout *l, uint32_t number)
{
	const struct type *type = types_get(l->types, number);
	if (!type_has_members(type)) {
		put_small(l, number, type);
		return;
	}
	text_printf(l->out, "/* offset      |    size */  %s ", class_word(type));
	text_add_shown(l->out, type->name ? type->name : "{…}", 1000);
	text_add(l->out, " {\n");
	put_type(l, number, 0, 1);
	text_add(l->out, NO_OFFSET "}\n");
	if (l->closed)
		text_printf(l->out,
			"Partial: behind 20,000 rows a structure is one row without its members, "
			"as %u here are (layout of their types shows these).\n",
			l->closed);
}

static void put_json_members(struct layout *l, uint32_t number, uint64_t base, unsigned level);

static void put_json_member(
	struct layout *l, const struct type_member *member, uint64_t base, unsigned level)
{
	static const char *const kinds[] = {[MEMBER_PLAIN] = "member",
		[MEMBER_BASE] = "base",
		[MEMBER_VIRTUAL_BASE] = "virtual base",
		[MEMBER_VTABLE] = "vtable"};
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	types_declare(l->types, member->type, "", &declared);
	json_object_begin(l->json);
	json_put_string(l->json, "name", member->name);
	json_put_string(l->json, "kind", kinds[member->kind]);
	json_put_string(l->json, "type", declared.data);
	json_key(l->json, "offset");
	if (member->kind == MEMBER_VIRTUAL_BASE)
		json_null(l->json);
	else
		json_u64(l->json, base + member->bits / 8);
	json_put_u64(l->json, "size", types_get(l->types, member->type)->size);
	if (member->bit_size) {
		json_put_u64(l->json, "bit", member->bits % 8);
		json_put_u64(l->json, "bits", member->bit_size);
	}
	if (is_expanded(l, member, level))
		put_json_members(
			l, types_plain(l->types, member->type), base + member->bits / 8, level + 1);
	json_object_end(l->json);
}

static void put_json_members(struct layout *l, uint32_t number, uint64_t base, unsigned level)
{
	struct type type = *types_get(l->types, number);
	json_key(l->json, type.kind == TYPE_ENUM ? "values" : "members");
	json_array_begin(l->json);
	for (uint32_t i = 0; i < type.member_count; i++, l->rows++) {
		if (type.kind != TYPE_ENUM) {
			put_json_member(l, &type.members[i], base, level);
			continue;
		}
		json_object_begin(l->json);
		json_put_string(l->json, "name", type.members[i].name);
		json_key(l->json, "value");
		if (type.encoding == TYPE_SIGNED)
			json_i64(l->json, (int64_t)type.members[i].bits);
		else
			json_u64(l->json, type.members[i].bits);
		json_object_end(l->json);
	}
	json_array_end(l->json);
}

static void write_json(
	struct layout *l, uint32_t number, const struct address_space *space, bool before)
{
	struct type type = *types_get(l->types, number);
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	types_declare(l->types, number, "", &declared);
	json_object_begin(l->json);
	json_put_string(l->json, "schema", before ? HEAP_SCHEMA_BEFORE : "heapwise.heap-layout/1");
	json_put_string(l->json, "type", type.name);
	json_put_string(l->json, "declared", declared.data);
	json_put_u64(l->json, "size", type.size);
	put_json_members(l, number, 0, 0);
	heap_core_limits_put(l->json, space, l->closed ? "layout-rows" : NULL);
	json_object_end(l->json);
}

struct error *heap_layout_write(struct types *types, uint32_t type,
	const struct address_space *space, bool as_json, bool before, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct json json;
	struct layout l = {.types = types, .out = &out, .json = &json};
	type = types_plain(types, type);
	if (as_json) {
		json_init(&json, sink->write, sink->ctx);
		write_json(&l, type, space, before);
		json_finish(&json);
	} else {
		write_text(&l, type);
		if (!out.failed)
			sink->write(sink->ctx, out.data, out.len);
	}
	return out.failed || types_failed(types) ? error_no_memory() : NULL;
}

void heap_extent_put(const struct heap_layout *layout, struct json *json)
{
	if (layout->is_array && layout->type != TYPE_VOID)
		json_put_u64(json, "count", layout->count);
	if (layout->room)
		json_put_u64(json, "room", layout->room);
	if (layout->behind)
		json_put_u64(json, "behind", layout->behind);
}

void heap_pool_put(const struct survey *survey, uint32_t block, struct json *json)
{
	const struct pool *pool = pools_find(&survey->pools, block);
	_cleanup_(pool_kinds_deinit) struct pool_kinds kinds = {.data = NULL};
	if (!pool || !pools_kinds(survey, pool, &kinds))
		return;
	json_key(json, "pool");
	json_array_begin(json);
	for (size_t i = 0; i < kinds.len; i++) {
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		pools_add_name(survey, kinds.data[i].type, &name);
		json_object_begin(json);
		json_put_string(json, "type", name.data);
		json_put_u64(json, "places", kinds.data[i].places);
		if (kinds.data[i].step)
			json_put_u64(json, "step", kinds.data[i].step);
		json_object_end(json);
	}
	json_array_end(json);
}
