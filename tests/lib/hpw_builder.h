/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording's file, chunk by chunk, straight from FORMAT.md and without a line of what heapwise
 * writes or reads them with: a misunderstanding has to happen twice to go unnoticed. What goes into
 * the chunks, true or not, is up to the caller; hpw_story.h makes it from a table of steps.
 */
#ifndef TESTS_LIB_HPW_BUILDER_H
#define TESTS_LIB_HPW_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/text.h"
#include "format/hpw.h"

#define BUILDER_THREADS_MAX 16u
#define BUILDER_CHUNKS_MAX 4096u
#define BUILDER_COLUMNS_MAX (HPW_EV_FIRST_SLOT + HPW_SLOT_COLUMNS * BUILDER_THREADS_MAX)

/* A file in the making. */
struct builder {
	struct buf file;
	bool packed;       /* payloads as zstd frames */
	uint32_t features; /* for the header */
	uint64_t offsets[BUILDER_CHUNKS_MAX];
	uint16_t types[BUILDER_CHUNKS_MAX];
	size_t chunks;
};

/* Tests do not go on without memory: aborts unless the condition holds. */
void builder_must(bool condition);

void builder_init(struct builder *builder);
void builder_deinit(struct builder *builder);

void builder_header(struct builder *builder);
/* Adds a chunk and remembers it for the index. */
void builder_chunk(struct builder *builder, enum hpw_chunk_type type, const struct buf *payload);
/* As builder_chunk, with headers that may lie. */
void builder_chunk_raw(struct builder *builder, uint16_t type, uint16_t flags,
	uint32_t stored_bytes, uint32_t raw_bytes, const void *payload, size_t len);
void builder_index(struct builder *builder);
/* The index chunk with a payload of one's own, and the trailer. */
void builder_index_raw(struct builder *builder, const struct buf *payload);
void builder_trailer(struct builder *builder, uint64_t index_offset);

/* Columns being filled; numbered by place. */
struct columns {
	struct buf column[BUILDER_COLUMNS_MAX];
	size_t count;
	uint32_t absent; /* bits 1 << column: it is left out */
};

void columns_init(struct columns *columns, size_t count);
/* The column set into *ret; empties the columns. */
void columns_finish(struct columns *columns, struct buf *ret);
/* The column set as one chunk; empties the columns. */
void builder_columns(struct builder *builder, enum hpw_chunk_type type, struct columns *columns);

/* An unpacked file in hex, each part on a line of its own with its meaning. */
void builder_listing(const struct buf *file, struct text *ret);

#endif
