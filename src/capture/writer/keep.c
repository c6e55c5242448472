/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/keep.h"

#include "capture/writer/encode.h"

#include <string.h>

/* A segment holds about this many chunks of this many bytes a step, which is more than most need.
 */
#define SEGMENT_CHUNKS 2
#define STEP_BYTES 4
/* A file that is to have no more than this many bytes is exceeded by about one chunk. */
#define FILE_CHUNKS 16

void keep_init(struct keep *keep, const struct mode *mode)
{
	*keep = (struct keep){.ring_bytes = mode->ring_bytes, .file_bytes = mode->file_bytes};
	buf_init(&keep->sealed);
}

void keep_deinit(struct keep *keep)
{
	buf_deinit(&keep->sealed);
}

uint64_t keep_chunk_steps(const struct keep *keep)
{
	uint64_t bytes = keep->file_bytes / FILE_CHUNKS;
	if (keep->ring_bytes)
		bytes = keep->ring_bytes / ((uint64_t)KEEP_SEGMENTS * SEGMENT_CHUNKS);
	uint64_t steps = bytes / STEP_BYTES;
	return steps && steps < ENCODE_STEPS_MAX ? steps : ENCODE_STEPS_MAX;
}

bool keep_is_full(const struct keep *keep, struct writer *writer)
{
	return keep->file_bytes && writer_size(writer) >= keep->file_bytes;
}

bool keep_drops(const struct keep *keep)
{
	return keep->count == KEEP_SEGMENTS;
}

static void span_add(struct keep_span *span, const struct keep_span *next)
{
	if (!next->steps)
		return;
	if (!span->steps)
		*span = (struct keep_span){next->first_step, 0, next->from_tsc, 0};
	span->steps += next->steps;
	span->until_tsc = next->until_tsc;
}

struct keep_span keep_all(const struct keep *keep)
{
	struct keep_span all = keep->span;
	for (size_t i = 1; i <= keep->count; i++)
		span_add(&all, &keep->segments[(keep->current + i) % keep->count].span);
	return all;
}

static struct error *segment_create(struct keep *keep, struct writer *writer)
{
	struct keep_segment *segment = &keep->segments[keep->count];
	*segment = (struct keep_segment){.bytes = (uint32_t)(keep->ring_bytes / KEEP_SEGMENTS)};
	struct error *error = writer_place(writer, HPW_RING, segment->bytes, &segment->at);
	if (!error && segment->at)
		keep->current = keep->count++;
	return error;
}

/* On to the next segment: a new one, or the oldest, whose events are dropped. */
static struct error *segment_next(struct keep *keep, struct writer *writer)
{
	if (keep->count < KEEP_SEGMENTS)
		return segment_create(keep, writer);
	keep->current = (keep->current + 1) % keep->count;
	struct keep_segment *segment = &keep->segments[keep->current];
	segment->used = 0;
	segment->span = (struct keep_span){0};
	return NULL;
}

static bool has_room(const struct keep *keep)
{
	const struct keep_segment *segment = &keep->segments[keep->current];
	return keep->count && segment->bytes - segment->used >= keep->sealed.len;
}

/* The chunk that is sealed is larger than a segment: what came before it does not help without. */
static void drop_all(struct keep *keep)
{
	for (size_t i = 0; i < keep->count; i++)
		keep->segments[i].span = (struct keep_span){0};
}

static struct error *put_in_segment(
	struct keep *keep, struct writer *writer, const struct keep_span *span)
{
	struct error *error = NULL;
	if (!has_room(keep))
		error = segment_next(keep, writer);
	if (error || writer->stopped)
		return error;
	if (!has_room(keep)) {
		drop_all(keep);
		return NULL;
	}
	struct keep_segment *segment = &keep->segments[keep->current];
	int failed = writer_put(
		writer, segment->at + segment->used, keep->sealed.data, keep->sealed.len);
	if (failed)
		return writer_stop(writer, failed);
	segment->used += (uint32_t)keep->sealed.len;
	span_add(&segment->span, span);
	return NULL;
}

struct error *keep_events(
	struct keep *keep, struct writer *writer, struct buf *payload, const struct keep_span *span)
{
	if (!keep->ring_bytes) {
		span_add(&keep->span, span);
		return writer_hand_over(writer, HPW_EVENTS, payload, true);
	}
	buf_clear(&keep->sealed);
	struct error *error = writer_seal(writer, HPW_EVENTS, payload, &keep->sealed);
	buf_clear(payload);
	return error || writer->stopped ? error : put_in_segment(keep, writer, span);
}
