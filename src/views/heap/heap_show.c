/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	block 0x55d4c8a012a0: 24 bytes, node (inferred, declared)
 *	       0  next    0x55d4c8a01260 → block 0x55d4c8a01260, node
 *	       8  name    0x55d4c8a012c0 "n000001" → block 0x55d4c8a012c0, char[]
 *	      16  number  1
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/inferred.h"
#include "views/heap/heap_contents_view.h"
#include "views/heap/heap_show_parts.h"
#include "views/heap_notes.h"
#include "views/report/json_parts.h"

#define BYTES_MOST (1u << 20)
/* Members, of a block; types that contain themselves are damaged files'. */
#define ROWS_MOST 4000u
#define TEXT_SHOWN 1000u
/* Of a container's elements on a line, if nobody says how many; JSON has them all. */
#define LINE_BYTES 400u
/* Of an array, if nobody says how many. */
#define ELEMENTS_SHOWN 64u

static void put_value(
	struct show *s, uint32_t type, uint64_t bits, const struct type_member *member)
{
	_cleanup_(text_deinit) struct text value;
	text_init(&value);
	heap_values_add(&s->values, type, bits, member ? member->bit_size : 0, &value);
	s->out->failed |= value.failed;
	if (s->json)
		json_put_string(s->json, "value", value.data ? value.data : "");
	else
		text_add(s->out, value.data ? value.data : "");
}

/* What is shown on lines of its own. */
static bool is_nested(const struct show *s, uint32_t plain)
{
	const struct types *types = s->values.types;
	for (unsigned i = 0; i < TYPES_DEPTH_MAX && types_get(types, plain)->kind == TYPE_ARRAY;
		i++)
		plain = types_plain(types, types_get(types, plain)->target);
	return type_has_members(types_get(types, plain)) && !heap_values_is_text(&s->values, plain);
}

static void put_members(struct show *s, uint32_t plain, uint64_t bits, unsigned level);

static void put_head(struct show *s, const char *name, uint32_t number, uint64_t bits, bool nested,
	unsigned level)
{
	if (s->json) {
		_cleanup_(text_deinit) struct text declared;
		text_init(&declared);
		cxx_add_declaration(&declared, s->values.types, number, "");
		json_object_begin(s->json);
		json_put_string(s->json, "name", name);
		json_put_u64(s->json, "offset", bits / 8);
		json_put_string(s->json, "type", declared.data);
	} else {
		text_printf(s->out, "%8" PRIu64 "  %*s", bits / 8, (int)(2 * level), "");
		text_add_shown(s->out, name, 200);
		text_add(s->out, nested ? "" : "  ");
	}
}

/* What a template keeps in bytes is shown as what it is. */
static void put_one(struct show *s, const char *name, uint32_t number, uint64_t bits,
	const struct type_member *member, unsigned level)
{
	uint32_t plain = types_plain(s->values.types, number);
	uint32_t content = types_content(s->values.types, plain);
	if (content != TYPE_VOID)
		number = plain = content;
	struct contents contents;
	bool held = heap_contents_read(&s->values, plain, bits, &contents);
	bool nested = is_nested(s, plain) && level < TYPES_DEPTH_MAX;
	s->rows++;
	put_head(s, name, number, bits, nested && !held, level);
	if (!nested || held)
		put_value(s, number, bits, member);
	if (!s->json)
		text_add_char(s->out, '\n');
	else if (held)
		heap_contents_put(&s->values, &contents, s->json);
	/* Beside its value JSON has what a container is made of. */
	if (nested && (!held || s->json))
		put_members(s, plain, bits, level + 1);
	if (s->json)
		json_object_end(s->json);
}

/* Returns how many are left out. */
static uint64_t put_elements(
	struct show *s, uint32_t type, uint64_t count, uint64_t bits, unsigned level)
{
	uint64_t size = types_get(s->values.types, type)->size, i = 0;
	for (; i < count && i < s->elements && s->rows < ROWS_MOST; i++) {
		char name[32];
		snprintf(name, sizeof(name), "[%" PRIu64 "]", i);
		put_one(s, name, type, bits + 8 * size * i, NULL, level);
	}
	if (!s->json && i < count)
		text_printf(s->out, "%8s  %*s… %" PRIu64 " more (--limit)\n", "", (int)(2 * level),
			"", count - i);
	return count - i;
}

