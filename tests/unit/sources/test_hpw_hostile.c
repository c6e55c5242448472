/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files made to hurt: valid checksums over impossible contents, and what is no file at all. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/compress.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

static struct error *open_builder(const struct builder *builder, struct model **ret)
{
	return source_open_bytes("file", builder->file.data, builder->file.len, 0, ret);
}

/* A file of the small story's tables and one more chunk. */
static void start(struct builder *builder)
{
	builder_init(builder);
	builder_header(builder);
	builder_tables(builder, &story_small);
}

/* The file opens, and its damage has a sentence with `part`. */
static void check_damage(struct builder *builder, const char *part)
{
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_builder(builder, &model));
	size_t count;
	const char *const *damage = model_damage(model, &count);
	bool found = false;
	for (size_t i = 0; i < count; i++)
		found |= strstr(damage[i], part) != NULL;
	if (!found)
		tap_fail("no damage with \"%s\"; the first of %zu: %s", part, count,
			count ? damage[0] : "");
	CHECK(!model_recording(model)->complete);
	builder_deinit(builder);
}

/* One chunk of columns with the given varints (one each). */
static void check_columns(
	enum hpw_chunk_type type, const uint64_t *values, size_t count, const char *part)
{
	struct builder builder;
	start(&builder);
	struct columns columns;
	columns_init(&columns, count);
	for (size_t i = 0; i < count; i++)
		buf_varint(&columns.column[i], values[i]);
	struct buf payload;
	buf_init(&payload);
	columns_finish(&columns, &payload);
	builder_chunk(&builder, type, &payload);
	buf_deinit(&payload);
	check_damage(&builder, part);
}

#define HUGE_NUMBER (1ull << 60)

CASE(huge_counts, "counts of 2^60 are refused, not allocated")
{
	check_columns(HPW_STACKS, (uint64_t[]){HUGE_NUMBER, 0, 0, 0}, 4, "too many");
	check_columns(HPW_STACKS, (uint64_t[]){(1u << 24) - 1, 1, 0, 0}, 4, "jump");
	check_columns(HPW_STACKS, (uint64_t[]){7, 8, 0, 0}, 4, "impossible parent");
	check_columns(HPW_STACKS, (uint64_t[]){7, 1, HUGE_NUMBER, 0}, 4, "out of range");
	check_columns(HPW_SITES, (uint64_t[]){HUGE_NUMBER, 0, 0}, 3, "jump");
	check_columns(HPW_SITES, (uint64_t[]){(1u << 22) - 1, 0, 0}, 3, "jump");
	check_columns(
		HPW_SITES, (uint64_t[]){4, HUGE_NUMBER, 0}, 3, "call stacks of 1 allocation sites");
	check_columns(HPW_THREADS, (uint64_t[]){1, 2, 3, 4, 5, 6, 7, HUGE_NUMBER, 0, 0}, 10,
		"name is longer");
	check_columns(HPW_CODE_NAMES, (uint64_t[]){16, HUGE_NUMBER, 0}, 3, "bytes are due");
	check_columns(HPW_CODE_NAMES, (uint64_t[]){0, 0, 0}, 3, "do not ascend");
	check_columns(HPW_CODE, (uint64_t[]){HUGE_NUMBER, 1}, 2, "out of range");
	check_columns(HPW_CODE, (uint64_t[]){0, 1}, 2, "out of range");
	check_columns(
		HPW_CODE, (uint64_t[]){1, 1, 0, HUGE_NUMBER}, 4, "lines of code are too many");
	check_columns(HPW_CODE, (uint64_t[]){1, 1, 0, 0, 0, HUGE_NUMBER}, 6, "bytes are due");
	check_columns(HPW_UNRECORDED, (uint64_t[]){1, 2, 3, 5, 0}, 5, "bytes are due");
	check_columns(HPW_SITE_STATS, (uint64_t[12]){[11] = HUGE_NUMBER}, 12, "go on at");
	check_columns(HPW_UNRECORDED, (uint64_t[]){1, 2, 3, HUGE_NUMBER, 0}, 5, "a path has");
}

