/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cursor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cursor_init(
	struct cursor *cursor, const char *name, const void *data, size_t len, uint64_t file_offset)
{
	const uint8_t *start = data;
	/* An empty buffer may be NULL, which has no arithmetic. */
	*cursor = (struct cursor){
		.start = start,
		.pos = start,
		.end = len ? start + len : start,
		.file_offset = file_offset,
		.name = name,
	};
}

struct error *cursor_error(const struct cursor *cursor, const char *format, ...)
{
	char what[256];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_create(ERROR_INPUT, "%s: offset %" PRIu64 ": %s", cursor->name,
		cursor_offset(cursor), what);
}

struct error *cursor_bytes(struct cursor *cursor, uint64_t len, const uint8_t **ret)
{
	if (len > cursor_left(cursor))
		return cursor_error(cursor, "%" PRIu64 " bytes are due, %zu are left", len,
			cursor_left(cursor));
	*ret = cursor->pos;
	cursor->pos += len;
	return NULL;
}

struct error *cursor_skip(struct cursor *cursor, uint64_t len)
{
	const uint8_t *skipped;
	return cursor_bytes(cursor, len, &skipped);
}

/* Zero bytes beyond `len` make the rest of a little endian integer. */
static struct error *cursor_integer(struct cursor *cursor, unsigned len, uint64_t *ret)
{
	const uint8_t *bytes;
	struct error *error = cursor_bytes(cursor, len, &bytes);
	if (error)
		return error;
	uint64_t value = 0;
	memcpy(&value, bytes, len);
	*ret = value;
	return NULL;
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are copied as they lie");

struct error *cursor_u8(struct cursor *cursor, uint8_t *ret)
{
	uint64_t value = 0;
	struct error *error = cursor_integer(cursor, sizeof(*ret), &value);
	if (!error)
		*ret = (uint8_t)value;
	return error;
}

struct error *cursor_u16(struct cursor *cursor, uint16_t *ret)
{
	uint64_t value = 0;
	struct error *error = cursor_integer(cursor, sizeof(*ret), &value);
	if (!error)
		*ret = (uint16_t)value;
	return error;
}

struct error *cursor_u32(struct cursor *cursor, uint32_t *ret)
{
	uint64_t value = 0;
	struct error *error = cursor_integer(cursor, sizeof(*ret), &value);
	if (!error)
		*ret = (uint32_t)value;
	return error;
}

struct error *cursor_u64(struct cursor *cursor, uint64_t *ret)
{
	return cursor_integer(cursor, sizeof(*ret), ret);
}

struct error *cursor_varint(struct cursor *cursor, uint64_t *ret)
{
	if (cursor_try_varint(cursor, ret))
		return NULL;
	size_t left = cursor_left(cursor);
	for (size_t i = 0; i < left && i < 10; i++)
		if (cursor->pos[i] < 0x80)
			return cursor_error(
				cursor, "a number is too large or not in its shortest form");
	return cursor_error(cursor, left < 10 ? "a number is cut off" : "a number is too long");
}
