/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_leaks.h"

#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "format/leak_rules.h"
#include "model/leak_rules.h"
#include "sources/events/hpw_columns.h"

/* Longer ones are no sentence. */
#define PROBLEM_BYTES_MAX 4096u

static const enum leak_way ways[] = {
	[HPW_LEAK_NONE] = LEAK_WAY_NONE,
	[HPW_LEAK_HELD] = LEAK_WAY_HELD,
	[HPW_LEAK_SNAPSHOT] = LEAK_WAY_SNAPSHOT,
	[HPW_LEAK_UNSTOPPED] = LEAK_WAY_UNSTOPPED,
};
static const enum leak_moment moments[] = {
	[HPW_LEAK_AT_EXIT] = LEAK_AT_EXIT,
	[HPW_LEAK_AT_MAIN_END] = LEAK_AT_MAIN_END,
	[HPW_LEAK_ON_DEMAND] = LEAK_ON_DEMAND,
	[HPW_LEAK_ON_DEATH] = LEAK_ON_DEATH,
	[HPW_LEAK_BY_PROGRAM] = LEAK_BY_PROGRAM,
};
static const enum leak_kind kinds[HPW_LEAK_KINDS] = {
	[HPW_LEAK_DEFINITE] = LEAK_DEFINITE,
	[HPW_LEAK_INDIRECT] = LEAK_INDIRECT,
	[HPW_LEAK_POSSIBLE] = LEAK_POSSIBLE,
	[HPW_LEAK_REACHABLE] = LEAK_REACHABLE,
};
static const enum leak_place places[] = {
	[HPW_LEAK_ROOT_DATA] = LEAK_PLACE_DATA,
	[HPW_LEAK_ROOT_STACK] = LEAK_PLACE_STACK,
	[HPW_LEAK_ROOT_REGISTERS] = LEAK_PLACE_REGISTERS,
	[HPW_LEAK_ROOT_MAPPING] = LEAK_PLACE_MAPPING,
	[HPW_LEAK_ROOT_REGION] = LEAK_PLACE_REGION,
	[HPW_LEAK_ROOT_IGNORED] = LEAK_PLACE_IGNORED,
};

/* What a search says of itself, as stored. */
struct leak_summary {
	uint64_t values[HPW_LEAK_KEYS];
	uint64_t rules, offset_limit;
	const uint8_t *problem;
	uint64_t problem_len;
};

static struct error *read_search(const struct hpw_payload *payload, struct leak_summary *ret)
{
	struct cursor c = hpw_payload_cursor(payload);
	while (cursor_left(&c)) {
		uint64_t key, value;
		struct error *error = cursor_varint(&c, &key);
		if (!error)
			error = cursor_varint(&c, &value);
		if (error)
			return error;
		if (key == HPW_LEAK_PROBLEM) {
			if (value > PROBLEM_BYTES_MAX)
				return error_create(
					ERROR_INPUT, "its problem has %" PRIu64 " bytes", value);
			ret->problem_len = value;
			error = cursor_bytes(&c, value, &ret->problem);
			if (error)
				return error;
		} else if (key == HPW_LEAK_RULES) {
			ret->rules = value;
		} else if (key == HPW_LEAK_TOO_FAR) {
			ret->offset_limit = value;
		} else if (key < HPW_LEAK_KEYS) {
			ret->values[key] = value;
		}
	}
	return NULL;
}

