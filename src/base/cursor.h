/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way in for bytes from outside: a position in a buffer that never leaves it. Integers are
 * little endian. Each read returns NULL, or an ERROR_INPUT that names the file and the offset and
 * leaves position and result untouched.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cursor {
	const uint8_t *start, *pos, *end;
	uint64_t file_offset; /* of start, for messages */
	const char *name;     /* of the file, for messages; borrowed */
};

void cursor_init(struct cursor *cursor, const char *name, const void *data, size_t len,
	uint64_t file_offset);

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->pos);
}

/* Returns the position in the file. */
static inline uint64_t cursor_offset(const struct cursor *cursor)
{
	return cursor->file_offset + (uint64_t)(cursor->pos - cursor->start);
}

/* Makes an ERROR_INPUT "NAME: offset N: …" about the present position. */
struct error *cursor_error(const struct cursor *cursor, const char *format, ...)
	__attribute__((format(printf, 2, 3))) must_check_;

struct error *cursor_u8(struct cursor *cursor, uint8_t *ret) must_check_;
struct error *cursor_u16(struct cursor *cursor, uint16_t *ret) must_check_;
struct error *cursor_u32(struct cursor *cursor, uint32_t *ret) must_check_;
struct error *cursor_u64(struct cursor *cursor, uint64_t *ret) must_check_;
/* Unsigned LEB128 of at most 10 bytes; overlong forms and overflow are refused. */
struct error *cursor_varint(struct cursor *cursor, uint64_t *ret) must_check_;
/* `ret` points into the buffer. */
struct error *cursor_bytes(struct cursor *cursor, uint64_t len, const uint8_t **ret) must_check_;
struct error *cursor_skip(struct cursor *cursor, uint64_t len) must_check_;

/* Does as cursor_varint(), for loops that decode millions. Returns false on failure; call
 * cursor_varint() then for the error. */
static inline bool cursor_try_varint(struct cursor *cursor, uint64_t *ret)
{
	const uint8_t *pos = cursor->pos;
	if (__builtin_expect(pos < cursor->end && *pos < 0x80, 1)) {
		*ret = *pos;
		cursor->pos = pos + 1;
		return true;
	}
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && pos < cursor->end; shift += 7) {
		uint8_t byte = *pos++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte >= 0x80)
			continue;
		/* A last byte of 0 adds nothing; the tenth has room for one bit. */
		if (byte == 0 || (shift == 63 && byte > 1))
			return false;
		*ret = value;
		cursor->pos = pos;
		return true;
	}
	return false;
}

#endif
