/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/stream.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"

#define IN_BYTES (1u << 17)
#define OUT_FIRST (1u << 17)

/* 64 MiB whatever the size, and 200 bytes for each; text and protobuf shrink to a third or tenth.
 */
#define WHOLE_FIXED (UINT64_C(1) << 26)
#define WHOLE_FACTOR 200u

uint64_t stream_whole_limit(const struct input *input)
{
	return WHOLE_FIXED + min(input->bytes, UINT64_C(1) << 32) * WHOLE_FACTOR;
}

struct error *stream_open(struct stream *stream, const struct input *input, uint64_t limit)
{
	uint8_t head[4];
	size_t len = (size_t)min(input->bytes, (uint64_t)sizeof(head));
	*stream = (struct stream){.input = input, .limit = limit, .out_room = OUT_FIRST};
	struct error *error = input->read(input, 0, head, len);
	if (error)
		return error;
	stream->packing = packing_of(head, len);
	error = unpacker_create(stream->packing, &stream->unpacker);
	if (error)
		return error;
	stream->in = malloc(IN_BYTES);
	stream->out = malloc(OUT_FIRST + 1);
	return stream->in && stream->out ? NULL : error_no_memory();
}

void stream_close(struct stream *stream)
{
	unpacker_destroy(stream->unpacker);
	free(stream->in);
	free(stream->out);
	*stream = (struct stream){.input = NULL};
}

static struct error *fill_in(struct stream *stream)
{
	uint64_t left = stream->input->bytes - stream->read;
	size_t len = (size_t)min(left, (uint64_t)IN_BYTES);
	struct error *error = stream->input->read(stream->input, stream->read, stream->in, len);
	if (error)
		return error;
	stream->read += len;
	stream->in_pos = stream->in;
	stream->in_left = len;
	return NULL;
}

/* Where in the file the unpacker stands. */
static uint64_t packed_offset(const struct stream *stream)
{
	return stream->read - stream->in_left;
}

static struct error *past_limit(const struct stream *stream)
{
	return error_create(ERROR_INPUT,
		"%s: offset %" PRIu64 ": unpacks to more than %" PRIu64 " MiB, of %" PRIu64
		" bytes: not a file of this format",
		stream->input->name, packed_offset(stream), stream->limit >> 20,
		stream->input->bytes);
}

static void skip_mark(struct stream *stream)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t len = strlen(mark);
	if (stream->begun || stream->out_end < len)
		return;
	stream->begun = true;
	if (!stream->out_pos && memcmp(stream->out, mark, len) == 0)
		stream->out_pos = len;
}

/* Adds unpacked bytes after out_end, for which there is room; *ret_len 0: there are no more. */
static struct error *fill_out(struct stream *stream, size_t *ret_len)
{
	*ret_len = 0;
	while (*ret_len == 0) {
		if (!stream->in_left && stream->read < stream->input->bytes) {
			struct error *error = fill_in(stream);
			if (error)
				return error;
		}
		size_t before = stream->in_left;
		struct error *error = unpacker_run(stream->unpacker, &stream->in_pos,
			&stream->in_left, stream->out + stream->out_end,
			stream->out_room - stream->out_end, ret_len);
		if (error)
			return error_prefix(error, "%s: offset %" PRIu64, stream->input->name,
				packed_offset(stream));
		bool at_end = !stream->in_left && stream->read == stream->input->bytes;
		if (*ret_len == 0 && before == stream->in_left && at_end)
			break;
	}
	if (*ret_len == 0 && !unpacker_is_whole(stream->unpacker))
		return error_create(ERROR_INPUT,
			"%s: offset %" PRIu64 ": is cut off: the %s data ends here",
			stream->input->name, stream->input->bytes, packing_name(stream->packing));
	stream->out_end += *ret_len;
	skip_mark(stream);
	if (stream->out_offset + stream->out_end > stream->limit)
		return past_limit(stream);
	return NULL;
}

