/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MAPPINGS as FORMAT.md has them: pieces, covers, moments, and rows that lie. */
#include "base/cleanup.h"
#include "base/util.h"
#include "format/resident.h"
#include "lib/hpw_builder.h"
#include "lib/tap.h"
#include "model/resident.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

#define HZ 1000000000u
#define START 1000u

struct row {
	uint64_t stamp, thread, what, flags, page, pages, stack;
};

static uint64_t zigzag(uint64_t value)
{
	return value << 1 ^ (uint64_t)((int64_t)value >> 63);
}

static void put_text(struct buf *ret, uint64_t key, const void *data, size_t bytes)
{
	buf_varint(ret, key);
	buf_varint(ret, bytes);
	buf_bytes(ret, data, bytes);
}

static void put_number(struct buf *ret, uint64_t key, uint64_t value)
{
	put_text(ret, key, &value, sizeof(value));
}

static void put_rows(struct builder *builder, const struct row *rows, size_t count)
{
	struct columns c;
	uint64_t stamp = 0, page = 0;
	columns_init(&c, HPW_MAPPING_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		const uint64_t values[HPW_MAPPING_COLUMNS] = {zigzag(rows[i].stamp - stamp),
			rows[i].thread, rows[i].what, rows[i].flags, zigzag(rows[i].page - page),
			rows[i].pages, rows[i].stack};
		for (size_t k = 0; k < HPW_MAPPING_COLUMNS; k++)
			buf_varint(&c.column[k], values[k]);
		stamp = rows[i].stamp;
		page = rows[i].page;
	}
	builder_columns(builder, HPW_MAPPINGS, &c);
}

/* A recording that has stacks 1 and 2, and these rows in two chunks. */
static void begin_file(struct builder *builder, uint32_t features, const struct row *rows,
	size_t count, bool recorded)
{
	struct buf target;
	struct columns stacks;
	builder_init(builder);
	builder->features = features;
	builder_header(builder);
	buf_init(&target);
	put_number(&target, HPW_TARGET_TSC_START, START);
	put_number(&target, HPW_TARGET_TSC_HZ, HZ);
	put_text(&target, HPW_TARGET_MODE, "exact", 5);
	if (recorded)
		put_number(&target, HPW_TARGET_MAPPINGS, 1);
	builder_chunk(builder, HPW_TARGET, &target);
	buf_deinit(&target);
	columns_init(&stacks, 4);
	buf_varint(&stacks.column[0], 1);
	for (uint64_t i = 1; i <= 2; i++) {
		buf_varint(&stacks.column[1], i);
		buf_varint(&stacks.column[2], 0);
		buf_varint(&stacks.column[3], zigzag(4096));
	}
	builder_columns(builder, HPW_STACKS, &stacks);
	put_rows(builder, rows, count / 2);
	put_rows(builder, rows + count / 2, count - count / 2);
}

static void end_file(struct builder *builder)
{
	struct buf summary;
	buf_init(&summary);
	const uint64_t pairs[] = {HPW_SUM_TSC_END, START + 1000, HPW_SUM_NS_DURATION, 1000,
		HPW_SUM_EXIT_KIND, HPW_EXIT_STATUS};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		buf_varint(&summary, pairs[i]);
	builder_chunk(builder, HPW_SUMMARY, &summary);
	buf_deinit(&summary);
	builder_index(builder);
}

static void make_file(struct builder *builder, uint32_t features, const struct row *rows,
	size_t count, bool recorded)
{
	begin_file(builder, features, rows, count, recorded);
	end_file(builder);
}

static struct error *open_class(
	const struct builder *builder, const struct source_query *query, struct model **ret)
{
	return source_open_bytes_query(
		"file", builder->file.data, builder->file.len, 0, query, ret);
}

static const struct source_query all = {.class = SOURCE_MAPPINGS, .to = {.kind = SOURCE_END}};

/* Ten pages; two out of their middle; six more across the end of it; half of these gone. */
static const struct row shapes[] = {
	{START + 100, 1, HPW_MAPPING_MMAP, 0, 100, 10, 1},
	{START + 200, 1, HPW_MAPPING_UNMAPPED, 0, 104, 2, 0},
	{START + 300, 1, HPW_MAPPING_MREMAP, 0, 108, 6, 2},
	{START + 400, 0, HPW_MAPPING_GONE, 0, 111, 300, 0},
	{START + 500, 1, HPW_MAPPING_MMAP, HPW_MAPPING_ALLOCATOR, 1000, 1, 2},
	{START + 600, 1, HPW_MAPPING_UNMAPPED, 0, 0, 104, 0},
	{START + 700, 1, HPW_MAPPING_UNMAPPED, 0, 106, 2, 0},
};

