/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for leaks in recordings: whole, of several the last, damaged, and made to hurt. */
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

/* All of the story but the search. */
static struct builder start(void)
{
	struct builder builder;
	struct story_truth truth;
	struct story story = story_leaks;
	story.leaks = NULL;
	builder_init(&builder);
	builder_header(&builder);
	builder_tables(&builder, &story);
	builder_events(&builder, &story, &truth);
	builder_footer(&builder, &story, &truth);
	return builder;
}

static struct model *finish(struct builder *builder)
{
	struct model *model = NULL;
	builder_index(builder);
	CHECK_OK(source_open_bytes(
		"file", builder->file.data, builder->file.len, SOURCE_WITH_LEAK_TIMES, &model));
	builder_deinit(builder);
	return model;
}

static void add_row(
	struct builder *builder, enum hpw_chunk_type type, const uint64_t *row, size_t count)
{
	struct columns columns;
	columns_init(&columns, count);
	for (size_t i = 0; i < count; i++)
		buf_varint(&columns.column[i], row[i]);
	builder_columns(builder, type, &columns);
}

static bool has_damage(const struct model *model, const char *part)
{
	size_t count;
	const char *const *damage = model_damage(model, &count);
	for (size_t i = 0; i < count; i++)
		if (strstr(damage[i], part))
			return true;
	return false;
}

static void check_damage(struct builder *builder, const char *part)
{
	_cleanup_model_ struct model *model = finish(builder);
	if (!has_damage(model, part)) {
		size_t count;
		const char *const *damage = model_damage(model, &count);
		tap_fail("no damage with \"%s\"; the first of %zu: %s", part, count,
			count ? damage[0] : "");
	}
}

CASE(whole, "a search comes into the model as it is stored")
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	_cleanup_model_ struct model *model = finish(&builder);
	CHECK(model_recording(model)->complete);
	const struct leak_search *search = model_leak_search(model);
	CHECK(search);
	CHECK_U64(search->moment, LEAK_AT_MAIN_END);
	CHECK_U64(search->way, LEAK_WAY_HELD);
	CHECK_U64(search->time_ns, 71);
	CHECK_U64(search->pause_ns, 15000);
	CHECK_U64(search->search_ns, 20000);
	CHECK_U64(search->heuristics, 15);
	CHECK_U64(search->blocks[LEAK_REACHABLE], 2);
	CHECK_U64(search->bytes[LEAK_POSSIBLE], 4096);
	CHECK(!search->partial);
	CHECK_STR(search->problem, "one thread was elsewhere");
	size_t count;
	const struct leak_root *roots = model_leak_roots(model, &count);
	CHECK_U64(count, 2);
	CHECK_U64(roots[0].place, LEAK_PLACE_DATA);
	CHECK_U64(roots[0].start, 0x404000);
	CHECK_U64(roots[0].module.value, 1);
	CHECK_STR(roots[0].name, "/usr/bin/story");
	CHECK_U64(roots[1].place, LEAK_PLACE_REGISTERS);
	CHECK_U64(roots[1].tid, 4712);
	const struct leak_group *groups = model_leak_groups(model, &count);
	CHECK_U64(count, 3);
	CHECK_U64(groups[0].parent, LEAK_NO_GROUP);
	CHECK(groups[0].repeats && !groups[1].repeats);
	CHECK_U64(groups[1].parent, 0);
	CHECK_U64(groups[1].holder, 0x500000);
	CHECK_U64(groups[1].offset, 16);
	CHECK_U64(groups[2].root, 1);
	CHECK_U64(groups[2].root_address, 1);
	CHECK_U64(groups[2].into, 2048);
	const struct leak_record *records = model_leak_records(model, &count);
	CHECK_U64(count, 5);
	CHECK_U64(records[0].group, 0);
	CHECK_U64(records[2].group, LEAK_NO_GROUP);
	CHECK_U64(records[4].kind, LEAK_DEFINITE);
	CHECK_U64(records[4].site.value, 3);
	CHECK_U64(records[4].indirect_bytes, 7);
	CHECK_U64(records[4].example.address, 0x500200);
	CHECK_U64(records[4].example.thread.value, 1);
}