/* A chunk that says of `rows` processes that they went unrecorded. */
static void put_unrecorded(struct builder *builder, size_t rows)
{
	struct columns columns;
	columns_init(&columns, 2);
	for (size_t i = 0; i < rows; i++) {
		buf_varint(&columns.column[0], i);
		buf_varint(&columns.column[1], i);
	}
	builder_columns(builder, HPW_UNRECORDED, &columns);
}

CASE(unrecorded_many, "more programs without a recording than are named are refused")
{
	struct builder builder;
	start(&builder);
	put_unrecorded(&builder, HPW_UNRECORDED_MAX - 1);
	put_unrecorded(&builder, 1);
	put_unrecorded(&builder, 1);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_builder(&builder, &model));
	size_t count;
	model_unrecorded(model, &count);
	CHECK_U64(count, HPW_UNRECORDED_MAX);
	check_damage(&builder, "1001 programs that went unrecorded are too many");
}

CASE(columns_lie, "column sets that lie about their own size")
{
	const struct {
		const char *bytes;
		size_t len;
		const char *part;
	} sets[] = {
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "columns"},
		{"\x02\x00\xff\xff\xff\xff\x0f\x01\x00", 9, "longer than the chunk"},
		{"\x02\x00\x01\x00\x01\x05\x05", 7, "twice"},
		{"\x02\x01\x02\x02\x01\x01\x01\x01", 8, "differ in length"},
		{"\x01\x01\x01\x80", 4, ""},
		{"", 0, ""},
	};
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct builder builder;
		start(&builder);
		builder_chunk_raw(&builder, HPW_STACKS, 0, (uint32_t)sets[i].len,
			(uint32_t)sets[i].len, sets[i].bytes, sets[i].len);
		check_damage(&builder, sets[i].part);
	}
}

CASE(sizes_lie, "headers that lie about their payload")
{
	struct builder builder;
	start(&builder);
	builder_chunk_raw(&builder, HPW_STACKS, 0, 4, UINT32_MAX, "abcd", 4);
	check_damage(&builder, "is not allowed");
	start(&builder);
	builder_chunk_raw(&builder, HPW_STACKS, 0, 4, 5, "abcd", 4);
	check_damage(&builder, "contradict");
	start(&builder);
	builder_chunk_raw(&builder, HPW_STACKS, 0, UINT32_MAX, 4, "abcd", 4);
	check_damage(&builder, "cut off inside chunk");
	start(&builder);
	builder_chunk_raw(&builder, HPW_STACKS, 0x8000, 4, 4, "abcd", 4);
	check_damage(&builder, "unknown encoding");
	start(&builder);
	builder_chunk_raw(&builder, HPW_STACKS, HPW_CHUNK_ZSTD, 4, 64u << 20, "abcd", 4);
	check_damage(&builder, "is damaged");
	/* a frame of other than the promised size */
	struct buf packed;
	buf_init(&packed);
	CHECK_OK(zstd_compress(1, "0123456789", 10, &packed));
	for (uint32_t raw = 9; raw <= 11; raw += 2) {
		start(&builder);
		builder_chunk_raw(&builder, HPW_STACKS, HPW_CHUNK_ZSTD, (uint32_t)packed.len, raw,
			packed.data, packed.len);
		check_damage(&builder, "is damaged");
	}
	buf_deinit(&packed);
}

/* Columns of an EVENTS chunk with one slot. */
struct events {
	uint64_t meta[9];
	const char *order, *runs, *tokens, *sizes, *frees, *specials;
};

static void put_string(struct columns *columns, size_t column, const char *hex)
{
	for (; hex && hex[0] && hex[1]; hex += 2) {
		char digits[3] = {hex[0], hex[1], 0};
		buf_u8(&columns->column[column], (uint8_t)strtoul(digits, NULL, 16));
	}
}

static void put_events(struct builder *builder, const struct events *events)
{
	struct columns columns;
	columns_init(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_COLUMNS);
	for (size_t i = 0; i < 9; i++)
		buf_varint(&columns.column[HPW_EV_META], events->meta[i]);
	put_string(&columns, HPW_EV_ORDER, events->order);
	buf_u8(&columns.column[HPW_EV_TIME], 0);
	put_string(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_RUNS, events->runs);
	put_string(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_TOKENS, events->tokens);
	put_string(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_SIZES, events->sizes);
	put_string(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_FREES, events->frees);
	put_string(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_SPECIALS, events->specials);
	struct buf payload;
	buf_init(&payload);
	columns_finish(&columns, &payload);
	builder_chunk(builder, HPW_EVENTS, &payload);
	buf_deinit(&payload);
}

