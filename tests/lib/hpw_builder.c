/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/hpw_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/compress.h"

void builder_must(bool condition)
{
	if (!condition)
		abort();
}

void builder_init(struct builder *builder)
{
	memset(builder, 0, sizeof(*builder));
	buf_init(&builder->file);
}

void builder_deinit(struct builder *builder)
{
	buf_deinit(&builder->file);
}

void builder_header(struct builder *builder)
{
	struct buf *file = &builder->file;
	size_t start = file->len;
	buf_bytes(file, HPW_MAGIC, 8);
	buf_u16(file, HPW_VERSION_MAJOR);
	/* Files with native frames alone are as version 1.0 had them. */
	/* The first version that had them. */
	buf_u16(file, builder->features & HPW_FEATURE_NO_HEAP ? 2
		      : builder->features & HPW_FEATURE_CODE  ? 1
							      : 0);
	buf_u32(file, builder->features);
	buf_u64(file, 0);
	buf_u64(file, checksum64(file->data + start, 24));
}

void builder_chunk_raw(struct builder *builder, uint16_t type, uint16_t flags,
	uint32_t stored_bytes, uint32_t raw_bytes, const void *payload, size_t len)
{
	struct buf *file = &builder->file;
	size_t start = file->len;
	if (type != HPW_INDEX) {
		builder_must(builder->chunks < BUILDER_CHUNKS_MAX);
		builder->offsets[builder->chunks] = start;
		builder->types[builder->chunks++] = type;
	}
	buf_u32(file, HPW_CHUNK_MAGIC);
	buf_u16(file, type);
	buf_u16(file, flags);
	buf_u32(file, stored_bytes);
	buf_u32(file, raw_bytes);
	buf_u64(file, checksum64(payload, len));
	buf_u64(file, checksum64(file->data + start, 24));
	buf_bytes(file, payload, len);
	builder_must(!file->failed);
}

void builder_chunk(struct builder *builder, enum hpw_chunk_type type, const struct buf *payload)
{
	if (!builder->packed) {
		builder_chunk_raw(builder, type, 0, (uint32_t)payload->len, (uint32_t)payload->len,
			payload->data, payload->len);
		return;
	}
	struct buf packed;
	buf_init(&packed);
	builder_must(!zstd_compress(3, payload->data, payload->len, &packed));
	builder_chunk_raw(builder, type, HPW_CHUNK_ZSTD, (uint32_t)packed.len,
		(uint32_t)payload->len, packed.data, packed.len);
	buf_deinit(&packed);
}

void builder_trailer(struct builder *builder, uint64_t index_offset)
{
	struct buf *file = &builder->file;
	size_t start = file->len;
	buf_u64(file, index_offset);
	buf_u64(file, checksum64(file->data + start, 8));
	buf_bytes(file, HPW_TRAILER_MAGIC, 8);
	builder_must(!file->failed);
}

void builder_index_raw(struct builder *builder, const struct buf *payload)
{
	uint64_t offset = builder->file.len;
	builder_chunk(builder, HPW_INDEX, payload);
	builder_trailer(builder, offset);
}

void builder_index(struct builder *builder)
{
	struct columns columns;
	columns_init(&columns, 2);
	uint64_t before = 0;
	for (size_t i = 0; i < builder->chunks; i++) {
		buf_varint(&columns.column[0], builder->offsets[i] - before);
		buf_varint(&columns.column[1], builder->types[i]);
		before = builder->offsets[i];
	}
	struct buf payload;
	buf_init(&payload);
	columns_finish(&columns, &payload);
	builder_index_raw(builder, &payload);
	buf_deinit(&payload);
}

void columns_init(struct columns *columns, size_t count)
{
	builder_must(count <= BUILDER_COLUMNS_MAX);
	columns->count = count;
	columns->absent = 0;
	for (size_t i = 0; i < count; i++)
		buf_init(&columns->column[i]);
}

void columns_finish(struct columns *columns, struct buf *ret)
{
	buf_varint(ret, columns->count - (size_t)__builtin_popcount(columns->absent));
	for (size_t i = 0; i < columns->count; i++) {
		if (i < 32 && columns->absent >> i & 1)
			continue;
		buf_varint(ret, i);
		buf_varint(ret, columns->column[i].len);
	}
	for (size_t i = 0; i < columns->count; i++) {
		builder_must(!columns->column[i].failed);
		if (i >= 32 || !(columns->absent >> i & 1))
			buf_bytes(ret, columns->column[i].data, columns->column[i].len);
		buf_deinit(&columns->column[i]);
	}
}

void builder_columns(struct builder *builder, enum hpw_chunk_type type, struct columns *columns)
{
	struct buf payload;
	buf_init(&payload);
	columns_finish(columns, &payload);
	builder_chunk(builder, type, &payload);
	buf_deinit(&payload);
}