CASE(until_then, "what the program had called, and what heuristics explain, may be missing")
{
	static const uint64_t pairs[][2] = {{HPW_LEAK_WAY, HPW_LEAK_HELD},
		{HPW_LEAK_ALLOCATIONS, 77}, {HPW_LEAK_FREES, 66}, {HPW_LEAK_ALLOCATED_BYTES, 5555},
		{HPW_LEAK_HEURISTIC_BLOCKS, 4}, {HPW_LEAK_HEURISTIC_BLOCKS + 3, 3},
		{HPW_LEAK_HEURISTIC_BYTES, 44}, {HPW_LEAK_HEURISTIC_BYTES + 3, 33},
		{HPW_LEAK_KEYS, 9}, {UINT64_MAX, UINT64_MAX}};
	for (size_t count = 1; count <= ARRAY_SIZE(pairs); count += ARRAY_SIZE(pairs) - 1) {
		const struct story_leaks leaks = {.search = pairs, .search_len = count};
		struct builder builder = start();
		builder_leaks(&builder, &leaks);
		_cleanup_model_ struct model *model = finish(&builder);
		const struct leak_search *search = model_leak_search(model);
		bool more = count > 1;
		CHECK_U64(search->allocations, more ? 77 : 0);
		CHECK_U64(search->frees, more ? 66 : 0);
		CHECK_U64(search->allocated_bytes, more ? 5555 : 0);
		CHECK_U64(search->heuristic_blocks[0], more ? 4 : 0);
		CHECK_U64(search->heuristic_blocks[1], 0);
		CHECK_U64(search->heuristic_blocks[3], more ? 3 : 0);
		CHECK_U64(search->heuristic_bytes[0], more ? 44 : 0);
		CHECK_U64(search->heuristic_bytes[3], more ? 33 : 0);
	}
}

CASE(none, "without a search there is none, and one that could not be says why")
{
	struct builder builder = start();
	_cleanup_model_ struct model *model = finish(&builder);
	CHECK(!model_leak_search(model));
	CHECK(model_recording(model)->complete);
	static const uint64_t pairs[][2] = {{HPW_LEAK_WAY, HPW_LEAK_NONE}};
	const struct story_leaks failed = {
		.search = pairs, .search_len = 1, .problem = "it was traced by another program"};
	builder = start();
	builder_leaks(&builder, &failed);
	_cleanup_model_ struct model *without = finish(&builder);
	CHECK_U64(model_leak_search(without)->way, LEAK_WAY_NONE);
	CHECK_STR(model_leak_search(without)->problem, "it was traced by another program");
	CHECK(model_recording(without)->complete);
}

/* Steps are at 1, 11, 21…; chunks begin with steps 0, 3 and 6, and a time is known for each. */
CASE(times, "examples get the time of the last stamp before their allocation")
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	_cleanup_model_ struct model *model = finish(&builder);
	size_t count;
	const struct leak_record *records = model_leak_records(model, &count);
	CHECK_U64(records[0].example_ns, 1);
	CHECK_U64(records[1].example_ns, 1);
	CHECK_U64(records[2].example_ns, 31);
	CHECK_U64(records[3].example_ns, 61);
	CHECK_U64(records[4].example_ns, 31);
}

CASE(times_unknown, "an example that no event tells of has no time")
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	/* thread 1's 77th allocation; a thread that is not there */
	add_row(&builder, HPW_LEAK_RECORDS,
		(uint64_t[]){0, HPW_LEAK_DEFINITE, 0, 0, 0, 0, 0, 16, 0, 1, 77}, 11);
	add_row(&builder, HPW_LEAK_RECORDS,
		(uint64_t[]){0, HPW_LEAK_DEFINITE, 0, 0, 0, 0, 0, 16, 0, 9, 0}, 11);
	_cleanup_model_ struct model *model = finish(&builder);
	size_t count;
	const struct leak_record *records = model_leak_records(model, &count);
	CHECK_U64(count, 7);
	CHECK_U64(records[5].example_ns, LEAK_NO_TIME);
	CHECK_U64(records[6].example_ns, LEAK_NO_TIME);
	CHECK_U64(records[6].example.thread.value, LEAK_NO_THREAD);
	CHECK(model_recording(model)->complete);
}

