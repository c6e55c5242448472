/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See sample_tables.h. */
#include "runtime/jvm/sample_tables.h"

#include <stdlib.h>
#include <string.h>

/* ---- Ids by hash --------------------------------------------------------------------------- */

typedef bool (*is_equal_fn)(const struct sample_tables *tables, uint32_t id, const void *key);

static uint32_t hash_mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15u;
	value ^= value >> 29;
	value *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(value >> 32);
}

static uint32_t hash_string(const char *string)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *string; string++)
		hash = (hash ^ (uint8_t)*string) * 0x100000001b3u;
	return hash_mix(hash);
}

static uint32_t index_find(const struct sample_tables *tables, const struct id_index *index,
	uint32_t hash, is_equal_fn is_equal, const void *key)
{
	if (!index->cap)
		return 0;
	for (size_t i = hash & (index->cap - 1); index->ids[i]; i = (i + 1) & (index->cap - 1))
		if (index->hashes[i] == hash && is_equal(tables, index->ids[i], key))
			return index->ids[i];
	return 0;
}

static void index_put(struct id_index *index, uint32_t hash, uint32_t id)
{
	size_t i = hash & (index->cap - 1);
	while (index->ids[i])
		i = (i + 1) & (index->cap - 1);
	index->ids[i] = id;
	index->hashes[i] = hash;
}

/* Makes room for one more. */
static bool index_reserve(struct sample_tables *tables, struct id_index *index)
{
	if (2 * (index->len + 1) <= index->cap)
		return true;
	struct id_index more = {.cap = index->cap ? 2 * index->cap : 256, .len = index->len};
	more.ids = calloc(more.cap, sizeof(*more.ids));
	more.hashes = calloc(more.cap, sizeof(*more.hashes));
	if (!more.ids || !more.hashes) {
		free(more.ids);
		free(more.hashes);
		tables->failed = true;
		return false;
	}
	for (size_t i = 0; i < index->cap; i++)
		if (index->ids[i])
			index_put(&more, index->hashes[i], index->ids[i]);
	free(index->ids);
	free(index->hashes);
	tables->bytes += (more.cap - index->cap) * 8;
	*index = more;
	return true;
}

/* Makes room for one more row. */
static bool rows_reserve(
	struct sample_tables *tables, void **rows, size_t count, size_t *cap, size_t row_bytes)
{
	if (count < *cap)
		return true;
	size_t more = *cap ? 2 * *cap : 256;
	void *moved = more > UINT32_MAX / 2 ? NULL : realloc(*rows, more * row_bytes);
	if (!moved) {
		tables->failed = true;
		return false;
	}
	tables->bytes += (more - *cap) * row_bytes;
	*rows = moved;
	*cap = more;
	return true;
}

#define ROWS_RESERVE(tables, rows, count, cap)                                                     \
	rows_reserve((tables), (void **)(void *)&(tables)->rows, (tables)->count, &(tables)->cap,  \
		sizeof(*(tables)->rows))

/* ---- Strings and functions ------------------------------------------------------------------ */

static bool string_is(const struct sample_tables *tables, uint32_t id, const void *key)
{
	return strcmp(tables->strings[id], key) == 0;
}

uint32_t sample_string(struct sample_tables *tables, const char *string)
{
	if (!string || !*string)
		return 0;
	uint32_t hash = hash_string(string);
	uint32_t id = index_find(tables, &tables->string_index, hash, string_is, string);
	if (id)
		return id;
	if (!ROWS_RESERVE(tables, strings, string_count, string_cap) ||
		!index_reserve(tables, &tables->string_index))
		return 0;
	char *copy = strdup(string);
	if (!copy) {
		tables->failed = true;
		return 0;
	}
	id = (uint32_t)tables->string_count++;
	tables->strings[id] = copy;
	tables->bytes += strlen(copy) + 16;
	index_put(&tables->string_index, hash, id);
	tables->string_index.len++;
	return id;
}

static bool method_is(const struct sample_tables *tables, uint32_t id, const void *key)
{
	return tables->functions[id].method == key;
}

static bool name_is(const struct sample_tables *tables, uint32_t id, const void *key)
{
	return strcmp(tables->strings[tables->functions[id].name], key) == 0;
}