static void add_name(struct types *types, const struct type_member *member, struct text *text)
{
	const struct type *type = types_get(types, types_plain(types, member->type));
	if (member->name && member->kind != MEMBER_BASE)
		text_add(text, member->name);
	else if (type->name)
		cxx_add_plain_name(text, type->name);
	else
		text_add(text, type->kind == TYPE_UNION ? "(union)" : "(struct)");
}

static void put_member(
	struct show *s, const struct type_member *member, uint64_t bits, unsigned level)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	add_name(s->values.types, member, &name);
	s->out->failed |= name.failed;
	put_one(s, name.data ? name.data : "", member->type, bits + member->bits, member, level);
}

/* A base class without members, as allocators are, has nothing to show. */
static bool is_empty(const struct types *types, uint32_t number, unsigned depth)
{
	const struct type *type = types_get(types, types_plain(types, number));
	if (!type_has_members(type) || depth > TYPES_DEPTH_MAX)
		return false;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (type->members[i].kind != MEMBER_BASE ||
			!is_empty(types, type->members[i].type, depth + 1))
			return false;
	}
	return true;
}

bool heap_show_has(const struct types *types, const struct type_member *member)
{
	return member->kind != MEMBER_VIRTUAL_BASE &&
	       (member->kind != MEMBER_BASE || !is_empty(types, member->type, 0));
}

static void put_members(struct show *s, uint32_t plain, uint64_t bits, unsigned level)
{
	struct types *types = s->values.types;
	struct type type = *types_get(types, plain);
	uint64_t more = 0;
	struct contents contents;
	/* A block that is a container: its value is a row. */
	bool held = !level && heap_contents_read(&s->values, plain, bits, &contents);
	if (s->json) {
		json_key(s->json, "members");
		json_array_begin(s->json);
	}
	if (type.kind == TYPE_ARRAY)
		more = put_elements(
			s, type.target, heap_values_count(&s->values, &type, bits), bits, level);
	else if (!is_nested(s, plain) || held)
		put_one(s, "value", plain, bits, NULL, level);
	for (uint32_t i = 0;
		!held && is_nested(s, plain) && i < type.member_count && s->rows < ROWS_MOST; i++) {
		const struct type_member *member = &type.members[i];
		if (type.kind != TYPE_ARRAY && heap_show_has(types, member))
			put_member(s, member, bits, level);
	}
	if (s->json) {
		json_array_end(s->json);
		if (more)
			json_put_u64(s->json, "more", more);
	}
}

/* What was asked for, if that is known, else what there is of it. */
static uint64_t room_of(const struct heap_page *page, uint32_t block)
{
	uint64_t usable = search_block_size(page->survey->search, block);
	const struct live_block *known =
		page->joined ? joined_find(page->joined,
				       search_block_address(page->survey->search, block), usable)
			     : NULL;
	return known && known->size < usable ? known->size : usable;
}

uint8_t *heap_show_read(
	struct show *show, uint32_t block, const struct heap_layout *layout, uint64_t offset)
{
	const struct survey *survey = show->page->survey;
	uint64_t room = room_of(show->page, block);
	room = room > offset ? room - offset : 0;
	size_t wanted = (size_t)(room < BYTES_MOST ? room : BYTES_MOST);
	uint8_t *bytes = malloc(wanted + 1);
	if (bytes)
		show->values.len = address_space_read(survey->heap.space,
			search_block_address(survey->search, block) + offset, bytes, wanted);
	show->values.bytes = bytes;
	show->values.address = search_block_address(survey->search, block) + offset;
	show->values.size =
		layout->is_array || heap_show_is_pool(layout) ? UINT64_MAX : layout->size;
	return bytes;
}

void heap_show_add_wide(
	struct heap_values *values, const struct heap_layout *layout, struct text *text)
{
	static const uint8_t nul[4] = {0};
	size_t at = (size_t)layout->header, unit = layout->unit, count = 0;
	while (at + (count + 1) * unit <= values->len &&
		memcmp(values->bytes + at + count * unit, nul, unit) != 0)
		count++;
	heap_values_add_wide_text(values, values->address + at, count, layout->unit, text);
}

struct heap_layout heap_show_layout(
	const struct show *show, const struct kin *kin, const struct heap_layout *layout)
{
	struct heap_layout own = *layout;
	const struct types *types = show->values.types;
	if (kin->layout != TYPE_VOID && layout->type != TYPE_VOID &&
		types_are_same(
			types, types_plain(types, layout->type), types_plain(types, kin->layout)))
		own.type = kin->layout;
	return own;
}