CASE(last, "of two searches the last counts, with all of its tables")
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	static const uint64_t pairs[][2] = {
		{HPW_LEAK_MOMENT, HPW_LEAK_ON_DEMAND}, {HPW_LEAK_WAY, HPW_LEAK_SNAPSHOT}};
	const struct story_leaks clean = {.search = pairs, .search_len = ARRAY_SIZE(pairs)};
	builder_leaks(&builder, &clean);
	_cleanup_model_ struct model *model = finish(&builder);
	CHECK_U64(model_leak_search(model)->moment, LEAK_ON_DEMAND);
	size_t count;
	model_leak_roots(model, &count);
	CHECK_U64(count, 0);
	model_leak_groups(model, &count);
	CHECK_U64(count, 0);
	model_leak_records(model, &count);
	CHECK_U64(count, 0);
	CHECK(model_recording(model)->complete);
}

CASE(last_damaged, "when the last search is damaged, an earlier one does not stand in for it")
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	size_t at = builder.chunks;
	builder_leaks(&builder, &leaks_small);
	builder.file.data[builder.offsets[at] + sizeof(struct hpw_chunk_header)] ^= 0xff;
	_cleanup_model_ struct model *model = finish(&builder);
	CHECK(!model_leak_search(model));
	CHECK(!model_recording(model)->complete);
}

/* The story with one chunk's payload spoilt. */
static struct model *without(enum hpw_chunk_type type)
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	for (size_t i = 0; i < builder.chunks; i++)
		if (builder.types[i] == type)
			builder.file.data[builder.offsets[i] + sizeof(struct hpw_chunk_header)] ^=
				0xff;
	return finish(&builder);
}

CASE(ways_lost, "when the table of holders is damaged the kinds stay")
{
	static const enum hpw_chunk_type types[] = {HPW_LEAK_ROOTS, HPW_LEAK_GROUPS};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		_cleanup_model_ struct model *model = without(types[i]);
		size_t count;
		const struct leak_record *records = model_leak_records(model, &count);
		CHECK_U64(count, 5);
		CHECK_U64(records[0].group, LEAK_NO_GROUP);
		CHECK(has_damage(model, "references to the blocks of 3 leak records"));
	}
}

CASE(records_lost, "records that are missing are missed")
{
	_cleanup_model_ struct model *model = without(HPW_LEAK_RECORDS);
	CHECK(has_damage(model, "parts of the leak search's results are missing"));
	CHECK_U64(model_leak_search(model)->blocks[LEAK_REACHABLE], 2);
	/* What is left of them is no answer: none of it may pass for all. */
	CHECK(model_leak_search(model)->damaged);
	CHECK_U64(model_leak_search(model)->way, LEAK_WAY_NONE);
}

CASE(sites_lost, "without the table of sites, leaks are from an unknown place")
{
	_cleanup_model_ struct model *model = without(HPW_SITES);
	size_t count, sites;
	const struct leak_record *records = model_leak_records(model, &count);
	CHECK_U64(count, 5);
	const struct site *site = model_sites(model, &sites);
	for (size_t i = 0; i < count; i++)
		CHECK_U64(site[records[i].site.value].kind, KIND_UNKNOWN);
}

#define HUGE_NUMBER (1ull << 60)