static struct error *decode_search(struct hpw_leaks *leaks, const struct hpw_payload *payload)
{
	struct leak_summary leak_summary = {.problem_len = 0};
	struct error *error = read_search(payload, &leak_summary);
	const char *problem = NULL;
	if (!error && leak_summary.problem_len)
		error = build_string(leaks->model, (const char *)leak_summary.problem,
			(size_t)leak_summary.problem_len, &problem);
	if (error)
		return error;
	const uint64_t *v = leak_summary.values;
	if (v[HPW_LEAK_MOMENT] >= ARRAY_SIZE(moments) || v[HPW_LEAK_WAY] >= ARRAY_SIZE(ways))
		return error_create(ERROR_INPUT, "a search of an unknown kind");
	struct leak_search *search = build_leak_search(leaks->model);
	*search = (struct leak_search){
		.moment = moments[v[HPW_LEAK_MOMENT]],
		.way = ways[v[HPW_LEAK_WAY]],
		.time_ns = hpw_clock_ns(leaks->clock, v[HPW_LEAK_TSC]),
		.pause_ns = v[HPW_LEAK_PAUSE_NS],
		.search_ns = v[HPW_LEAK_SEARCH_NS],
		.alignment = (unsigned)v[HPW_LEAK_ALIGNMENT],
		.heuristics = (unsigned)v[HPW_LEAK_HEURISTICS],
		.uncopied = v[HPW_LEAK_UNCOPIED] <= LEAK_UNCOPIED_CONFINED
				    ? (uint32_t)v[HPW_LEAK_UNCOPIED]
				    : LEAK_UNCOPIED_CONFINED,
		.partial = (v[HPW_LEAK_NOTES] & HPW_LEAK_NOTE_PARTIAL) != 0,
		.uncleared = !(v[HPW_LEAK_NOTES] & HPW_LEAK_NOTE_CLEARED),
		.threads = v[HPW_LEAK_THREADS],
		.threads_missed = v[HPW_LEAK_THREADS_MISSED],
		.root_bytes = v[HPW_LEAK_ROOT_BYTES],
		.unread_bytes = v[HPW_LEAK_UNREAD_BYTES],
		.pointers = v[HPW_LEAK_POINTERS],
		.allocations = v[HPW_LEAK_ALLOCATIONS],
		.frees = v[HPW_LEAK_FREES],
		.allocated_bytes = v[HPW_LEAK_ALLOCATED_BYTES],
		.problem = problem,
	};
	for (unsigned i = 0; i < HPW_LEAK_KINDS; i++) {
		search->blocks[kinds[i]] = v[HPW_LEAK_BLOCKS + i];
		search->bytes[kinds[i]] = v[HPW_LEAK_BYTES + i];
	}
	for (unsigned i = 0; i < LEAK_HEURISTICS; i++) {
		search->heuristic_blocks[i] = v[HPW_LEAK_HEURISTIC_BLOCKS + i];
		search->heuristic_bytes[i] = v[HPW_LEAK_HEURISTIC_BYTES + i];
	}
	const struct leak_search_rules rules = {
		.since_start = (leak_summary.rules & HPW_LEAK_RULE_SINCE) != 0,
		.no_globals = (leak_summary.rules & HPW_LEAK_RULE_NO_GLOBALS) != 0,
		.no_threads = (leak_summary.rules & HPW_LEAK_RULE_NO_THREADS) != 0,
		.offset_limit = leak_summary.offset_limit};
	build_leak_rules(leaks->model, &rules);
	return NULL;
}

/* A table: its columns that are numbers of a row, and how a row comes into the model. */
struct table {
	size_t columns;
	uint32_t numbers; /* bit set */
	struct error *(*row)(struct hpw_leaks *leaks, const uint64_t *v, struct cursor *bytes);
	size_t bytes; /* the column of bytes, if it is not in `numbers` */
};

#define LEAK_COLUMNS_MAX 11u

static struct error *decode_table(
	struct hpw_leaks *leaks, const struct hpw_payload *payload, const struct table *table)
{
	struct hpw_column columns[LEAK_COLUMNS_MAX];
	size_t rows;
	struct error *error = hpw_columns_open(payload, columns, table->columns);
	if (!error)
		error = hpw_columns_rows(columns, table->columns, table->numbers, &rows);
	if (error)
		return error;
	for (size_t i = 0; !error && i < rows; i++) {
		uint64_t v[LEAK_COLUMNS_MAX] = {0};
		for (size_t k = 0; !error && k < table->columns; k++)
			if (table->numbers >> k & 1)
				error = hpw_column_next(&columns[k], &v[k]);
		if (!error)
			error = table->row(leaks, v, &columns[table->bytes].cursor);
	}
	return error;
}

static struct error *add_root(struct hpw_leaks *leaks, const uint64_t *v, struct cursor *names)
{
	const uint8_t *name;
	struct error *error = cursor_bytes(names, v[5], &name);
	if (error)
		return error;
	struct leak_root row = {
		.place = v[0] < ARRAY_SIZE(places) ? places[v[0]] : LEAK_PLACE_MAPPING,
		.start = v[1],
		.size = v[2],
		.tid = (uint32_t)v[3],
		.module = {v[4] < model_module_limit(leaks->model) ? (uint32_t)v[4] : 0},
	};
	return build_leak_root(leaks->model, &row, (const char *)name, (size_t)v[5]);
}

/* The site itself, or one that stands for all that are not known. */
static struct error *known_site(struct hpw_leaks *leaks, uint64_t stored, struct site_id *ret)
{
	size_t count;
	model_sites(leaks->model, &count);
	if (stored < count) {
		*ret = (struct site_id){(uint32_t)stored};
		return NULL;
	}
	if (!leaks->has_unknown_site) {
		leaks->unknown_site = (struct site_id){(uint32_t)count};
		struct error *error = build_site(
			leaks->model, leaks->unknown_site, (struct stack_id){0}, KIND_UNKNOWN);
		if (error)
			return error;
		leaks->has_unknown_site = true;
	}
	*ret = leaks->unknown_site;
	return NULL;
}

static struct error *hpw_leaks_add_group(
	struct hpw_leaks *leaks, const uint64_t *v, struct cursor *bytes)
{
	(void)bytes;
	size_t number;
	model_leak_groups(leaks->model, &number);
	if (v[0] > number || v[1] >= UINT32_MAX)
		return error_create(ERROR_INPUT, "group %zu has an impossible way", number);
	struct leak_group row = {
		.parent = v[0] ? (uint32_t)(number - v[0]) : LEAK_NO_GROUP,
		.root = (uint32_t)v[1],
		.root_address = v[2],
		.repeats = v[4] & 1,
		.together = v[4] >> 1 & 1,
		.holder = v[5],
		.offset = v[6],
		.block = v[7],
		.into = v[8],
	};
	struct error *error = known_site(leaks, v[3], &row.site);
	return error ? error : build_leak_group(leaks->model, &row);
}

