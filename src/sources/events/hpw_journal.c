/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_journal.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "sources/events/hpw_events.h"
#include "sources/recording/hpw_footer.h"

#define CHUNK_BYTES sizeof(struct hpw_chunk_header)
#define HEAD_BYTES sizeof(struct hpw_checkpoint_head)
/* A writer that was killed leaves one chunk half written, and half of one that it was about to
 * overwrite; of a damaged file more are tried. */
#define TORN_MAX 64u

/* A chunk of events in a ring. */
struct found {
	struct hpw_chunk chunk;
	struct hpw_events_head head;
};
DEFINE_VEC(found_vec, struct found)

static uint64_t end_step(const struct found *found)
{
	return found->head.first_step + found->head.steps;
}

static int by_step(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	return (x->head.first_step > y->head.first_step) -
	       (x->head.first_step < y->head.first_step);
}

/* Whether there is a whole chunk of events at `at`, which then goes into the list. */
static struct error *try_events(const struct hpw_file *file, uint64_t at, uint64_t end,
	struct found_vec *found, uint64_t *ret_next)
{
	struct hpw_chunk_header header;
	bool there;
	*ret_next = 0;
	struct error *error = hpw_file_has_chunk(file->input, at, &header, &there);
	if (error || !there)
		return error;
	if (header.type != HPW_EVENTS || header.stored_bytes > end - at - CHUNK_BYTES)
		return error_create(ERROR_INPUT, "it is not a chunk of events");
	struct found one = {{at, at + CHUNK_BYTES + header.stored_bytes, HPW_EVENTS}, {0}};
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	error = hpw_file_payload(file, &one.chunk, &payload);
	if (!error)
		error = hpw_events_head(&payload, &one.head);
	if (error)
		return error;
	*ret_next = one.chunk.limit;
	return !one.head.steps || found_vec_push(found, one) ? NULL : error_no_memory();
}

/* Goes through one RING, over what is half overwritten in it. */
static struct error *search_ring(
	const struct hpw_file *file, const struct hpw_chunk *ring, struct found_vec *found)
{
	uint64_t at = ring->offset + CHUNK_BYTES;
	for (size_t torn = 0; torn < TORN_MAX;) {
		struct error *error = hpw_file_find_chunk(file->input, at, ring->limit, &at);
		if (error || at == ring->limit)
			return error;
		uint64_t next;
		error = try_events(file, at, ring->limit, found, &next);
		if (error && error->code != ERROR_INPUT)
			return error;
		torn += error != NULL;
		error_destroy(error);
		at = next ? next : at + 1;
	}
	return error_create(ERROR_INPUT, "too much of it is damaged");
}

/* The end of a chunk's payload, which the list may not know so well. */
static struct error *hpw_journal_place_of(
	const struct hpw_file *file, const struct hpw_chunk *chunk, struct hpw_chunk *ret)
{
	struct hpw_chunk_header header;
	bool there;
	struct error *error = hpw_file_has_chunk(file->input, chunk->offset, &header, &there);
	if (error)
		return error;
	if (!there || header.type != chunk->type || header.flags ||
		header.stored_bytes > chunk->limit - chunk->offset - CHUNK_BYTES)
		return error_create(ERROR_INPUT, "its header is damaged");
	*ret = *chunk;
	ret->limit = chunk->offset + CHUNK_BYTES + header.stored_bytes;
	return NULL;
}

/* What follows one another without a gap, up to the last. */
static struct error *list_latest(
	struct hpw_file *file, struct found_vec *found, struct hpw_ring *ret)
{
	if (!found->len)
		return NULL;
	qsort(found->data, found->len, sizeof(*found->data), by_step);
	size_t first = found->len - 1;
	while (first && end_step(&found->data[first - 1]) == found->data[first].head.first_step)
		first--;
	const struct found *oldest = &found->data[first], *latest = &found->data[found->len - 1];
	*ret = (struct hpw_ring){oldest->head.first_step,
		end_step(latest) - oldest->head.first_step, oldest->head.first_stamp,
		latest->head.closed_tsc};
	for (size_t i = first; i < found->len; i++)
		if (!hpw_chunk_vec_push(&file->chunks, found->data[i].chunk))
			return error_no_memory();
	return NULL;
}