static uint32_t function_push(struct sample_tables *tables, struct id_index *index, uint32_t hash,
	const struct sample_function *row)
{
	if (!ROWS_RESERVE(tables, functions, function_count, function_cap) ||
		!index_reserve(tables, index))
		return 0;
	uint32_t id = (uint32_t)tables->function_count++;
	tables->functions[id] = *row;
	tables->bytes += row->line_count * sizeof(*row->lines);
	index_put(index, hash, id);
	index->len++;
	return id;
}

uint32_t sample_method_find(const struct sample_tables *tables, const void *method)
{
	return index_find(
		tables, &tables->method_index, hash_mix((uintptr_t)method), method_is, method);
}

uint32_t sample_method_add(struct sample_tables *tables, const struct sample_function *row)
{
	uint32_t id = sample_method_find(tables, row->method);
	if (!id)
		id = function_push(
			tables, &tables->method_index, hash_mix((uintptr_t)row->method), row);
	if (!id || tables->functions[id].lines != row->lines)
		free(row->lines);
	return id;
}

uint32_t sample_name(struct sample_tables *tables, const char *name, const char *short_name)
{
	uint32_t hash = hash_string(name);
	uint32_t id = index_find(tables, &tables->name_index, hash, name_is, name);
	if (id)
		return id;
	struct sample_function row = {.name = sample_string(tables, name),
		.short_name = sample_string(tables, short_name)};
	row.full_name = row.name;
	return row.name ? function_push(tables, &tables->name_index, hash, &row) : 0;
}

uint32_t sample_line_of(const struct sample_function *function, int64_t location)
{
	uint32_t low = 0, high = function->line_count;
	if (location < 0)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (function->lines[middle].start <= location)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? function->lines[low - 1].line : 0;
}

/* ---- Stacks and cells ------------------------------------------------------------------------ */

static bool node_is(const struct sample_tables *tables, uint32_t id, const void *key)
{
	return memcmp(&tables->nodes[id], key, sizeof(struct sample_node)) == 0;
}

uint32_t sample_node(
	struct sample_tables *tables, uint32_t parent, uint32_t function, uint32_t line)
{
	const struct sample_node row = {parent, function, line};
	uint32_t hash = hash_mix(((uint64_t)parent << 32 | function) ^ (uint64_t)line << 17);
	uint32_t id = index_find(tables, &tables->node_index, hash, node_is, &row);
	if (id)
		return id;
	if (!ROWS_RESERVE(tables, nodes, node_count, node_cap) ||
		!index_reserve(tables, &tables->node_index))
		return 0;
	id = (uint32_t)tables->node_count++;
	tables->nodes[id] = row;
	index_put(&tables->node_index, hash, id);
	tables->node_index.len++;
	return id;
}

uint32_t sample_size_class(uint64_t size)
{
	if (size <= 1024)
		return (uint32_t)size;
	unsigned log = 63 - (unsigned)__builtin_clzll(size);
	return 1024 + (log - 10) * 8 + (uint32_t)(size >> (log - 3) & 7) + 1;
}

static bool cell_is(const struct sample_tables *tables, uint32_t id, const void *key)
{
	const struct sample_cell *cell = &tables->cells[id - 1], *wanted = key;
	return cell->node == wanted->node && cell->size_class == wanted->size_class;
}

uint32_t sample_cell(struct sample_tables *tables, uint32_t node, uint64_t size)
{
	const struct sample_cell row = {.node = node, .size_class = sample_size_class(size)};
	uint32_t hash = hash_mix((uint64_t)node << 32 | row.size_class);
	uint32_t id = index_find(tables, &tables->cell_index, hash, cell_is, &row);
	if (id)
		return id;
	if (!ROWS_RESERVE(tables, cells, cell_count, cell_cap) ||
		!index_reserve(tables, &tables->cell_index))
		return 0;
	tables->cells[tables->cell_count] = row;
	id = (uint32_t)++tables->cell_count;
	index_put(&tables->cell_index, hash, id);
	tables->cell_index.len++;
	return id;
}

/* 1 - exp(-x) without libm, exact to 1e-12 of itself: a series where it is small, else halvings of
 * x by exp(-x) = exp(-x / 2^n)^(2^n). */
static double miss_complement(double x)
{
	unsigned halvings = 0;
	if (x > 40)
		return 1;
	for (; x > 0.0625; halvings++)
		x /= 2;
	double term = x, sum = 0;
	for (int i = 2; i < 12; i++) {
		sum += term;
		term *= -x / i;
	}
	/* 1 - (1 - s)^2 = s (2 - s) keeps the digits of a small s. */
	while (halvings--)
		sum *= 2 - sum;
	return sum;
}

