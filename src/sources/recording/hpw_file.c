/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_file.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/compress.h"
#include "sources/events/hpw_columns.h"

#define HEADER_BYTES sizeof(struct hpw_header)
#define CHUNK_BYTES sizeof(struct hpw_chunk_header)
#define TRAILER_BYTES sizeof(struct hpw_trailer)
#define SEARCH_BYTES (64u << 10)

static bool chunk_header_parse(const uint8_t *bytes, struct hpw_chunk_header *ret)
{
	struct hpw_chunk_header header;
	memcpy(&header, bytes, sizeof(header));
	header.magic = le32toh(header.magic);
	header.type = le16toh(header.type);
	header.flags = le16toh(header.flags);
	header.stored_bytes = le32toh(header.stored_bytes);
	header.raw_bytes = le32toh(header.raw_bytes);
	header.payload_checksum = le64toh(header.payload_checksum);
	header.header_checksum = le64toh(header.header_checksum);
	*ret = header;
	return header.magic == HPW_CHUNK_MAGIC &&
	       header.header_checksum ==
		       checksum64(bytes, offsetof(struct hpw_chunk_header, header_checksum));
}

struct error *hpw_file_has_chunk(
	const struct input *input, uint64_t offset, struct hpw_chunk_header *header, bool *ret)
{
	uint8_t bytes[CHUNK_BYTES];
	if (offset > input->bytes || input->bytes - offset < sizeof(bytes)) {
		*ret = false;
		return NULL;
	}
	struct error *error = input->read(input, offset, bytes, sizeof(bytes));
	if (!error)
		*ret = chunk_header_parse(bytes, header);
	return error;
}

struct error *hpw_file_find_chunk(
	const struct input *input, uint64_t from, uint64_t to, uint64_t *ret)
{
	_cleanup_free_ uint8_t *window = malloc(SEARCH_BYTES);
	if (!window)
		return error_no_memory();
	while (to - from >= CHUNK_BYTES) {
		uint64_t left = to - from;
		size_t len = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
		struct error *error = input->read(input, from, window, len);
		if (error)
			return error;
		const uint8_t *at = window, *end = window + len;
		static const char magic[4] = {'h', 'w', 'c', 'k'};
		while ((at = memmem(at, (size_t)(end - at), magic, sizeof(magic)))) {
			struct hpw_chunk_header header;
			if ((size_t)(end - at) < CHUNK_BYTES)
				break;
			if (chunk_header_parse(at, &header)) {
				*ret = from + (uint64_t)(at - window);
				return NULL;
			}
			at++;
		}
		from += len - (CHUNK_BYTES - 1);
	}
	*ret = to;
	return NULL;
}

static struct error *hpw_file_read_header(struct hpw_file *file, struct hpw_damage *damage)
{
	const struct input *input = file->input;
	uint8_t bytes[HEADER_BYTES];
	if (input->bytes < sizeof(bytes))
		return error_create(ERROR_INPUT,
			"%s: is cut off inside the recording's header: nothing can be read",
			input->name);
	struct error *error = input->read(input, 0, bytes, sizeof(bytes));
	if (error)
		return error;
	struct hpw_header header;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.magic, HPW_MAGIC, sizeof(header.magic)) ||
		le64toh(header.checksum) !=
			checksum64(bytes, offsetof(struct hpw_header, checksum)))
		return hpw_damage_add(damage, "the recording's header is damaged");
	uint16_t major = le16toh(header.version_major);
	if (major > HPW_VERSION_MAJOR)
		return error_create(ERROR_INPUT,
			"%s: uses recording format version %u, but this heapwise reads only up to "
			"%u; use a newer heapwise",
			input->name, major, HPW_VERSION_MAJOR);
	file->features = le32toh(header.required_features);
	if (file->features & ~HPW_FEATURES_KNOWN)
		return error_create(ERROR_INPUT,
			"%s: needs features of a newer heapwise (0x%" PRIx32
			"); use the version that recorded it",
			input->name, file->features & ~HPW_FEATURES_KNOWN);
	return NULL;
}

