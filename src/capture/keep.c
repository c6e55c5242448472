/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/keep.h"

#include "capture/encode.h"

#include <stdlib.h>
#include <string.h>

/* A ring holds at least so many chunks of this many bytes a step, which is more than most need. */
#define RING_CHUNKS 8
#define STEP_BYTES 4

void keep_init(struct keep *keep, const struct mode *mode)
{
	*keep = (struct keep){.ring_bytes = mode->ring_bytes, .file_bytes = mode->file_bytes};
}

void keep_deinit(struct keep *keep)
{
	for (size_t i = 0; i < keep->count; i++)
		buf_deinit(&keep->chunks[i].sealed);
	free(keep->chunks);
	keep->chunks = NULL;
	keep->count = 0;
}

uint64_t keep_chunk_steps(const struct keep *keep)
{
	uint64_t steps = keep->ring_bytes / ((uint64_t)RING_CHUNKS * STEP_BYTES);
	return keep->ring_bytes && steps < ENCODE_STEPS_MAX ? steps : ENCODE_STEPS_MAX;
}

bool keep_is_full(const struct keep *keep, uint64_t file_bytes)
{
	return keep->file_bytes && file_bytes >= keep->file_bytes;
}

static void span_add(struct keep_span *span, const struct keep_span *next)
{
	if (!span->steps)
		*span = (struct keep_span){next->first_step, 0, next->from_tsc, 0};
	span->steps += next->steps;
	span->until_tsc = next->until_tsc;
}

static bool has_place(struct keep *keep)
{
	if (keep->count < keep->capacity)
		return true;
	size_t capacity = keep->capacity ? keep->capacity * 2 : 64;
	void *moved = realloc(keep->chunks, capacity * sizeof(*keep->chunks));
	if (!moved)
		return false;
	keep->chunks = moved;
	keep->capacity = capacity;
	return true;
}

/* Oldest first, until the rest fits; the newest one stays in any case. */
static void drop_old(struct keep *keep)
{
	size_t old = 0;
	for (; keep->bytes > keep->ring_bytes && old + 1 < keep->count; old++) {
		keep->bytes -= keep->chunks[old].sealed.len;
		buf_deinit(&keep->chunks[old].sealed);
	}
	keep->count -= old;
	memmove(keep->chunks, keep->chunks + old, keep->count * sizeof(*keep->chunks));
}

struct error *keep_events(struct keep *keep, struct writer *writer, const struct buf *payload,
	const struct keep_span *span)
{
	if (!keep->ring_bytes) {
		span_add(&keep->span, span);
		return writer_chunk(writer, HPW_EVENTS, payload, true);
	}
	if (!has_place(keep))
		return error_no_memory();
	struct keep_chunk *chunk = &keep->chunks[keep->count];
	*chunk = (struct keep_chunk){.span = *span};
	buf_init(&chunk->sealed);
	struct error *error = writer_seal(writer, HPW_EVENTS, payload, &chunk->sealed);
	if (error) {
		buf_deinit(&chunk->sealed);
		return error;
	}
	keep->count++;
	keep->bytes += chunk->sealed.len;
	drop_old(keep);
	return NULL;
}

struct error *keep_finish(struct keep *keep, struct writer *writer)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < keep->count; i++) {
		span_add(&keep->span, &keep->chunks[i].span);
		error = writer_sealed(writer, HPW_EVENTS, &keep->chunks[i].sealed);
	}
	return error;
}
