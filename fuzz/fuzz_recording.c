/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of recordings. Checksums would stop nearly every mutation at the door, so they are
 * made right first: of the header, of each chunk that can be found, of the trailer. A lowest bit in
 * the header's reserved field, which readers pass over, leaves everything as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "check_model.h"
#include "check_queries.h"
#include "format/hpw.h"
#include "sources/recording/hpw.h"
#include "sources/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_checksum(uint8_t *data, size_t at, size_t len, size_t to)
{
	uint64_t sum = checksum64(data + at, len);
	memcpy(data + to, &sum, sizeof(sum));
}

static void mend_chunks(uint8_t *data, size_t size)
{
	static const uint32_t magic = HPW_CHUNK_MAGIC;
	size_t at = sizeof(struct hpw_header);
	while (size >= at && size - at >= sizeof(struct hpw_chunk_header)) {
		if (memcmp(data + at, &magic, sizeof(magic))) {
			at++;
			continue;
		}
		struct hpw_chunk_header header;
		memcpy(&header, data + at, sizeof(header));
		size_t payload = at + sizeof(header);
		if (header.stored_bytes > size - payload)
			header.stored_bytes = (uint32_t)(size - payload);
		put_checksum(data, payload, header.stored_bytes,
			at + offsetof(struct hpw_chunk_header, payload_checksum));
		put_checksum(data, at, offsetof(struct hpw_chunk_header, header_checksum),
			at + offsetof(struct hpw_chunk_header, header_checksum));
		at = payload + header.stored_bytes;
	}
}

static void mend(uint8_t *data, size_t size)
{
	if (size < sizeof(struct hpw_header) || data[offsetof(struct hpw_header, reserved)] & 1)
		return;
	put_checksum(data, 0, offsetof(struct hpw_header, checksum),
		offsetof(struct hpw_header, checksum));
	mend_chunks(data, size);
	struct hpw_trailer trailer;
	size_t at = size - sizeof(trailer);
	if (size < sizeof(struct hpw_header) + sizeof(trailer) ||
		memcmp(data + at + offsetof(struct hpw_trailer, magic), HPW_TRAILER_MAGIC,
			sizeof(trailer.magic)))
		return;
	put_checksum(data, at, offsetof(struct hpw_trailer, checksum),
		at + offsetof(struct hpw_trailer, checksum));
}

static const struct source_series by_time = {.rows = 5, .with_sites = true},
				  by_bytes = {.rows = 5, .axis = SOURCE_BY_BYTES},
				  by_steps = {.rows = 5, .axis = SOURCE_BY_STEPS};
static const struct source_query of_mappings[] = {
	{.class = SOURCE_MAPPINGS, .to = {.kind = SOURCE_END}},
	{.class = SOURCE_MAPPINGS, .to = {.kind = SOURCE_PEAK}},
	{.class = SOURCE_MAPPINGS, .to = {.kind = SOURCE_END}, .series = &by_time},
	{.class = SOURCE_MAPPINGS,
		.from = {.kind = SOURCE_TIME, .time_ns = 200},
		.to = {.kind = SOURCE_END},
		.series = &by_time},
	{.class = SOURCE_MAPPINGS,
		.from = {.kind = SOURCE_PEAK},
		.to = {.kind = SOURCE_END},
		.series = &by_bytes},
	{.class = SOURCE_MAPPINGS, .to = {.kind = SOURCE_END}, .series = &by_steps},
};

/* What the program mapped, in place of its heap. */
static void open_mappings(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < sizeof(of_mappings) / sizeof(of_mappings[0]); i++) {
		struct model *model = NULL;
		struct error *error =
			source_open_bytes_query("input", data, size, 0, &of_mappings[i], &model);
		if (!error == !model || (error && error->code != ERROR_INPUT))
			abort();
		if (model)
			check_model(model);
		model_destroy(model);
		error_destroy(error);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	mend(copy, size);
	static const struct asked asked = {.open = hpw_open, .tell = hpw_events};
	static const unsigned ways[] = {SOURCE_WITH_LIVE | SOURCE_WITH_LEAK_TIMES, SOURCE_REPLAY};
	struct input input;
	input_of_buffer(&input, "input", copy, size);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct model *model = NULL;
		struct error *error = source_open_bytes("input", copy, size, ways[i], &model);
		if (!error == !model || (error && error->code != ERROR_INPUT))
			abort();
		if (model)
			check_model(model);
		if (model && i == 0)
			check_queries(&asked, &input, model);
		model_destroy(model);
		error_destroy(error);
	}
	open_mappings(copy, size);
	free(copy);
	return 0;
}