static struct error *hpw_leaks_add_record(
	struct hpw_leaks *leaks, const uint64_t *v, struct cursor *bytes)
{
	(void)bytes;
	size_t groups, threads;
	model_leak_groups(leaks->model, &groups);
	model_threads(leaks->model, &threads);
	if (v[1] >= HPW_LEAK_KINDS)
		return error_create(ERROR_INPUT, "a leak of the unknown kind %" PRIu64, v[1]);
	struct leak_record row = {
		.kind = kinds[v[1]],
		.group = v[2] && v[2] <= groups ? (uint32_t)(v[2] - 1) : LEAK_NO_GROUP,
		.blocks = v[3],
		.bytes = v[4],
		.indirect_blocks = v[5],
		.indirect_bytes = v[6],
		.example = {.address = v[7],
			.size = v[8],
			.thread = {v[9] < threads ? (uint32_t)v[9] : LEAK_NO_THREAD},
			.number = v[10]},
		.example_ns = LEAK_NO_TIME,
	};
	leaks->ways_lost += v[2] > groups;
	struct error *error = known_site(leaks, v[0], &row.site);
	if (error)
		return error;
	row.example.site = row.site;
	return build_leak_record(leaks->model, &row);
}

/* Rows go on over several chunks of one table. */
static const struct {
	enum hpw_chunk_type type;
	struct table table;
} tables[] = {
	{HPW_LEAK_ROOTS, {7, 0x3f, add_root, 6}},
	{HPW_LEAK_GROUPS, {9, 0x1ff, hpw_leaks_add_group, 0}},
	{HPW_LEAK_RECORDS, {11, 0x7ff, hpw_leaks_add_record, 0}},
};

/* The search is in the model already. */
static struct error *decode_lsan_strings(struct model *model, const struct hpw_payload *payload)
{
	struct leak_search *search = build_leak_search_more(model);
	struct cursor c = hpw_payload_cursor(payload);
	while (cursor_left(&c)) {
		uint64_t key, len;
		const uint8_t *text;
		struct error *error = cursor_varint(&c, &key);
		if (!error)
			error = cursor_varint(&c, &len);
		if (!error && len > HPW_LSAN_STRING_MAX)
			error = error_create(
				ERROR_INPUT, "the program's words have %" PRIu64 " bytes", len);
		if (!error)
			error = cursor_bytes(&c, len, &text);
		if (!error && key == HPW_LEAK_SUPPRESSIONS)
			error = build_string(
				model, (const char *)text, (size_t)len, &search->own_suppressions);
		else if (!error && key == HPW_LEAK_OPTIONS)
			error = build_string(
				model, (const char *)text, (size_t)len, &search->own_options);
		if (error)
			return error;
	}
	return NULL;
}

bool hpw_leaks_takes(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i].type == type)
			return true;
	return type == HPW_LEAK_SEARCH || type == HPW_LSAN_STRINGS;
}

size_t hpw_leaks_first(const struct hpw_file *file)
{
	for (size_t i = file->chunks.len; i > 0; i--)
		if (file->chunks.data[i - 1].type == HPW_LEAK_SEARCH)
			return i - 1;
	return file->chunks.len;
}

struct error *hpw_leaks_decode(
	struct hpw_leaks *leaks, uint16_t type, const struct hpw_payload *payload)
{
	if (type == HPW_LEAK_SEARCH)
		return decode_search(leaks, payload);
	if (!model_leak_search(leaks->model))
		return NULL; /* of a search that is damaged */
	if (type == HPW_LSAN_STRINGS)
		return decode_lsan_strings(leaks->model, payload);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i].type == type)
			return decode_table(leaks, payload, &tables[i].table);
	return NULL;
}

struct error *hpw_leaks_check(const struct hpw_leaks *leaks, struct hpw_damage *damage)
{
	const struct leak_search *search = model_leak_search(leaks->model);
	if (!search)
		return NULL;
	uint64_t blocks[LEAK_KINDS] = {0};
	size_t count;
	const struct leak_record *records = model_leak_records(leaks->model, &count);
	for (size_t i = 0; i < count; i++)
		blocks[records[i].kind] += records[i].blocks;
	struct error *error = NULL;
	if (memcmp(blocks, search->blocks, sizeof(blocks)) != 0) {
		error = hpw_damage_add(damage, "parts of the leak search's results are missing");
		struct leak_search judged = *search;
		judged.damaged = true;
		judged.way = LEAK_WAY_NONE;
		judged.problem = "its result in the recording is damaged";
		*build_leak_search(leaks->model) = judged;
	}
	if (!error && leaks->ways_lost)
		error = hpw_damage_add(damage,
			"references to the blocks of %" PRIu64 " leak records are missing",
			leaks->ways_lost);
	return error;
}