/* Text rather than characters; what stands before it in a string's memory is not shown. */
static void put_text_block(struct show *s, const struct heap_layout *layout)
{
	struct heap_values *v = &s->values;
	size_t at = heap_show_is_string(layout) ? (size_t)layout->header : 0;
	_cleanup_(text_deinit) struct text value;
	text_init(&value);
	size_t end = at < v->len ? at + strnlen((const char *)v->bytes + at, v->len - at) : at;
	if (layout->unit > 1) {
		heap_show_add_wide(v, layout, &value);
	} else {
		text_add_char(&value, '"');
		for (size_t i = at; i < end && i < at + TEXT_SHOWN; i++)
			text_add_char(&value, (char)v->bytes[i]);
		text_add_char(&value, '"');
	}
	if (s->json) {
		json_string(s->json, value.data);
		return;
	}
	text_printf(s->out, "%8zu  ", at);
	text_add_shown(s->out, value.data ? value.data : "", TEXT_SHOWN + 100);
	text_add_char(s->out, '\n');
}

static void put_array_block(struct show *s, const struct heap_layout *layout)
{
	const struct type *of =
		types_get(s->values.types, types_plain(s->values.types, layout->type));
	uint64_t more = 0;
	if (s->json) {
		json_key(s->json, "members");
		json_array_begin(s->json);
	}
	if (heap_show_is_string(layout) ||
		(of->kind == TYPE_NUMBER && of->size == 1 &&
			(of->encoding == TYPE_CHARACTER || of->encoding == TYPE_BYTE)))
		put_text_block(s, layout);
	else
		more = put_elements(s, layout->type, layout->count, 8 * layout->header, 0);
	if (s->json) {
		json_array_end(s->json);
		if (more)
			json_put_u64(s->json, "more", more);
	}
}

/* What lies in a pool, from the object on that was asked for. */
static void put_pool_block(struct show *s, uint32_t block, uint64_t asked)
{
	const struct survey *survey = s->page->survey;
	const struct pool *pool = pools_find(&survey->pools, block);
	const struct pool_object *objects = survey->pools.objects.data + pool->first;
	const struct pool_object *one = asked ? pools_object_at(survey, pool, asked) : NULL;
	size_t first = one ? (size_t)(one - objects) : 0, end = one ? first + 1 : pool->count;
	size_t i = first;
	if (s->json) {
		json_key(s->json, "members");
		json_array_begin(s->json);
	}
	for (; i < end && i - first < s->elements && s->rows < ROWS_MOST; i++) {
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		pools_add_name(survey, objects[i].type, &name);
		put_one(s, name.data ? name.data : "", objects[i].type, 8 * objects[i].offset, NULL,
			0);
	}
	if (s->json) {
		json_array_end(s->json);
		if (i < end)
			json_put_u64(s->json, "more", end - i);
	} else if (i < end) {
		text_printf(s->out, "%8s  … %zu more (--limit)\n", "", end - i);
	}
}

static void put_block_head(struct show *s, uint32_t block, const struct heap_layout *layout)
{
	const struct survey *survey = s->page->survey;
	const struct heap_type *type = &survey->types.types.data[survey_type_of(survey, block)];
	uint64_t address = search_block_address(survey->search, block);
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	if (heap_show_is_string(layout))
		text_add(&declared, layout->unit == 2   ? "char16_t[]"
				    : layout->unit == 4 ? "wchar_t[]"
							: "char[]");
	else if (heap_show_is_pool(layout))
		text_add(&declared, type->name);
	else
		cxx_add_declaration(&declared, s->values.types, layout->type, "");
	if (s->json) {
		json_put_hexadecimal(s->json, "address", address, true);
		json_put_u64(s->json, "size", search_block_size(survey->search, block));
		json_put_string(s->json, "type", type->name);
		if (inferred_basis_name(survey, block))
			json_put_string(s->json, "by", inferred_basis_name(survey, block));
		json_put_string(s->json, "as", declared.data);
		heap_extent_put(layout, s->json);
		heap_pool_put(survey, block, s->json);
		return;
	}
	text_printf(s->out, "block 0x%" PRIx64 ": %" PRIu64 " bytes, ", address,
		search_block_size(survey->search, block));
	text_add_shown(s->out, type->name, 200);
	const char *by = inferred_basis_name(survey, block);
	text_printf(
		s->out, " (%s%s%s)", heap_type_kind_name(type->kind), by ? ", " : "", by ? by : "");
	heap_layout_add_extent(layout, s->out);
	pools_add_evidence(survey, block, s->out);
	bool is_within = layout->header && !layout->is_array;
	if (!heap_show_is_pool(layout) &&
		(is_within ||
			!types_are_same(s->values.types, types_plain(s->values.types, layout->type),
				types_plain(s->values.types, type->layout)))) {
		text_add(s->out, ", as ");
		text_add_shown(s->out, declared.data ? declared.data : "", 200);
		if (is_within)
			text_printf(s->out, " at %" PRIu64, layout->header);
	}
	text_add_char(s->out, '\n');
}