CASE(impossible, "rows that cannot be are refused, and say so")
{
	static const struct {
		enum hpw_chunk_type type;
		size_t count;
		const char *part;
		uint64_t row[11];
	} rows[] = {
		{HPW_LEAK_ROOTS, 7, "bytes are due", {0, 0, 0, 0, 0, HUGE_NUMBER, 0}},
		{HPW_LEAK_ROOTS, 7, "root 2 is impossible", {0, UINT64_MAX, 2}},
		{HPW_LEAK_GROUPS, 9, "group 3 has an impossible way", {4}},
		{HPW_LEAK_GROUPS, 9, "group 3 has an impossible way", {0, HUGE_NUMBER}},
		{HPW_LEAK_GROUPS, 9, "names root 2, which is not known", {0, 2}},
		{HPW_LEAK_GROUPS, 9, "another root than its parent", {3, 1}},
		{HPW_LEAK_GROUPS, 9, "an unknown register", {0, 1, 16}},
		{HPW_LEAK_RECORDS, 11, "unknown kind 4", {0, 4}},
		{HPW_LEAK_RECORDS, 11, "unknown kind 1152921504606846976", {0, HUGE_NUMBER}},
		{HPW_LEAK_RECORDS, 11, "references to the blocks of 1 leak records",
			{0, 0, HUGE_NUMBER}},
		{HPW_LEAK_RECORDS, 11, "parts of the leak search", {0, 0, 0, 1}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct builder builder = start();
		builder_leaks(&builder, &leaks_small);
		add_row(&builder, rows[i].type, rows[i].row, rows[i].count);
		check_damage(&builder, rows[i].part);
	}
	const uint64_t searches[][2] = {{HPW_LEAK_MOMENT, 5}, {HPW_LEAK_WAY, HUGE_NUMBER},
		{HPW_LEAK_PROBLEM, HUGE_NUMBER}, {HPW_LEAK_PROBLEM, 1}};
	static const char *const parts[] = {
		"of an unknown kind", "of an unknown kind", "its problem has", ""};
	for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
		struct builder builder = start();
		const struct story_leaks leaks = {.search = &searches[i], .search_len = 1};
		builder_leaks(&builder, &leaks);
		check_damage(&builder, parts[i]);
	}
}

CASE(astray, "tables of leaks without a search are passed over")
{
	struct builder builder = start();
	add_row(&builder, HPW_LEAK_RECORDS, (uint64_t[]){0, HUGE_NUMBER}, 11 - 9);
	_cleanup_model_ struct model *model = finish(&builder);
	CHECK(!model_leak_search(model));
	CHECK(model_recording(model)->complete);
}

static void add_said(struct builder *builder, uint64_t key, uint64_t len, const char *text)
{
	struct buf payload;
	buf_init(&payload);
	buf_varint(&payload, key);
	buf_varint(&payload, len);
	buf_bytes(&payload, text, strlen(text));
	builder_chunk(builder, HPW_LSAN_STRINGS, &payload);
	buf_deinit(&payload);
}

CASE(said,
	"what the program says to LeakSanitizer comes with its search, of several the last one's")
{
	struct builder builder = start();
	add_said(&builder, HPW_LEAK_OPTIONS, 1, "x"); /* of no search */
	builder_leaks(&builder, &leaks_small);
	add_said(&builder, HPW_LEAK_OPTIONS, 10, "exitcode=7");
	builder_leaks(&builder, &leaks_small);
	add_said(&builder, HPW_LEAK_SUPPRESSIONS, 7, "leak:me");
	add_said(&builder, 77, 2, "ab"); /* of a later version */
	_cleanup_model_ struct model *model = finish(&builder);
	const struct leak_search *search = model_leak_search(model);
	CHECK(search && model_recording(model)->complete);
	CHECK_STR(search->own_suppressions, "leak:me");
	CHECK(!search->own_options);
}

CASE(said_impossible, "words of the program that cannot be are refused, and say so")
{
	static const struct {
		uint64_t len;
		const char *part;
	} words[] = {{HUGE_NUMBER, "the program's words have"},
		{HPW_LSAN_STRING_MAX + 1, "words have"}, {3, ""}};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct builder builder = start();
		builder_leaks(&builder, &leaks_small);
		add_said(&builder, HPW_LEAK_SUPPRESSIONS, words[i].len, "le");
		check_damage(&builder, words[i].part);
	}
}

/* Each lookup finds the first of a million. */
CASE(times_bounded, "many records of one block are dated once")
{
	struct builder builder = start();
	builder_leaks(&builder, &leaks_small);
	struct columns columns;
	columns_init(&columns, 11);
	for (size_t i = 0; i < 1u << 20; i++)
		for (size_t k = 0; k < 11; k++)
			buf_varint(&columns.column[k], 0);
	builder_columns(&builder, HPW_LEAK_RECORDS, &columns);
	_cleanup_model_ struct model *model = finish(&builder);
	size_t count;
	const struct leak_record *records = model_leak_records(model, &count);
	CHECK_U64(count, (1u << 20) + 5);
	CHECK_U64(records[count - 1].example_ns, 1);
}

TAP_MAIN