struct error *hpw_journal_ring(
	struct hpw_file *file, struct hpw_damage *damage, struct hpw_ring *ret)
{
	*ret = (struct hpw_ring){0};
	_cleanup_(found_vec_deinit) struct found_vec found;
	found_vec_init(&found);
	for (size_t i = 0; i < file->chunks.len; i++) {
		if (file->chunks.data[i].type != HPW_RING)
			continue;
		struct hpw_chunk ring = file->chunks.data[i];
		struct error *error = hpw_journal_place_of(file, &file->chunks.data[i], &ring);
		if (!error)
			error = search_ring(file, &ring, &found);
		error = hpw_damage_take(damage, error, "chunk %zu at offset %" PRIu64 " is damaged",
			i, file->chunks.data[i].offset);
		if (error)
			return error;
	}
	return list_latest(file, &found, ret);
}

/* *ret: the number of the state in a CHECKPOINT and where its chunks end; number 0: it is not
 * whole. */
static struct error *read_state(const struct hpw_file *file, const struct hpw_chunk *place,
	uint64_t *ret_number, uint64_t *ret_end)
{
	struct hpw_checkpoint_head head;
	uint64_t at = place->offset + CHUNK_BYTES, room = place->limit - at;
	*ret_number = 0;
	if (room < HEAD_BYTES)
		return NULL;
	struct error *error = file->input->read(file->input, at, &head, sizeof(head));
	if (error)
		return error;
	uint64_t bytes = le64toh(head.bytes);
	if (bytes > room - HEAD_BYTES || bytes > HPW_CHECKPOINT_MAX - HEAD_BYTES)
		return NULL;
	size_t from = offsetof(struct hpw_checkpoint_head, number),
	       summed = (size_t)bytes + HEAD_BYTES - from;
	_cleanup_free_ uint8_t *data = malloc(summed);
	if (!data)
		return error_no_memory();
	error = file->input->read(file->input, at + from, data, summed);
	if (!error && checksum64(data, summed) == le64toh(head.checksum)) {
		*ret_number = le64toh(head.number);
		*ret_end = at + HEAD_BYTES + bytes;
	}
	return error;
}

/* The chunks from `at` to `end`, which are those of a checkpoint. */
static struct error *list_state(struct hpw_file *file, uint64_t at, uint64_t end)
{
	while (at < end) {
		struct hpw_chunk_header header;
		bool there;
		struct error *error = hpw_file_has_chunk(file->input, at, &header, &there);
		if (error)
			return error;
		if (!there || end - at < CHUNK_BYTES ||
			header.stored_bytes > end - at - CHUNK_BYTES)
			return error_create(ERROR_INPUT,
				"the checkpoint before offset %" PRIu64 " is damaged", end);
		struct hpw_chunk chunk = {at, at + CHUNK_BYTES + header.stored_bytes, header.type};
		bool counts = hpw_footer_takes(chunk.type) || chunk.type == HPW_LIVE;
		if (counts && !hpw_chunk_vec_push(&file->chunks, chunk))
			return error_no_memory();
		at = chunk.limit;
	}
	return NULL;
}

struct error *hpw_journal_checkpoint(struct hpw_file *file, struct hpw_damage *damage)
{
	uint64_t latest = 0, from = 0, to = 0;
	for (size_t i = 0; i < file->chunks.len; i++) {
		const struct hpw_chunk *chunk = &file->chunks.data[i];
		if (chunk->type == HPW_SUMMARY)
			return NULL;
		if (chunk->type != HPW_CHECKPOINT)
			continue;
		uint64_t number, end = 0;
		struct error *error = read_state(file, chunk, &number, &end);
		if (error)
			return error;
		if (number > latest) {
			latest = number;
			from = chunk->offset + CHUNK_BYTES + HEAD_BYTES;
			to = end;
		}
	}
	if (!latest)
		return NULL;
	file->checkpoint = true;
	struct error *error = list_state(file, from, to);
	return hpw_damage_take(damage, error, "its last checkpoint");
}
