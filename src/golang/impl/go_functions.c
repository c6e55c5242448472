/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/impl/go_functions.h"

#include <string.h>

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
/* An entry of the list of functions: offset of code, offset of facts. */
#define ENTRY_BYTES 8u
#define FUNCTIONS_MAX (1ull << 26)
/* Numbers of a function's values and of its data. */
#define VALUE_INLINE 2u
#define DATA_INLINE 3u
#define ABSENT UINT32_MAX

/* Where the parts of a function's facts are, by layout. */
struct facts_layout {
	uint32_t name, files, lines, value_count, unit, data_count, bytes;
};

static const struct facts_layout facts_layouts[] = {
	{.name = 4,
		.files = 20,
		.lines = 24,
		.value_count = 28,
		.unit = 32,
		.data_count = 39,
		.bytes = 40},
	{.name = 4,
		.files = 20,
		.lines = 24,
		.value_count = 28,
		.unit = 32,
		.data_count = 43,
		.bytes = 44},
};

/* One inlined call: how many bytes, and where the offset of its name is. */
static const struct {
	uint32_t bytes, name;
} inline_layouts[] = {{20, 12}, {16, 4}};

/* A function's code and facts. */
struct function_facts {
	uint32_t code, code_end; /* offsets from the text */
	uint64_t at;             /* offset in the table */
};

static bool table_u32(const struct go_functions *functions, uint64_t offset, uint32_t *ret)
{
	if (offset > functions->bytes || functions->bytes - offset < sizeof(*ret))
		return false;
	memcpy(ret, functions->table + offset, sizeof(*ret));
	return true;
}

static uint64_t header_word(const uint8_t *table, size_t number)
{
	uint64_t value;
	memcpy(&value, table + 8 + number * 8, sizeof(value));
	return value;
}

bool go_functions_recognise(const uint8_t *head, size_t bytes)
{
	uint32_t magic;
	if (bytes < GO_TABLE_HEADER_BYTES)
		return false;
	memcpy(&magic, head, sizeof(magic));
	/* Two zeros, the smallest instruction (1: x86), the bytes of a pointer. */
	return (magic == MAGIC_1_18 || magic == MAGIC_1_20) && !head[4] && !head[5] &&
	       head[6] == 1 && head[7] == 8;
}

bool go_functions_open(const uint8_t *table, size_t bytes, struct go_functions *ret)
{
	uint32_t magic;
	if (!go_functions_recognise(table, bytes))
		return false;
	memcpy(&magic, table, sizeof(magic));
	struct go_functions read = {.table = table,
		.bytes = bytes,
		.is_newer = magic == MAGIC_1_20,
		.count = header_word(table, 0),
		.text = header_word(table, 2),
		.names = header_word(table, 3),
		.units = header_word(table, 4),
		.files = header_word(table, 5),
		.values = header_word(table, 6),
		.functions = header_word(table, 7)};
	if (!read.count || read.count > FUNCTIONS_MAX || read.names >= bytes ||
		read.units >= bytes || read.files >= bytes || read.values >= bytes ||
		read.functions >= bytes || (read.count + 1) * ENTRY_BYTES > bytes - read.functions)
		return false;
	*ret = read;
	return true;
}

/* Returns the string at an offset; NULL: it does not end in the table. */
static const char *table_string(const struct go_functions *functions, uint64_t offset)
{
	if (offset >= functions->bytes ||
		!memchr(functions->table + offset, 0, functions->bytes - offset))
		return NULL;
	return (const char *)functions->table + offset;
}

static bool facts_read(
	const struct go_functions *functions, uint64_t number, struct function_facts *ret)
{
	uint64_t entry = functions->functions + number * ENTRY_BYTES;
	uint32_t offset;
	if (!table_u32(functions, entry, &ret->code) || !table_u32(functions, entry + 4, &offset) ||
		!table_u32(functions, entry + ENTRY_BYTES, &ret->code_end))
		return false;
	ret->at = functions->functions + offset;
	const struct facts_layout *layout = &facts_layouts[functions->is_newer];
	return ret->code < ret->code_end && ret->at <= functions->bytes &&
	       functions->bytes - ret->at >= layout->bytes;
}

static bool facts_find(
	const struct go_functions *functions, uint64_t address, struct function_facts *ret)
{
	uint64_t low = 0, high = functions->count, offset = address - functions->text;
	uint32_t code;
	if (address < functions->text)
		return false;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (!table_u32(functions, functions->functions + middle * ENTRY_BYTES, &code))
			return false;
		if (code <= offset)
			low = middle;
		else
			high = middle;
	}
	return facts_read(functions, low, ret) && offset >= ret->code && offset < ret->code_end;
}