CASE(events, "chunks of events that make no sense")
{
	static const struct {
		struct events events;
		const char *part;
	} chunks[] = {
		/* steps, slots, tokens beyond reason */
		{{{0, HUGE_NUMBER, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "03", "01", "", ""},
			"impossible"},
		{{{0, 1, 0, 0, 0, HUGE_NUMBER, 0, 0, 1}, "0000", "0000", "03", "01", "", ""},
			"impossible"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, HUGE_NUMBER}, "0000", "0000", "04", "01", "", ""},
			"more steps"},
		{{{UINT64_MAX, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "04", "01", "", ""},
			"impossible"},
		{{{0, 1, 0, 0, 0, 1, HUGE_NUMBER, 0, 1}, "0000", "0000", "04", "01", "", ""},
			"impossible"},
		{{{0, 1, 0, 0, 0, 1, 1u << 30, 0, 1}, "0000", "0000", "04", "01", "", ""},
			"out of range"},
		{{{0, 1, 0, 0, 0, 1, 0, UINT64_MAX, 1}, "0000", "0000", "04", "01", "", ""},
			"impossible"},
		{{{0, 1, 0, 0, 0, 1, 0, HUGE_NUMBER, 1}, "0000", "0000", "04", "01", "", ""},
			"invalid block number"},
		/* order: a slot that is not there, more steps than there are, too short */
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0100", "0000", "04", "01", "", ""}, "order"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0001", "0000", "04", "01", "", ""}, "order"},
		{{{0, 2, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "04", "01", "", ""}, "order"},
		{{{0, 2, 0, 0, 0, 1, 0, 0, 1}, "0001", "0000", "04", "01", "", ""}, "fewer"},
		/* predicted from nothing, no size, a site beyond all, columns too short */
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "01", "", "", ""}, "predicted"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "03", "", "", ""}, "no size"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "ffffffff7f", "", "", ""},
			"out of range"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "04", "", "", ""}, "sizes"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "", "", "", ""}, "tokens"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "00", "04", "01", "", ""}, "runs"},
		/* frees: of the future, without reference, by a thread that has none left */
		{{{0, 1, 0, 0, 0, 1, 0, 0, 0}, "0000", "01", "", "", "04", ""}, "impossible block"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 0}, "0000", "01", "", "", "", ""}, "frees"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 0}, "0000", "01", "", "", "01", ""}, "frees"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 0}, "0000", "02", "", "", "0000", ""}, "more steps"},
		/* specials: unknown, cut, a mark longer than everything */
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "00", "", "", "63"},
			"unknown special"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "00", "", "", ""}, ""},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "00", "", "00", "0109"},
			"unknown free kind"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "00", "", "", "02ff"}, "specials"},
		{{{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "00", "", "", "05ffffffff7f"}, ""},
	};
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		struct builder builder;
		start(&builder);
		put_events(&builder, &chunks[i].events);
		check_damage(&builder, chunks[i].part);
	}
}

CASE(repeated, "a chunk of events that comes twice counts once")
{
	static const struct events once = {
		{0, 1, 0, 0, 0, 1, 0, 0, 1}, "0000", "0000", "04", "64", "", ""};
	struct builder builder;
	start(&builder);
	put_events(&builder, &once);
	put_events(&builder, &once);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_builder(&builder, &model));
	CHECK_U64(model_totals(model)->allocations, 1);
	CHECK_U64(model_totals(model)->live_bytes, 100);
	check_damage(&builder, "there before");
}

CASE(foreign_block, "a free of another thread's block that never was")
{
	static const struct events free_it = {
		{0, 1, 0, 0, 0, 1, 0, 0, 0}, "0000", "01", "", "", "fdffffffffff0105", ""};
	struct builder builder;
	start(&builder);
	put_events(&builder, &free_it);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_builder(&builder, &model));
	CHECK_U64(model_totals(model)->frees, model_recording(model)->unknown_frees);
	builder_deinit(&builder);
}

