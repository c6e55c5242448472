/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of an input as a foreign format's reader wants them: unpacked, one after another, by
 * lines if they are text. Packed files may unpack to anything, so there is a limit. A byte order
 * mark, which editors put before a text, is none of its bytes.
 */
#ifndef SOURCES_STREAM_H
#define SOURCES_STREAM_H

#include "base/buf.h"
#include "base/error.h"
#include "base/packing.h"
#include "sources/recording/input.h"

/* What a reader of lines takes unless the format has shorter ones. */
#define STREAM_LINE_MAX (1u << 20)

struct stream {
	const struct input *input;
	struct unpacker *unpacker;
	enum packing packing;
	uint64_t read;  /* bytes of the input so far */
	uint64_t limit; /* of unpacked bytes */
	uint8_t *in;
	const uint8_t *in_pos;
	size_t in_left;
	uint8_t *out; /* unpacked, not yet taken: [out_pos, out_end) */
	size_t out_pos, out_end, out_room;
	uint64_t out_offset; /* in the unpacked file, of out[0] */
	uint64_t line;       /* number of the last one */
	uint64_t line_offset;
	bool cut;      /* the last line has no end: the file ends in it */
	bool carriage; /* its end is a carriage return and a line feed */
	bool begun;    /* its first bytes were looked at */
};

/* `input` must outlive the stream. `limit`: more unpacked bytes are an error. */
struct error *stream_open(
	struct stream *stream, const struct input *input, uint64_t limit) must_check_;
void stream_close(struct stream *stream);

/*
 * Finds the next line without its end, be that a line feed or one after a carriage return; *ret
 * NULL: there is none. It lives until the next call and may have NULs in it; a NUL follows it. A
 * longer one than `most` is an error.
 */
struct error *stream_line(
	struct stream *stream, size_t most, char **ret, size_t *ret_len) must_check_;

/* All that is left, at once. */
struct error *stream_rest(struct stream *stream, struct buf *ret) must_check_;

/* Takes what is there, at least a byte; *ret_len 0: there are no more. It lives until the next
 * call. Memory does not follow the size of the file. */
struct error *stream_take(struct stream *stream, const uint8_t **ret, size_t *ret_len) must_check_;
/* Some of what comes first, at most `room` bytes; nothing is taken. */
struct error *stream_peek(
	struct stream *stream, size_t room, const uint8_t **ret, size_t *ret_len) must_check_;

/* An ERROR_INPUT "NAME: line N: …" about the last line; it says so if the file ends in it. */
struct error *stream_error(const struct stream *stream, const char *format, ...)
	__attribute__((format(printf, 2, 3))) must_check_;

/* The limit for formats that are read as a whole: no real file unpacks to more. */
uint64_t stream_whole_limit(const struct input *input);
/* And for those that are read line by line, whose memory does not follow their size. */
#define STREAM_LINES_LIMIT (UINT64_C(1) << 38)

#endif
