/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	block 0x55d4c8a012a0: 24 bytes, node (inferred)
 *	       0  next    0x55d4c8a01260 → block 0x55d4c8a01260, node
 *	       8  name    0x55d4c8a012c0 "n000001" → block 0x55d4c8a012c0, char[]
 *	      16  number  1
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_layout_view.h"
#include "views/heap_values.h"
#include "views/json_parts.h"

#define BYTES_MOST (1u << 20)
/* Members, of a block; types that contain themselves are damaged files'. */
#define ROWS_MOST 4000u
#define ELEMENTS_MOST 16u

struct show {
	const struct heap_page *page;
	struct heap_values values;
	struct text *out;
	struct json *json; /* NULL: text */
	size_t rows;
};

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
	const struct type *type = types_get(s->values.types, plain);
	if (type->kind == TYPE_ARRAY)
		return type_has_members(
			types_get(s->values.types, types_plain(s->values.types, type->target)));
	return type_has_members(type);
}

static void put_members(struct show *s, uint32_t plain, uint64_t bits, unsigned level);

static void put_one(struct show *s, const char *name, uint32_t number, uint64_t bits,
	const struct type_member *member, unsigned level)
{
	uint32_t plain = types_plain(s->values.types, number);
	bool nested = is_nested(s, plain) && level < TYPES_DEPTH_MAX;
	s->rows++;
	if (s->json) {
		_cleanup_(text_deinit) struct text declared;
		text_init(&declared);
		types_declare(s->values.types, number, "", &declared);
		json_object_begin(s->json);
		json_put_string(s->json, "name", name);
		json_put_u64(s->json, "offset", bits / 8);
		json_put_string(s->json, "type", declared.data);
		if (!nested)
			put_value(s, number, bits, member);
	} else {
		text_printf(s->out, "%8" PRIu64 "  %*s", bits / 8, (int)(2 * level), "");
		text_add_shown(s->out, name, 200);
		text_add(s->out, nested ? "" : "  ");
		if (!nested)
			put_value(s, number, bits, member);
		text_add_char(s->out, '\n');
	}
	if (nested)
		put_members(s, plain, bits, level + 1);
	if (s->json)
		json_object_end(s->json);
}

static void put_elements(struct show *s, const struct type *type, uint64_t bits, unsigned level)
{
	uint64_t size = types_get(s->values.types, type->target)->size;
	for (uint64_t i = 0; i < type->count && i < ELEMENTS_MOST && s->rows < ROWS_MOST; i++) {
		char name[32];
		snprintf(name, sizeof(name), "[%" PRIu64 "]", i);
		put_one(s, name, type->target, bits + 8 * size * i, NULL, level);
	}
	if (!s->json && type->count > ELEMENTS_MOST)
		text_printf(s->out, "%8s  %*s… and %" PRIu64 " more elements\n", "",
			(int)(2 * level), "", type->count - ELEMENTS_MOST);
}

static const char *name_of(const struct types *types, const struct type_member *member)
{
	if (member->name && member->kind != MEMBER_BASE)
		return member->name;
	const struct type *type = types_get(types, types_plain(types, member->type));
	if (type->name)
		return type->name;
	return type->kind == TYPE_UNION ? "(union)" : "(struct)";
}

static void put_members(struct show *s, uint32_t plain, uint64_t bits, unsigned level)
{
	uint32_t content = types_content(s->values.types, plain);
	if (content != TYPE_VOID && level < TYPES_DEPTH_MAX) {
		put_members(s, content, bits, level + 1);
		return;
	}
	struct type type = *types_get(s->values.types, plain);
	if (s->json) {
		json_key(s->json, "members");
		json_array_begin(s->json);
	}
	if (type.kind == TYPE_ARRAY)
		put_elements(s, &type, bits, level);
	else if (!type_has_members(&type))
		put_one(s, "value", plain, bits, NULL, level);
	for (uint32_t i = 0;
		type_has_members(&type) && i < type.member_count && s->rows < ROWS_MOST; i++) {
		const struct type_member *member = &type.members[i];
		if (member->kind != MEMBER_VIRTUAL_BASE)
			put_one(s, name_of(s->values.types, member), member->type,
				bits + member->bits, member, level);
	}
	if (s->json)
		json_array_end(s->json);
}