/* Opens a file whose index has the given rows of (offset difference, type). */
static void check_index(const uint64_t (*rows)[2], size_t count, const char *part)
{
	struct builder builder;
	struct story_truth truth;
	start(&builder);
	builder_events(&builder, &story_small, &truth);
	builder_footer(&builder, &story_small, &truth);
	struct columns columns;
	columns_init(&columns, 2);
	for (size_t i = 0; i < count; i++) {
		buf_varint(&columns.column[0], rows[i][0]);
		buf_varint(&columns.column[1], rows[i][1]);
	}
	struct buf payload;
	buf_init(&payload);
	columns_finish(&columns, &payload);
	builder_index_raw(&builder, &payload);
	buf_deinit(&payload);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_builder(&builder, &model));
	CHECK_U64(model_totals(model)->allocations, truth.allocations);
	check_damage(&builder, part);
}

CASE(indexes, "an index that overlaps, leaves the file, or has nothing to do with it")
{
	check_index((uint64_t[][2]){{32, 1}, {0, 1}}, 2, "the index is damaged");
	check_index((uint64_t[][2]){{32, 1}, {31, 1}}, 2, "the index is damaged");
	check_index((uint64_t[][2]){{0, 1}}, 1, "the index is damaged");
	check_index((uint64_t[][2]){{UINT64_MAX, 1}}, 1, "the index is damaged");
	check_index((uint64_t[][2]){{32, 1}, {UINT64_MAX - 16, 1}}, 2, "the index is damaged");
	check_index((uint64_t[][2]){{HUGE_NUMBER, 1}}, 1, "the index is damaged");
	check_index((uint64_t[][2]){{32, HUGE_NUMBER}}, 1, "the index is damaged");
}

CASE(index_of_itself, "a trailer that points at itself, at the header, at an event, beyond")
{
	for (int i = 0; i < 5; i++) {
		struct builder builder;
		struct story_truth truth;
		start(&builder);
		builder_events(&builder, &story_small, &truth);
		builder_footer(&builder, &story_small, &truth);
		const uint64_t places[] = {builder.file.len, 0, builder.offsets[4],
			builder.file.len + HUGE_NUMBER, UINT64_MAX};
		builder_trailer(&builder, places[i]);
		_cleanup_model_ struct model *model = NULL;
		CHECK_OK(open_builder(&builder, &model));
		CHECK_U64(model_totals(model)->allocations, truth.allocations);
		CHECK(!model_recording(model)->complete);
		builder_deinit(&builder);
	}
}

/* An address space too small for what the file claims; a sanitizer maps terabytes for itself. */
static void limit_memory(rlim_t bytes)
{
	const struct rlimit limit = {bytes, bytes};
	CHECK(TAP_SANITIZED || !setrlimit(RLIMIT_AS, &limit));
}

CASE(bomb, "a few kilobytes that unpack to millions of live blocks stay within bounds")
{
	limit_memory(3ull << 30);
	struct builder builder;
	start(&builder);
	builder.packed = true;
	const uint64_t steps = HPW_STEPS_MAX;
	for (uint64_t chunk = 0; chunk < 24; chunk++) {
		struct columns columns;
		columns_init(&columns, HPW_EV_FIRST_SLOT + HPW_SLOT_COLUMNS);
		const uint64_t meta[9] = {
			chunk * steps, steps, 0, 0, 0, 1, 0, chunk * steps, steps};
		for (size_t i = 0; i < 9; i++)
			buf_varint(&columns.column[HPW_EV_META], meta[i]);
		buf_varint(&columns.column[HPW_EV_ORDER], 0);
		buf_varint(&columns.column[HPW_EV_ORDER], steps - 1);
		struct buf *slot = &columns.column[HPW_EV_FIRST_SLOT];
		for (uint64_t i = 0; i < steps; i++)
			buf_u8(&slot[HPW_SLOT_TOKENS], i ? HPW_TOKEN_SITE : HPW_TOKEN_SITE + 1);
		for (uint64_t i = 0; i <= steps; i++)
			buf_u8(&slot[HPW_SLOT_RUNS], 0);
		for (uint64_t i = 0; i < steps / HPW_TIME_STEP; i++)
			buf_u8(&columns.column[HPW_EV_TIME], 1);
		buf_u8(&slot[HPW_SLOT_SIZES], 8);
		struct buf payload;
		buf_init(&payload);
		columns_finish(&columns, &payload);
		builder_chunk(&builder, HPW_EVENTS, &payload);
		buf_deinit(&payload);
	}
	CHECK(builder.file.len < 64 << 10);
	check_damage(&builder, "too many for a file of this size");
}