/* Makes room after what is not yet taken. */
static struct error *make_room(struct stream *stream)
{
	if (stream->out_pos) {
		size_t left = stream->out_end - stream->out_pos;
		memmove(stream->out, stream->out + stream->out_pos, left);
		stream->out_offset += stream->out_pos;
		stream->out_pos = 0;
		stream->out_end = left;
	}
	if (stream->out_end < stream->out_room)
		return NULL;
	uint8_t *more = realloc(stream->out, stream->out_room * 2 + 1);
	if (!more)
		return error_no_memory();
	stream->out = more;
	stream->out_room *= 2;
	return NULL;
}

static struct error *give_line(
	struct stream *stream, size_t len, size_t end, char **ret, size_t *ret_len)
{
	char *line = (char *)stream->out + stream->out_pos;
	stream->line++;
	stream->line_offset = stream->out_offset + stream->out_pos;
	stream->cut = end == len;
	stream->carriage = !stream->cut && len && line[len - 1] == '\r';
	len -= stream->carriage;
	line[len] = '\0';
	stream->out_pos += end;
	*ret = line;
	*ret_len = len;
	return NULL;
}

struct error *stream_line(struct stream *stream, size_t most, char **ret, size_t *ret_len)
{
	size_t looked = 0;
	*ret = NULL;
	*ret_len = 0;
	for (;;) {
		const uint8_t *from = stream->out + stream->out_pos;
		size_t left = stream->out_end - stream->out_pos;
		const uint8_t *end =
			left > looked ? memchr(from + looked, '\n', left - looked) : NULL;
		if (end)
			return give_line(stream, (size_t)(end - from), (size_t)(end - from) + 1,
				ret, ret_len);
		looked = left;
		if (looked > most) {
			stream->line++;
			stream->line_offset = stream->out_offset + stream->out_pos;
			return stream_error(stream, "is longer than %zu bytes", most);
		}
		if (stream->out_end == stream->out_room) {
			struct error *error = make_room(stream);
			if (error)
				return error;
		}
		size_t more;
		struct error *error = fill_out(stream, &more);
		if (error)
			return error;
		if (!more)
			return looked ? give_line(stream, looked, looked, ret, ret_len) : NULL;
	}
}

struct error *stream_rest(struct stream *stream, struct buf *ret)
{
	for (;;) {
		if (!buf_bytes(
			    ret, stream->out + stream->out_pos, stream->out_end - stream->out_pos))
			return error_no_memory();
		stream->out_pos = stream->out_end;
		struct error *error = make_room(stream);
		size_t more = 0;
		if (!error)
			error = fill_out(stream, &more);
		if (error || !more)
			return error;
	}
}

struct error *stream_take(struct stream *stream, const uint8_t **ret, size_t *ret_len)
{
	if (stream->out_pos == stream->out_end) {
		size_t more;
		struct error *error = make_room(stream);
		if (!error)
			error = fill_out(stream, &more);
		if (error)
			return error;
	}
	*ret = stream->out + stream->out_pos;
	*ret_len = stream->out_end - stream->out_pos;
	stream->out_pos = stream->out_end;
	return NULL;
}

struct error *stream_peek(struct stream *stream, size_t room, const uint8_t **ret, size_t *ret_len)
{
	size_t more = 1;
	while (more && stream->out_end - stream->out_pos < room) {
		struct error *error = make_room(stream);
		if (!error)
			error = fill_out(stream, &more);
		if (error)
			return error;
	}
	*ret = stream->out + stream->out_pos;
	*ret_len = min(room, stream->out_end - stream->out_pos);
	return NULL;
}

struct error *stream_error(const struct stream *stream, const char *format, ...)
{
	_cleanup_(text_deinit) struct text what;
	char buffer[512];
	va_list args;
	va_start(args, format);
	vsnprintf(buffer, sizeof(buffer), format, args);
	va_end(args);
	text_init(&what);
	text_add_shown(&what, buffer, sizeof(buffer));
	return error_create(ERROR_INPUT, "%s: line %" PRIu64 " (offset %" PRIu64 "): %s%s",
		stream->input->name, stream->line, stream->line_offset, what.data ? what.data : "",
		stream->cut ? "; the file ends inside this line: it may be cut off" : "");
}
