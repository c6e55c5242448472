/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/event_lines.h"

#include "base/util.h"

/* Logs of a loop shrink to little; none of a program to less than this. */
#define UNPACKED_FIXED (UINT64_C(1) << 30)
#define UNPACKED_FACTOR 20000u
/* No writer makes such lines; a line takes as long to read as an event, and nothing packs better.
 */
#define EMPTY_MAX 1000u
#define BLOCKS_FIXED (UINT64_C(1) << 22)
#define BLOCKS_PER_BYTE 16u
#define BLOCKS_MAX (UINT64_C(1) << 27)

uint64_t event_lines_blocks_max(uint64_t file_bytes)
{
	return min(BLOCKS_FIXED + min(file_bytes, BLOCKS_MAX) * BLOCKS_PER_BYTE, BLOCKS_MAX);
}

#define DEFINED_FIXED (UINT64_C(1) << 25)
#define DEFINED_FACTOR 32u

uint64_t event_lines_defined_limit(const struct input *input)
{
	return DEFINED_FIXED + min(input->bytes, UINT64_C(1) << 32) * DEFINED_FACTOR;
}

struct error *event_lines_open(struct event_lines *lines, const struct input *input)
{
	uint64_t packed = min(input->bytes, STREAM_LINES_LIMIT / UNPACKED_FACTOR);
	lines->cut = false;
	lines->empty = 0;
	return stream_open(&lines->stream, input, UNPACKED_FIXED + packed * UNPACKED_FACTOR);
}

void event_lines_close(struct event_lines *lines)
{
	stream_close(&lines->stream);
}

struct error *event_lines_next(struct event_lines *lines, char **ret, size_t *ret_len)
{
	const struct stream *stream = &lines->stream;
	struct error *error = stream_line(&lines->stream, STREAM_LINE_MAX, ret, ret_len);
	if (error || !*ret)
		return error;
	lines->empty = *ret_len ? 0 : lines->empty + 1;
	if (lines->empty > EMPTY_MAX)
		return stream_error(
			stream, "comes after %u empty lines: not a file of this format", EMPTY_MAX);
	if (stream->cut) {
		lines->cut = true;
		*ret = NULL;
	}
	return NULL;
}