/* Reads what the layout covers of a block; the caller frees. NULL: no memory. */
static uint8_t *read_block(struct show *s, uint32_t block, const struct heap_layout *layout)
{
	const struct survey *survey = s->page->survey;
	uint64_t wanted = layout->size * (layout->is_array ? layout->count : 1);
	uint64_t usable = search_block_size(survey->search, block);
	size_t room = (size_t)(wanted < usable ? wanted : usable);
	room = room < BYTES_MOST ? room : BYTES_MOST;
	uint8_t *bytes = malloc(room + 1);
	if (bytes)
		s->values.len = address_space_read(survey->heap.space,
			search_block_address(survey->search, block), bytes, room);
	s->values.bytes = bytes;
	return bytes;
}

static void put_array_block(struct show *s, const struct heap_layout *layout)
{
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? ELEMENTS_MOST : s->page->limit;
	if (s->json) {
		json_key(s->json, "members");
		json_array_begin(s->json);
	}
	const struct type *of =
		types_get(s->values.types, types_plain(s->values.types, layout->type));
	if (of->kind == TYPE_NUMBER &&
		(of->encoding == TYPE_CHARACTER || of->encoding == TYPE_BYTE) && of->size == 1) {
		/* Text rather than characters. */
		_cleanup_(text_deinit) struct text value;
		text_init(&value);
		struct heap_values *v = &s->values;
		text_add_char(&value, '"');
		size_t end = strnlen((const char *)v->bytes, v->len);
		for (size_t i = 0; i < end && i < 1000; i++)
			text_add_char(&value, (char)v->bytes[i]);
		text_add_char(&value, '"');
		if (s->json)
			json_string(s->json, value.data);
		else {
			text_add(s->out, "       0  ");
			text_add_shown(s->out, value.data ? value.data : "", 1100);
			text_add_char(s->out, '\n');
		}
	} else {
		for (uint64_t i = 0; i < layout->count && i < most && s->rows < ROWS_MOST; i++) {
			char name[32];
			snprintf(name, sizeof(name), "[%" PRIu64 "]", i);
			put_one(s, name, layout->type, 8 * layout->size * i, NULL, 0);
		}
		if (!s->json && layout->count > most)
			text_printf(s->out, "          … and %" PRIu64 " more elements (--limit)\n",
				layout->count - most);
	}
	if (s->json)
		json_array_end(s->json);
}

static void put_block_head(struct show *s, uint32_t block, const struct heap_layout *layout)
{
	const struct survey *survey = s->page->survey;
	const struct heap_type *type = &survey->types.types.data[survey_type_of(survey, block)];
	uint64_t address = search_block_address(survey->search, block);
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	types_declare(s->values.types, layout->type, "", &declared);
	if (s->json) {
		json_put_hexadecimal(s->json, "address", address, true);
		json_put_u64(s->json, "size", search_block_size(survey->search, block));
		json_put_string(s->json, "type", type->name);
		json_put_string(s->json, "as", declared.data);
		return;
	}
	text_printf(s->out, "block 0x%" PRIx64 ": %" PRIu64 " bytes, ", address,
		search_block_size(survey->search, block));
	text_add_shown(s->out, type->name, 200);
	text_printf(s->out, " (%s)", heap_type_kind_name(type->kind));
	if (types_plain(s->values.types, layout->type) !=
		types_plain(s->values.types, type->layout)) {
		text_add(s->out, ", as ");
		text_add_shown(s->out, declared.data ? declared.data : "", 200);
	}
	text_add_char(s->out, '\n');
}

