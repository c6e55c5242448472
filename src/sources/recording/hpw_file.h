/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as a list of chunks, and the bytes in them. Two roads to the list:
 *
 *     trailer ─▶ INDEX ─▶ list          closed properly; the events in between are never touched
 *     header ─▶ chunk ─▶ chunk ─▶ …     cut or damaged; over damaged headers by searching for the
 *                                       next one whose checksum holds
 *
 * Nothing that is asked of memory here is larger than the file or HPW_CHUNK_RAW_MAX.
 */
#ifndef SOURCES_HPW_FILE_H
#define SOURCES_HPW_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "format/hpw.h"
#include "sources/recording/hpw_damage.h"
#include "sources/recording/input.h"

struct hpw_chunk {
	uint64_t offset; /* of its header */
	uint64_t limit;  /* its payload ends here at the latest */
	uint16_t type;
};
DEFINE_VEC(hpw_chunk_vec, struct hpw_chunk)

struct hpw_file {
	const struct input *input; /* borrowed */
	struct hpw_chunk_vec chunks;
	bool closed;       /* the list came from the index */
	bool checkpoint;   /* what is in for the footer is a checkpoint of before the end */
	uint32_t features; /* enum hpw_feature, or'ed; 0 if the header is damaged */
};

/* Bytes of a chunk, unpacked. */
struct hpw_payload {
	uint8_t *data;
	size_t len;
	uint64_t offset; /* of the chunk in the file */
};

/*
 * Lists the chunks. Refuses what is no recording or a newer one's; damage becomes sentences.
 * `file` is zero before; hpw_file_deinit it in any case.
 */
struct error *hpw_file_open(
	struct hpw_file *file, const struct input *input, struct hpw_damage *damage);
void hpw_file_deinit(struct hpw_file *file);

/*
 * Reads, verifies and unpacks one chunk. ERROR_INPUT if it is damaged; the message says how,
 * without saying which chunk.
 */
struct error *hpw_file_payload(
	const struct hpw_file *file, const struct hpw_chunk *chunk, struct hpw_payload *ret);
void hpw_payload_deinit(struct hpw_payload *payload);

/* Finds the first chunk header from `from` on that lies before `to`; `to` if there is none. */
struct error *hpw_file_find_chunk(
	const struct input *input, uint64_t from, uint64_t to, uint64_t *ret);

/* A cursor over all of a payload. */
static inline struct cursor hpw_payload_cursor(const struct hpw_payload *payload)
{
	struct cursor cursor;
	cursor_init(&cursor, "payload", payload->data, payload->len, 0);
	return cursor;
}

/* True if the bytes at offset are a chunk header whose checksum holds. */
struct error *hpw_file_has_chunk(
	const struct input *input, uint64_t offset, struct hpw_chunk_header *header, bool *ret);

#endif
