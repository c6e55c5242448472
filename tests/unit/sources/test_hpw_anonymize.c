/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings that are written again without names: damaged ones too, and such as leave columns out.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/hpw_stories.h"
#include "lib/tap.h"
#include "sources/anonymize.h"
#include "sources/hpw_anonymize.h"
#include "sources/source.h"

/* A whole recording but for its index. */
static void start(struct builder *builder, uint32_t features)
{
	struct story_truth truth;
	struct story story = story_leaks;
	story.leaks = NULL;
	builder_init(builder);
	builder->features = features;
	builder_header(builder);
	builder_tables(builder, &story);
	builder_events(builder, &story, &truth);
	builder_footer(builder, &story, &truth);
}

static struct error *keep_chunk(void *context, unsigned type, const struct buf *payload)
{
	struct builder *to = context;
	builder_chunk(to, (enum hpw_chunk_type)type, payload);
	return NULL;
}

/* Writes the file again, as *ret. */
static void write_again(struct builder *builder, struct builder *ret)
{
	builder_index(builder);
	char path[] = "/tmp/hpw-anonymize-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	size_t len = builder->file.len;
	CHECK(fd >= 0 && write(fd, builder->file.data, len) == (ssize_t)len);
	const struct source_place place = {.path = path, .name = "file"};
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(anonymizer_cleanup) struct anonymizer *anonymizer = NULL;
	CHECK_OK(source_open_bytes("file", builder->file.data, len, 0, &model));
	CHECK_OK(anonymizer_create(&anonymizer));
	CHECK_OK(anonymizer_model(anonymizer, model));
	const struct hpw_chunk_sink sink = {keep_chunk, ret};
	builder_init(ret);
	ret->features = builder->features;
	builder_header(ret);
	CHECK_OK(hpw_anonymize(&place, anonymizer, model, &sink));
	CHECK(!unlink(path));
}

static size_t count_chunks(const struct builder *builder, enum hpw_chunk_type type)
{
	size_t count = 0;
	for (size_t i = 0; i < builder->chunks; i++)
		count += builder->types[i] == type;
	return count;
}

CASE(damaged_search, "a leak search that makes no sense is written again, without its sentence")
{
	static const uint64_t keys[][2] = {{HPW_LEAK_MOMENT, 99}, {HPW_LEAK_PROBLEM, 6}};
	struct builder builder, again;
	struct buf payload;
	start(&builder, 0);
	buf_init(&payload);
	for (size_t i = 0; i < 2; i++) {
		buf_varint(&payload, keys[i][0]);
		buf_varint(&payload, keys[i][1]);
	}
	buf_bytes(&payload, "secret", 6);
	builder_chunk(&builder, HPW_LEAK_SEARCH, &payload);
	buf_deinit(&payload);
	write_again(&builder, &again);
	CHECK_U64(count_chunks(&again, HPW_LEAK_SEARCH), 1);
	CHECK(!memmem(again.file.data, again.file.len, "secret", 6));
	builder_deinit(&again);
	builder_deinit(&builder);
}

CASE(without_kinds, "code without a column of kinds keeps its rows, under other names")
{
	struct builder builder, again;
	struct columns columns;
	start(&builder, HPW_FEATURE_CODE);
	columns_init(&columns, HPW_CODE_COLUMNS);
	columns.absent = 1u << HPW_CODE_KIND;
	buf_varint(&columns.column[HPW_CODE_FIRST], 1);
	for (unsigned i = 0; i < 2; i++) {
		buf_varint(&columns.column[HPW_CODE_FIRST_LINE], 77);
		buf_varint(&columns.column[HPW_CODE_NAME], 6);
		buf_bytes(&columns.column[HPW_CODE_NAME + HPW_CODE_TEXTS], "secret", 6);
	}
	for (unsigned i = 0; i < HPW_CODE_COLUMNS; i++)
		columns.absent |= columns.column[i].len ? 0 : 1u << i;
	builder_columns(&builder, HPW_CODE, &columns);
	write_again(&builder, &again);
	CHECK_U64(count_chunks(&again, HPW_CODE), 1);
	CHECK(!memmem(again.file.data, again.file.len, "secret", 6));
	_cleanup_(model_cleanup) struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", again.file.data, again.file.len, 0, &model));
	for (uint32_t i = 1; i <= 2; i++) {
		const struct code *code = model_code(model, (struct code_id){i});
		CHECK(code && code->name && code->first_line == 77 && code->kind == FRAME_NAME);
	}
	builder_deinit(&again);
	builder_deinit(&builder);
}

TAP_MAIN