static void check_site(
	const struct model *model, size_t i, enum alloc_kind kind, uint64_t pages, uint64_t peak)
{
	size_t count;
	const struct site *site = model_sites(model, &count) + i;
	CHECK(i < count);
	CHECK_U64(site->kind, kind);
	CHECK_U64(site->live_bytes, pages * 4096);
	CHECK_U64(site->live_blocks, pages != 0);
	CHECK_U64(site->peak_bytes, peak * 4096);
	CHECK_U64(site->allocations, 1);
}

CASE(pieces, "a mapping loses pieces by munmap, covers and what was seen to be gone")
{
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	make_file(&builder, 0, shapes, ARRAY_SIZE(shapes), true);
	CHECK_OK(open_class(&builder, &all, &model));
	builder_deinit(&builder);
	/* The peak is after the third row: 4 + 2 pages and 6. */
	check_site(model, 0, KIND_MMAP, 0, 6);
	check_site(model, 1, KIND_MREMAP, 3, 6);
	check_site(model, 2, KIND_ALLOCATOR_MAP, 1, 0);
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->peak_bytes, 12 * 4096);
	CHECK_U64(totals->peak_time_ns, 300);
	CHECK_U64(totals->live_bytes, 4 * 4096);
	CHECK_U64(totals->live_blocks, 2);
	CHECK_U64(totals->allocations, 3);
	CHECK_U64(totals->frees, 1);
	CHECK(model_recording(model)->what == RECORDED_MAPPINGS);
	CHECK(model_recording(model)->complete);
}

CASE(moments, "of a part: what was mapped before it is live, and no call of it")
{
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	make_file(&builder, 0, shapes, ARRAY_SIZE(shapes), true);
	const struct source_query part = {.class = SOURCE_MAPPINGS,
		.from = {.kind = SOURCE_TIME, .time_ns = 250},
		.to = {.kind = SOURCE_TIME, .time_ns = 550}};
	CHECK_OK(open_class(&builder, &part, &model));
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, 2);
	CHECK_U64(totals->live_bytes, (6 + 3 + 1) * 4096);
	CHECK_U64(totals->kept_bytes, (3 + 1) * 4096);
	CHECK_U64(totals->peak_bytes, 12 * 4096);
	const struct source_query peak = {.class = SOURCE_MAPPINGS, .to = {.kind = SOURCE_PEAK}};
	_cleanup_model_ struct model *highest = NULL;
	CHECK_OK(open_class(&builder, &peak, &highest));
	CHECK_U64(model_totals(highest)->live_bytes, 12 * 4096);
	builder_deinit(&builder);
}

CASE(beside, "the heap's figures have none of it; what it comes to stands beside them")
{
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	make_file(&builder, 0, shapes, ARRAY_SIZE(shapes), true);
	CHECK_OK(open_class(&builder, NULL, &model));
	builder_deinit(&builder);
	const struct recording *recording = model_recording(model);
	CHECK(recording->what == RECORDED_HEAP && recording->mappings);
	CHECK_U64(model_totals(model)->allocations + model_totals(model)->live_bytes, 0);
	CHECK_U64(recording->mapped.bytes, 4 * 4096);
	CHECK_U64(recording->mapped.allocator_bytes, 4096);
	CHECK_U64(recording->mapped.peak_bytes, 12 * 4096);
	CHECK_U64(recording->mapped.calls, 3);
}

CASE(classes, "without a heap its mappings are what it has; without mappings it says so")
{
	struct builder builder;
	struct model *model = NULL;
	static const struct source_query heap = {.class = SOURCE_HEAP, .to = {.kind = SOURCE_END}};
	make_file(&builder, HPW_FEATURE_NO_HEAP, shapes, ARRAY_SIZE(shapes), true);
	CHECK_OK(open_class(&builder, NULL, &model));
	CHECK(model_recording(model)->what == RECORDED_MAPPINGS);
	CHECK(model_recording(model)->only_mappings);
	model_destroy(model);
	CHECK_ERROR(open_class(&builder, &heap, &model), ERROR_INPUT, "no heap");
	builder_deinit(&builder);
	make_file(&builder, 0, shapes, 0, false);
	CHECK_ERROR(open_class(&builder, &all, &model), ERROR_INPUT, "--mmap");
	builder_deinit(&builder);
}