double sample_weight(uint64_t size, uint64_t interval)
{
	if (!interval || !size)
		return 1;
	return 1 / miss_complement((double)size / (double)interval);
}

/* ---- Live objects ---------------------------------------------------------------------------- */

bool sample_live_add(struct sample_tables *tables, const struct sample_live *row)
{
	size_t slot = tables->live_free ? tables->live_free - 1 : tables->live_count;
	size_t chunk = slot / LIVE_CHUNK;
	if (chunk >= LIVE_CHUNKS)
		return false;
	if (!tables->live[chunk]) {
		tables->live[chunk] = malloc(LIVE_CHUNK * sizeof(**tables->live));
		if (!tables->live[chunk])
			return false;
		tables->bytes += LIVE_CHUNK * sizeof(**tables->live);
	}
	if (tables->live_free)
		tables->live_free = sample_live_at(tables, slot)->cell;
	else
		tables->live_count++;
	*sample_live_at(tables, slot) = *row;
	tables->live_now++;
	return true;
}

void sample_live_free(struct sample_tables *tables, size_t slot)
{
	struct sample_live *live = sample_live_at(tables, slot);
	live->weak = NULL;
	live->cell = tables->live_free;
	tables->live_free = (uint32_t)slot + 1;
	tables->live_now--;
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool sample_tables_init(struct sample_tables *tables)
{
	*tables = (struct sample_tables){.live = calloc(LIVE_CHUNKS, sizeof(*tables->live))};
	bool is_ready = tables->live && ROWS_RESERVE(tables, strings, string_count, string_cap) &&
			ROWS_RESERVE(tables, functions, function_count, function_cap) &&
			ROWS_RESERVE(tables, nodes, node_count, node_cap);
	if (!is_ready) {
		sample_tables_deinit(tables);
		return false;
	}
	tables->strings[0] = NULL;
	tables->functions[0] = (struct sample_function){0};
	tables->nodes[0] = (struct sample_node){0};
	tables->string_count = tables->function_count = tables->node_count = 1;
	return true;
}

static void index_deinit(struct id_index *index)
{
	free(index->ids);
	free(index->hashes);
}

void sample_tables_deinit(struct sample_tables *tables)
{
	for (size_t i = 1; i < tables->string_count; i++)
		free(tables->strings[i]);
	for (size_t i = 1; i < tables->function_count; i++)
		free(tables->functions[i].lines);
	for (size_t i = 0; tables->live && i < LIVE_CHUNKS; i++)
		free(tables->live[i]);
	free(tables->strings);
	free(tables->functions);
	free(tables->nodes);
	free(tables->cells);
	free(tables->live);
	index_deinit(&tables->string_index);
	index_deinit(&tables->method_index);
	index_deinit(&tables->name_index);
	index_deinit(&tables->node_index);
	index_deinit(&tables->cell_index);
	*tables = (struct sample_tables){0};
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static void *rows_copy(const void *rows, size_t count, size_t row_bytes)
{
	void *copy = malloc(count ? count * row_bytes : 1);
	if (copy && count)
		memcpy(copy, rows, count * row_bytes);
	return copy;
}

bool sample_tables_copy(const struct sample_tables *tables, struct sample_tables *ret)
{
	*ret = (struct sample_tables){.string_count = tables->string_count,
		.function_count = tables->function_count,
		.node_count = tables->node_count,
		.cell_count = tables->cell_count};
	ret->strings = rows_copy(tables->strings, tables->string_count, sizeof(*ret->strings));
	ret->functions =
		rows_copy(tables->functions, tables->function_count, sizeof(*ret->functions));
	ret->nodes = rows_copy(tables->nodes, tables->node_count, sizeof(*ret->nodes));
	ret->cells = rows_copy(tables->cells, tables->cell_count, sizeof(*ret->cells));
	if (ret->strings && ret->functions && ret->nodes && ret->cells)
		return true;
	sample_tables_copy_free(ret);
	return false;
}

void sample_tables_copy_free(struct sample_tables *copy)
{
	free(copy->strings);
	free(copy->functions);
	free(copy->nodes);
	free(copy->cells);
	*copy = (struct sample_tables){0};
}