/* Rows of a checked INDEX: ascending places with room for a header, the last before the index. */
static struct error *list_from_index(
	struct hpw_file *file, const struct hpw_payload *payload, uint64_t index_offset)
{
	struct hpw_column columns[2];
	size_t rows;
	struct error *error = hpw_columns_open(payload, columns, 2);
	if (!error)
		error = hpw_columns_rows(columns, 2, 3u, &rows);
	uint64_t end = HEADER_BYTES, offset = 0;
	for (size_t i = 0; !error && i < rows; i++) {
		uint64_t step, type;
		error = hpw_column_next(&columns[0], &step);
		if (!error)
			error = hpw_column_next(&columns[1], &type);
		if (error)
			break;
		if (step > index_offset - offset || offset + step < end ||
			index_offset - (offset + step) < CHUNK_BYTES || type > UINT16_MAX)
			return error_create(ERROR_INPUT, "entry %zu is impossible", i);
		offset += step;
		end = offset + CHUNK_BYTES;
		if (file->chunks.len)
			file->chunks.data[file->chunks.len - 1].limit = offset;
		struct hpw_chunk chunk = {offset, index_offset, (uint16_t)type};
		if (!hpw_chunk_vec_push(&file->chunks, chunk))
			return error_no_memory();
	}
	return error;
}

/* True if the trailer is there, whole, and points at something before itself. */
static struct error *read_trailer(const struct input *input, uint64_t *ret_index, bool *ret)
{
	uint8_t bytes[TRAILER_BYTES];
	*ret = false;
	if (input->bytes < HEADER_BYTES + CHUNK_BYTES + sizeof(bytes))
		return NULL;
	struct error *error =
		input->read(input, input->bytes - sizeof(bytes), bytes, sizeof(bytes));
	if (error)
		return error;
	struct hpw_trailer trailer;
	memcpy(&trailer, bytes, sizeof(trailer));
	*ret_index = le64toh(trailer.index_offset);
	*ret = !memcmp(trailer.magic, HPW_TRAILER_MAGIC, sizeof(trailer.magic)) &&
	       le64toh(trailer.checksum) ==
		       checksum64(bytes, offsetof(struct hpw_trailer, checksum)) &&
	       *ret_index >= HEADER_BYTES &&
	       *ret_index <= input->bytes - sizeof(bytes) - CHUNK_BYTES;
	return NULL;
}

static struct error *try_index(struct hpw_file *file, struct hpw_damage *damage)
{
	uint64_t index_offset;
	bool there;
	struct error *error = read_trailer(file->input, &index_offset, &there);
	if (error || !there)
		return error;
	struct hpw_chunk chunk = {index_offset, file->input->bytes - TRAILER_BYTES, HPW_INDEX};
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	error = hpw_file_payload(file, &chunk, &payload);
	if (!error)
		error = list_from_index(file, &payload, index_offset);
	if (!error) {
		file->closed = true;
		return NULL;
	}
	hpw_chunk_vec_clear(&file->chunks);
	return hpw_damage_take(damage, error, "the index is damaged");
}

/* What the bytes after the last chunk are: a trailer is expected, anything else is damage. */
static struct error *check_rest(
	const struct input *input, uint64_t from, uint64_t to, struct hpw_damage *damage)
{
	uint64_t index_offset;
	bool trailer = false;
	if (to == input->bytes && to - from == TRAILER_BYTES) {
		struct error *error = read_trailer(input, &index_offset, &trailer);
		if (error)
			return error;
	}
	if (trailer)
		return NULL;
	if (to == input->bytes)
		return hpw_damage_add(damage,
			"the file is damaged or cut after offset %" PRIu64 ": its last %" PRIu64
			" bytes cannot be read",
			from, to - from);
	return hpw_damage_add(damage,
		"the file is damaged at offset %" PRIu64 ": %" PRIu64 " bytes cannot be read", from,
		to - from);
}

