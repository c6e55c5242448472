/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of processes that have no recording: whole, cut off, too large and too many. */
#include "base/cleanup.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/recording/hpw_small.h"
#include "sources/recording/hpw_target.h"
#include "sources/source.h"

#define _cleanup_model_ _cleanup_(model_cleanup) __attribute__((unused))

/* Decodes so many bytes, which stand at the end of their memory. */
static struct error *decode(const struct buf *rows, size_t len, struct model **ret)
{
	_cleanup_free_ uint8_t *copy = malloc(len ? len : 1);
	CHECK(copy);
	if (len)
		memcpy(copy, rows->data, len);
	CHECK_OK(build_create(ret));
	return hpw_small_decode(*ret, &(struct hpw_payload){.data = copy, .len = len});
}

/* All of it is refused with the words. */
static void check_refused(struct buf *rows, const char *part)
{
	_cleanup_model_ struct model *model = NULL;
	struct error *error = decode(rows, rows->len, &model);
	CHECK(error && error->code == ERROR_INPUT);
	if (!strstr(error->message, part))
		tap_fail("no \"%s\" in: %s", part, error->message);
	error_destroy(error);
	buf_deinit(rows);
}

static const char *const arguments[] = {"/bin/true", "a", "b c", NULL};
static const struct story_small_row row = {
	.pid = 77, .ppid = 7, .arguments = arguments, .allocations = 5, .allocated_bytes = 1000};

CASE(whole, "rows are in a recording's model, with commands and figures")
{
	struct builder builder;
	struct story_truth truth;
	builder_init(&builder);
	builder_story(&builder, &story_rows, &truth);
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", builder.file.data, builder.file.len, 0, &model));
	builder_deinit(&builder);
	CHECK(model_recording(model)->complete);
	size_t count;
	const struct small_process *rows = model_small(model, &count);
	CHECK_U64(count, 2);
	CHECK_U64(rows[0].target.pid, 4721);
	CHECK_U64(rows[0].target.outer_pid, 4721);
	CHECK_U64(rows[0].target.ppid, 4711);
	CHECK_STR(rows[0].command, "/bin/true of caf\xc3\xa9");
	CHECK_U64(rows[0].totals.allocations, 3);
	CHECK_U64(rows[0].totals.allocated_bytes, 1025);
	CHECK_U64(rows[0].target.exit_kind, EXIT_KIND_STATUS);
	CHECK_STR(rows[1].command, "");
}

CASE(cut, "cut at every byte, rows before it are there")
{
	struct buf rows;
	buf_init(&rows);
	builder_small_row(&rows, &row);
	size_t one = rows.len;
	builder_small_row(&rows, &row);
	for (size_t len = 0; len <= rows.len; len++) {
		_cleanup_model_ struct model *model = NULL;
		struct error *error = decode(&rows, len, &model);
		CHECK_U64(!error, len % one == 0);
		error_destroy(error);
		size_t count;
		model_small(model, &count);
		CHECK_U64(count, len / one);
	}
	buf_deinit(&rows);
}

CASE(nameless, "a row without its command is the same process with the same figures")
{
	struct buf rows, kept;
	buf_init(&rows);
	buf_init(&kept);
	builder_small_row(&rows, &row);
	struct cursor cursor;
	cursor_init(&cursor, "rows", rows.data, rows.len, 0);
	CHECK_OK(hpw_small_nameless(&cursor, &kept));
	CHECK(!memmem(kept.data, kept.len, "true", 4));
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(decode(&kept, kept.len, &model));
	size_t count;
	const struct small_process *small = model_small(model, &count);
	CHECK_U64(count, 1);
	CHECK_U64(small->target.pid, 77);
	CHECK_U64(small->totals.allocations, 5);
	CHECK_STR(small->command, "");
	buf_deinit(&rows);
	buf_deinit(&kept);
}

CASE(impossible, "parts that are too large, and rows of nobody, are refused")
{
	struct buf rows;
	buf_init(&rows);
	buf_varint(&rows, HPW_SMALL_PART_MAX + 1);
	for (size_t i = 0; i <= HPW_SMALL_PART_MAX; i++)
		buf_u8(&rows, 0);
	check_refused(&rows, "too large");
	buf_init(&rows);
	buf_varint(&rows, UINT64_MAX);
	check_refused(&rows, "too large");
	buf_init(&rows);
	buf_varint(&rows, 0);
	buf_varint(&rows, 0);
	check_refused(&rows, "of no process");
}

CASE(long_command, "of a long command the beginning is kept")
{
	static char longest[60000];
	memset(longest, 'x', sizeof(longest) - 1);
	const char *const command[] = {"first", longest, "last", NULL};
	struct buf rows;
	buf_init(&rows);
	builder_small_row(&rows, &(struct story_small_row){.pid = 1, .arguments = command});
	_cleanup_model_ struct model *model = NULL;
	CHECK_OK(decode(&rows, rows.len, &model));
	size_t count;
	const struct small_process *small = model_small(model, &count);
	CHECK_U64(count, 1);
	CHECK_U64(strlen(small->command), 4096 + 3);
	CHECK(!strncmp(small->command, "first xxx", 9));
	CHECK_STR(small->command + 4090, "xxxxxx...");
	buf_deinit(&rows);
}

CASE(many, "rows that need more memory than a quarter of a gigabyte are refused")
{
	struct buf rows;
	buf_init(&rows);
	const struct story_small_row least = {.pid = 1, .arguments = arguments + 3};
	for (size_t i = 0; i <= BUILD_SMALL_BYTES_MAX / sizeof(struct small_process); i++)
		builder_small_row(&rows, &least);
	check_refused(&rows, "need too much memory");
}

TAP_MAIN