static bool table_varint(const struct go_functions *functions, uint64_t *at, uint32_t *ret)
{
	uint32_t value = 0;
	for (unsigned shift = 0; shift < 32 && *at < functions->bytes; shift += 7) {
		uint8_t byte = functions->table[(*at)++];
		value |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The number that a table of values has for `offset` of a function's code. */
static bool value_find(const struct go_functions *functions, const struct function_facts *facts,
	uint32_t table, uint64_t offset, int32_t *ret)
{
	uint64_t at = functions->values + table, code = facts->code;
	uint32_t value = UINT32_MAX, change, step; /* -1 */
	if (!table)
		return false;
	for (bool is_first = true;; is_first = false) {
		if (!table_varint(functions, &at, &change) || (!change && !is_first) ||
			!table_varint(functions, &at, &step))
			return false;
		value += change & 1 ? ~(change >> 1) : change >> 1;
		code += step;
		if (offset < code) {
			*ret = (int32_t)value;
			return true;
		}
	}
}

/* The offset that a function's facts have of data with this number; false: none. */
static bool facts_data(const struct go_functions *functions, const struct function_facts *facts,
	uint32_t number, uint32_t *ret)
{
	const struct facts_layout *layout = &facts_layouts[functions->is_newer];
	uint32_t values;
	uint8_t count = functions->table[facts->at + layout->data_count];
	return number < count && table_u32(functions, facts->at + layout->value_count, &values) &&
	       table_u32(functions, facts->at + layout->bytes + ((uint64_t)values + number) * 4,
		       ret) &&
	       *ret != ABSENT;
}

/* The table of values with this number; false: none. */
static bool facts_values(const struct go_functions *functions, const struct function_facts *facts,
	uint32_t number, uint32_t *ret)
{
	const struct facts_layout *layout = &facts_layouts[functions->is_newer];
	uint32_t count;
	return table_u32(functions, facts->at + layout->value_count, &count) && number < count &&
	       table_u32(functions, facts->at + layout->bytes + (uint64_t)number * 4, ret);
}

/* The name of the innermost function that was inlined there; NULL: none was. */
static const char *inlined_name(
	const struct go_functions *functions, const struct function_facts *facts, uint64_t offset)
{
	uint32_t table, tree, name;
	int32_t call;
	if (!functions->inlines || !facts_data(functions, facts, DATA_INLINE, &tree) ||
		!facts_values(functions, facts, VALUE_INLINE, &table) ||
		!value_find(functions, facts, table, offset, &call) || call < 0)
		return NULL;
	uint32_t bytes = inline_layouts[functions->is_newer].bytes;
	uint64_t at = tree + (uint64_t)call * bytes;
	if (at > functions->inline_bytes || functions->inline_bytes - at < bytes)
		return NULL;
	memcpy(&name, functions->inlines + at + inline_layouts[functions->is_newer].name,
		sizeof(name));
	return table_string(functions, functions->names + name);
}

static void place_file(const struct go_functions *functions, const struct function_facts *facts,
	uint64_t offset, struct go_place *place)
{
	const struct facts_layout *layout = &facts_layouts[functions->is_newer];
	uint32_t table, unit, file;
	int32_t number, line;
	if (table_u32(functions, facts->at + layout->lines, &table) &&
		value_find(functions, facts, table, offset, &line) && line > 0)
		place->line = (uint32_t)line;
	if (table_u32(functions, facts->at + layout->files, &table) &&
		value_find(functions, facts, table, offset, &number) && number >= 0 &&
		table_u32(functions, facts->at + layout->unit, &unit) &&
		table_u32(functions, functions->units + ((uint64_t)unit + (uint32_t)number) * 4,
			&file) &&
		file != ABSENT)
		place->file = table_string(functions, functions->files + file);
}

bool go_functions_find(const struct go_functions *functions, uint64_t address, struct go_place *ret)
{
	struct function_facts facts;
	uint32_t name;
	if (!facts_find(functions, address, &facts) ||
		!table_u32(functions, facts.at + facts_layouts[functions->is_newer].name, &name))
		return false;
	uint64_t offset = address - functions->text;
	const char *inlined = inlined_name(functions, &facts, offset);
	struct go_place place = {.function = inlined,
		.entry = functions->text + facts.code,
		.is_inlined = inlined != NULL};
	if (!inlined)
		place.function = table_string(functions, functions->names + name);
	if (!place.function)
		return false;
	place_file(functions, &facts, offset, &place);
	*ret = place;
	return true;
}

bool go_functions_named(const struct go_functions *functions, const char *name, uint64_t *ret_start,
	uint64_t *ret_end)
{
	size_t bytes = strlen(name) + 1;
	for (uint64_t i = 0; i < functions->count; i++) {
		struct function_facts facts;
		uint32_t offset;
		if (!facts_read(functions, i, &facts) ||
			!table_u32(functions, facts.at + facts_layouts[functions->is_newer].name,
				&offset))
			continue;
		uint64_t at = functions->names + offset;
		if (at > functions->bytes || functions->bytes - at < bytes ||
			memcmp(functions->table + at, name, bytes) != 0)
			continue;
		*ret_start = functions->text + facts.code;
		*ret_end = functions->text + facts.code_end;
		return true;
	}
	return false;
}