CASE(lies, "rows that can't be damage their chunk alone")
{
	static const struct row wrong[] = {
		{START, 1, HPW_MAPPING_MMAP, 0, 1, 0, 1},
		{START, 1, HPW_MAPPING_MMAP, 0, HPW_MAPPING_PAGES_MAX, 1, 1},
		{START, 1, HPW_MAPPING_MMAP, 0, 1, UINT64_MAX, 1},
		{START, 1, HPW_MAPPING_KINDS, 0, 1, 1, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct builder builder;
		_cleanup_model_ struct model *model = NULL;
		struct row rows[2] = {shapes[0], wrong[i]};
		make_file(&builder, 0, rows, 2, true);
		CHECK_OK(open_class(&builder, &all, &model));
		builder_deinit(&builder);
		size_t damage;
		model_damage(model, &damage);
		CHECK_U64(damage, 1);
		CHECK_U64(model_totals(model)->live_bytes, 10 * 4096);
	}
	/* A stack and a thread that nobody has named. */
	struct row odd = {START, UINT64_MAX, HPW_MAPPING_MMAP, UINT64_MAX, 7, 1, UINT64_MAX};
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	make_file(&builder, 0, &odd, 1, true);
	CHECK_OK(open_class(&builder, &all, &model));
	builder_deinit(&builder);
	CHECK_U64(model_totals(model)->live_bytes, 4096);
}

CASE(too_many, "more rows than there may be are left out, and that is said")
{
	struct row *rows = calloc(HPW_MAPPINGS_MAX + 2, sizeof(*rows));
	CHECK(rows);
	for (size_t i = 0; i < HPW_MAPPINGS_MAX + 2; i++)
		rows[i] = (struct row){START, 1, HPW_MAPPING_MMAP, 0, 5, 1, 1};
	struct builder builder;
	_cleanup_model_ struct model *model = NULL;
	make_file(&builder, 0, rows, HPW_MAPPINGS_MAX + 2, true);
	free(rows);
	CHECK_OK(open_class(&builder, &all, &model));
	builder_deinit(&builder);
	size_t damage;
	const char *const *sentences = model_damage(model, &damage);
	CHECK_U64(damage, 1);
	CHECK(strstr(sentences[0], "more than 2097152 changes of mappings"));
	CHECK_U64(model_totals(model)->live_bytes, 4096);
}

/* A sample of so many bytes of the allocator; a line of a kind that there is not. */
static void put_resident(struct builder *builder, uint64_t stamp, uint64_t bytes, uint64_t what)
{
	const uint64_t lines[][2] = {{HPW_RESIDENT_ALL, bytes}, {what, bytes}};
	struct columns c;
	columns_init(&c, HPW_RESIDENT_COLUMNS);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		buf_varint(&c.column[HPW_RESIDENT_STAMP], i ? 0 : zigzag(stamp));
		buf_varint(&c.column[HPW_RESIDENT_WHAT], lines[i][0]);
		buf_varint(&c.column[HPW_RESIDENT_BYTES], lines[i][1]);
		for (size_t k = HPW_RESIDENT_DETAIL; k < HPW_RESIDENT_NAMES; k++)
			buf_varint(&c.column[k], 0);
	}
	builder_columns(builder, HPW_RESIDENT, &c);
}

CASE(resident_lies, "a damaged sample of resident memory takes no other one away")
{
	for (size_t wrong = 0; wrong < 3; wrong++) {
		struct builder builder;
		_cleanup_model_ struct model *model = NULL;
		begin_file(&builder, 0, shapes, ARRAY_SIZE(shapes), true);
		for (size_t i = 0; i < 3; i++)
			put_resident(&builder, START + i, 4096 * (i + 1),
				i == wrong ? HPW_RESIDENT_WHATS : HPW_RESIDENT_HEAP);
		end_file(&builder);
		CHECK_OK(open_class(&builder, NULL, &model));
		builder_deinit(&builder);
		size_t damage;
		model_damage(model, &damage);
		CHECK_U64(damage, 1);
		const struct resident_sample *sample = model_resident(model);
		CHECK(sample && sample->bytes == 4096 * (wrong == 2 ? 2 : 3));
	}
}

TAP_MAIN