static struct error *put_block(struct show *s, uint32_t block, const struct heap_layout *layout)
{
	_cleanup_free_ uint8_t *bytes = read_block(s, block, layout);
	if (!bytes)
		return error_no_memory();
	if (s->json)
		json_object_begin(s->json);
	put_block_head(s, block, layout);
	if (layout->is_array)
		put_array_block(s, layout);
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

/* The members of a row of the table: where each begins, and what it is called. */
struct column {
	char *name;
	uint32_t type;
	uint64_t bits;
	uint32_t bit_size;
	size_t width;
};
DEFINE_VEC(columns, struct column)
#define COLUMNS_MOST 12u

static void columns_free(struct columns *columns)
{
	for (size_t i = 0; i < columns->len; i++)
		free(columns->data[i].name);
	columns_deinit(columns);
}

static bool find_columns(const struct show *s, uint32_t plain, uint64_t bits, const char *prefix,
	unsigned level, struct columns *ret)
{
	struct type type = *types_get(s->values.types, plain);
	for (uint32_t i = 0; i < type.member_count && ret->len < COLUMNS_MOST; i++) {
		const struct type_member *member = &type.members[i];
		uint32_t inner = types_plain(s->values.types, member->type);
		if (member->kind == MEMBER_VIRTUAL_BASE)
			continue;
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_add(&name, prefix);
		if (member->name && member->kind != MEMBER_BASE)
			text_printf(&name, "%s%s", *prefix ? "." : "", member->name);
		if (name.failed)
			return false;
		if (type_has_members(types_get(s->values.types, inner)) && level < 4) {
			if (!find_columns(s, inner, bits + member->bits, name.data ? name.data : "",
				    level + 1, ret))
				return false;
			continue;
		}
		struct column column = {
			text_steal(&name), member->type, bits + member->bits, member->bit_size, 0};
		if (!column.name || !columns_push(ret, column)) {
			free(column.name);
			return false;
		}
	}
	return true;
}

static struct error *put_row(struct show *s, uint32_t block, const struct heap_layout *layout,
	const struct columns *columns)
{
	_cleanup_free_ uint8_t *bytes = read_block(s, block, layout);
	if (!bytes)
		return error_no_memory();
	text_printf(s->out, "0x%012" PRIx64, search_block_address(s->page->survey->search, block));
	for (size_t i = 0; i < columns->len; i++) {
		const struct column *column = &columns->data[i];
		_cleanup_(text_deinit) struct text cell;
		text_init(&cell);
		heap_values_add(&s->values, column->type, column->bits, column->bit_size, &cell);
		text_printf(s->out, "  %-*s", (int)column->width, cell.data ? cell.data : "");
	}
	while (s->out->len && s->out->data[s->out->len - 1] == ' ')
		s->out->data[--s->out->len] = '\0';
	text_add_char(s->out, '\n');
	return s->values.error;
}

static size_t width_of(const struct show *s, const struct column *column)
{
	const struct type *type =
		types_get(s->values.types, types_plain(s->values.types, column->type));
	size_t least = type->kind == TYPE_POINTER ? 14 : type->size >= 8 ? 12 : 6;
	size_t name = strlen(column->name);
	return name > least ? name : least;
}

static struct error *put_table(struct show *s, uint32_t type, const struct heap_layout *layout)
{
	const struct survey *survey = s->page->survey;
	_cleanup_(columns_free) struct columns columns;
	columns_init(&columns);
	if (!find_columns(s, types_plain(s->values.types, layout->type), 0, "", 0, &columns))
		return error_no_memory();
	text_printf(s->out, "%-14s", "ADDRESS");
	for (size_t i = 0; i < columns.len; i++) {
		columns.data[i].width = width_of(s, &columns.data[i]);
		text_printf(s->out, "  %-*s", (int)columns.data[i].width, columns.data[i].name);
	}
	text_add_char(s->out, '\n');
	s->values.is_short = true;
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? 40 : s->page->limit, shown = 0;
	uint32_t count = search_block_count(survey->search);
	uint64_t all = survey->types.types.data[type].blocks;
	for (uint32_t block = 0; block < count && shown < most; block++) {
		if (survey_type_of(survey, block) != type)
			continue;
		struct error *error = put_row(s, block, layout, &columns);
		if (error)
			return error;
		shown++;
	}
	if (all > shown)
		text_printf(s->out, "… and %" PRIu64 " more blocks (--limit)\n", all - shown);
	return NULL;
}

static struct error *put_blocks(struct show *s, uint32_t type, const struct heap_layout *layout)
{
	const struct survey *survey = s->page->survey;
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : s->page->limit;
	uint32_t count = search_block_count(survey->search);
	struct error *error = NULL;
	json_key(s->json, "blocks");
	json_array_begin(s->json);
	for (uint32_t block = 0; block < count && most && !error; block++) {
		if (survey_type_of(survey, block) != type)
			continue;
		s->rows = 0;
		error = put_block(s, block, layout);
		most--;
	}
	json_array_end(s->json);
	return error;
}

struct error *heap_show_write(const struct heap_page *page, uint32_t block, uint32_t type,
	const struct heap_layout *layout, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct json json;
	struct show s = {.page = page,
		.values = {.survey = page->survey, .types = page->survey->layouts.types},
		.out = &out,
		.json = page->json ? &json : NULL};
	if (!page->json)
		return finish(&s,
			block == SPACE_NONE ? put_table(&s, type, layout)
					    : put_block(&s, block, layout),
			sink);
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.heap/1");
	struct error *error = NULL;
	if (block == SPACE_NONE) {
		error = put_blocks(&s, type, layout);
	} else {
		json_key(&json, "blocks");
		json_array_begin(&json);
		error = put_block(&s, block, layout);
		json_array_end(&json);
	}
	json_object_end(&json);
	json_finish(&json);
	return finish(&s, error, sink);
}