static struct error *put_block(
	struct show *s, uint32_t block, const struct heap_layout *layout, uint64_t offset)
{
	_cleanup_free_ uint8_t *bytes = heap_show_read(s, block, layout, offset);
	if (!bytes)
		return error_no_memory();
	if (s->json)
		json_object_begin(s->json);
	put_block_head(s, block, layout);
	if (s->json && offset)
		json_put_u64(s->json, "at", offset);
	if (layout->is_array)
		put_array_block(s, layout);
	else if (heap_show_is_pool(layout))
		put_pool_block(s, block, layout->header);
	else
		put_members(s, types_plain(s->values.types, layout->type), 0, 0);
	if (s->json)
		json_object_end(s->json);
	return s->values.error;
}

static struct error *finish(struct show *s, struct error *error, const struct sink *sink)
{
	if (!error && (s->out->failed || types_failed(s->values.types)))
		error = error_no_memory();
	if (!error && !s->json)
		sink->write(sink->ctx, s->out->data, s->out->len);
	return error;
}

/* Of arrays each block has elements of its own number. */
static struct heap_layout layout_in(
	const struct show *s, uint32_t block, const struct heap_layout *layout)
{
	struct heap_layout own;
	bool is_its = layout->is_array && heap_layout_of(s->page->survey, block, &own) &&
		      own.is_array && own.type == layout->type && own.header == layout->header;
	return is_its ? own : *layout;
}

static struct error *put_blocks(
	struct show *s, const struct kin_set *types, const struct heap_layout *layout)
{
	const struct survey *survey = s->page->survey;
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : s->page->limit;
	uint32_t count = search_block_count(survey->search);
	struct error *error = NULL;
	if (s->json) {
		json_key(s->json, "blocks");
		json_array_begin(s->json);
	}
	for (uint32_t block = 0; block < count && most && !error; block++) {
		const struct kin *kin = heap_kin_of(survey, types, block);
		if (!kin)
			continue;
		s->rows = 0;
		struct heap_layout as = heap_show_layout(s, kin, layout);
		struct heap_layout own = layout_in(s, block, &as);
		error = put_block(s, block, &own, kin->offset);
		most--;
	}
	if (s->json)
		json_array_end(s->json);
	return error;
}

/* A row each; of pools what lies in them. */
static struct error *put_table(
	struct show *s, const struct kin_set *types, const struct heap_layout *layout)
{
	return heap_show_is_pool(layout) ? put_blocks(s, types, layout)
					 : heap_show_table(s, types, layout);
}

/* Where what a block is shown as begins in it; elements of arrays and what lies in pools have their
 * own places. */
static uint64_t place_in(const struct heap_layout *layout)
{
	return layout->is_array || heap_show_is_pool(layout) ? 0 : layout->header;
}

struct error *heap_show_write(const struct heap_page *page, uint32_t block,
	const struct kin_set *types, const struct heap_layout *layout, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct json json;
	struct show s = {.page = page,
		.values = {.survey = page->survey,
			.types = page->survey->layouts.types,
			.most = page->limit == VIEW_DEFAULT_LIMIT ? LINE_BYTES : SIZE_MAX,
			.raw = page->raw},
		.out = &out,
		.json = page->json ? &json : NULL};
	s.elements = page->limit != VIEW_DEFAULT_LIMIT ? page->limit
		     : page->json                      ? ROWS_MOST
						       : ELEMENTS_SHOWN;
	s.values.elements = s.elements;
	if (!page->json)
		return finish(&s,
			block == SPACE_NONE ? put_table(&s, types, layout)
					    : put_block(&s, block, layout, place_in(layout)),
			sink);
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, page, "heapwise.heap-show/1");
	struct error *error = NULL;
	if (block == SPACE_NONE) {
		error = put_blocks(&s, types, layout);
	} else {
		json_key(&json, "blocks");
		json_array_begin(&json);
		error = put_block(&s, block, layout, place_in(layout));
		json_array_end(&json);
	}
	json_object_end(&json);
	json_finish(&json);
	return finish(&s, error, sink);
}