/* A file of the given bytes in a fresh folder; gives its path. */
static const char *temporary(const void *data, size_t len)
{
	static char path[] = "/tmp/heapwise-test-XXXXXX";
	_cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_U64(write(fd, data, len), len);
	return path;
}

static void check_foreign(const void *data, size_t len, const char *part)
{
	struct model *model;
	CHECK_ERROR(source_open_bytes("file", data, len, 0, &model), ERROR_INPUT, part);
}

CASE(foreign, "what is no recording")
{
	check_foreign("", 0, "is empty");
	check_foreign("x", 1, "unrecognised file format");
	check_foreign("H", 1, "nothing can be read");
	check_foreign("\x7f"
		      "ELF\x02\x01\x01",
		7, "an ELF file");
	check_foreign("\x1f\x8b\x08\x00\x00\x00", 6, "is cut off");
	check_foreign("#!/bin/sh\n", 10, "a script");
	static const uint8_t zeros[4096];
	check_foreign(zeros, sizeof(zeros), "unrecognised file format");
	struct builder builder;
	builder_init(&builder);
	builder_header(&builder);
	check_foreign(builder.file.data, builder.file.len, "is an unreadable recording");
	builder_deinit(&builder);
}

static void check_version(size_t at, uint8_t value, const char *part)
{
	struct builder builder;
	start(&builder);
	builder.file.data[at] = value;
	uint64_t sum = checksum64(builder.file.data, 24);
	memcpy(builder.file.data + 24, &sum, sizeof(sum));
	struct model *model;
	CHECK_ERROR(open_builder(&builder, &model), ERROR_INPUT, part);
	builder_deinit(&builder);
}

CASE(newer, "a newer format is refused with what to do")
{
	check_version(8, 2, "use a newer heapwise");
	check_version(12, 16, "needs features of a newer heapwise (0x10); use the version");
	check_version(12, 31, "needs features of a newer heapwise (0x10)");
	check_version(15, 0x80, "needs features of a newer heapwise");
}

CASE(newer_minor, "a newer minor version with unknown chunks, keys and columns is read")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_header(&builder);
	builder_tables(&builder, &story_small);
	builder_chunk_raw(&builder, 77, 0, 3, 3, "new", 3);
	builder_events(&builder, &story_small, &truth);
	builder_footer(&builder, &story_small, &truth);
	builder_index(&builder);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(open_builder(&builder, &model));
	CHECK(model_recording(model)->complete);
	CHECK_U64(model_totals(model)->allocations, truth.allocations);
	builder_deinit(&builder);
}

CASE(no_file, "what cannot be opened or is no regular file")
{
	struct model *model;
	CHECK_ERROR(source_open("/nonexistent/file.hpw", &model), ERROR_INPUT, "No such file");
	CHECK_ERROR(source_open("/tmp", &model), ERROR_INPUT, "other commands take DIR/*.hpw");
	CHECK_ERROR(source_open("/dev/zero", &model), ERROR_INPUT, "is a device");
	CHECK_ERROR(source_open("/dev/null", &model), ERROR_INPUT, "is a device");
	const char *path = temporary("", 0);
	CHECK_ERROR(source_open(path, &model), ERROR_INPUT, "is empty");
	CHECK(!unlink(path));
	CHECK(!mkfifo(path, 0600));
	CHECK_ERROR(source_open(path, &model), ERROR_INPUT, "is a pipe");
	CHECK(!unlink(path));
}

CASE(unreadable, "a file without permission")
{
	if (geteuid() == 0)
		SKIP("root may read everything");
	const char *path = temporary("HEAPWISE", 8);
	CHECK(!chmod(path, 0));
	struct model *model;
	CHECK_ERROR(source_open(path, &model), ERROR_INPUT, "Permission denied");
	CHECK(!unlink(path));
}

TAP_MAIN