/* Walks from header to header. */
static struct error *list_by_walking(struct hpw_file *file, struct hpw_damage *damage)
{
	const struct input *input = file->input;
	uint64_t at = HEADER_BYTES;
	while (at < input->bytes) {
		struct hpw_chunk_header header;
		bool there;
		struct error *error = hpw_file_has_chunk(input, at, &header, &there);
		if (error)
			return error;
		if (!there) {
			uint64_t next = 0;
			error = hpw_file_find_chunk(input, at, input->bytes, &next);
			if (!error)
				error = check_rest(input, at, next, damage);
			if (error)
				return error;
			at = next;
			continue;
		}
		if (header.stored_bytes > input->bytes - at - CHUNK_BYTES)
			return hpw_damage_add(damage,
				"the file is cut off inside chunk %zu at offset %" PRIu64
				": only %" PRIu64 " of %" PRIu32 " bytes are present",
				file->chunks.len, at, input->bytes - at - CHUNK_BYTES,
				header.stored_bytes);
		uint64_t end = at + CHUNK_BYTES + header.stored_bytes;
		struct hpw_chunk chunk = {at, end, header.type};
		if (header.type != HPW_INDEX && !hpw_chunk_vec_push(&file->chunks, chunk))
			return error_no_memory();
		at = end;
	}
	return NULL;
}

struct error *hpw_file_open(
	struct hpw_file *file, const struct input *input, struct hpw_damage *damage)
{
	file->input = input;
	hpw_chunk_vec_init(&file->chunks);
	file->closed = false;
	struct error *error = hpw_file_read_header(file, damage);
	if (!error)
		error = try_index(file, damage);
	if (!error && !file->closed)
		error = list_by_walking(file, damage);
	return error;
}

void hpw_file_deinit(struct hpw_file *file)
{
	hpw_chunk_vec_deinit(&file->chunks);
}

void hpw_payload_deinit(struct hpw_payload *payload)
{
	free(payload->data);
	payload->data = NULL;
	payload->len = 0;
}

static struct error *check_header(
	const struct hpw_chunk_header *header, const struct hpw_chunk *chunk)
{
	if (header->type != chunk->type)
		return error_create(ERROR_INPUT, "its type differs from the index");
	if (header->stored_bytes > chunk->limit - chunk->offset - CHUNK_BYTES)
		return error_create(ERROR_INPUT, "it is longer than its place");
	if (header->raw_bytes > HPW_CHUNK_RAW_MAX)
		return error_create(ERROR_INPUT, "its size of %" PRIu32 " bytes is not allowed",
			header->raw_bytes);
	if (header->flags & ~HPW_CHUNK_ZSTD)
		return error_create(ERROR_INPUT, "unknown encoding (0x%x)", header->flags);
	if (!(header->flags & HPW_CHUNK_ZSTD) && header->raw_bytes != header->stored_bytes)
		return error_create(ERROR_INPUT, "its sizes contradict each other");
	return NULL;
}

struct error *hpw_file_payload(
	const struct hpw_file *file, const struct hpw_chunk *chunk, struct hpw_payload *ret)
{
	struct hpw_chunk_header header;
	bool there;
	struct error *error = hpw_file_has_chunk(file->input, chunk->offset, &header, &there);
	if (!error && !there)
		error = error_create(ERROR_INPUT, "its header is damaged");
	if (!error)
		error = check_header(&header, chunk);
	if (error)
		return error;
	_cleanup_free_ uint8_t *stored = malloc((size_t)header.stored_bytes + 1);
	if (!stored)
		return error_no_memory();
	error = file->input->read(
		file->input, chunk->offset + CHUNK_BYTES, stored, header.stored_bytes);
	if (error)
		return error;
	if (checksum64(stored, header.stored_bytes) != header.payload_checksum)
		return error_create(ERROR_INPUT, "its checksum differs");
	uint8_t *raw;
	if (header.flags & HPW_CHUNK_ZSTD) {
		error = zstd_decompress(stored, header.stored_bytes, header.raw_bytes, &raw);
		if (error)
			return error;
	} else {
		raw = steal_ptr(stored);
	}
	*ret = (struct hpw_payload){raw, header.raw_bytes, chunk->offset};
	return NULL;
}
