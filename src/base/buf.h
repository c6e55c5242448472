/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable buffer of bytes to write: the counterpart of base/cursor.h. If there is no memory, an
 * addition returns false and sets `failed`, and further additions do nothing, so that a caller may
 * also check once at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_BYTES_MAX 10u

struct buf {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

void buf_init(struct buf *buf);
void buf_deinit(struct buf *buf);
/* Empties the buffer, clears `failed` and keeps the memory. */
void buf_clear(struct buf *buf);
/* Makes room for `more` more bytes. */
bool buf_reserve(struct buf *buf, size_t more);

bool buf_bytes(struct buf *buf, const void *data, size_t len);
bool buf_u8(struct buf *buf, uint8_t value);
/* Little endian. */
bool buf_u16(struct buf *buf, uint16_t value);
bool buf_u32(struct buf *buf, uint32_t value);
bool buf_u64(struct buf *buf, uint64_t value);

/* Unsigned LEB128, shortest form. */
static inline bool buf_varint(struct buf *buf, uint64_t value)
{
	if (buf->cap - buf->len < VARINT_BYTES_MAX && !buf_reserve(buf, VARINT_BYTES_MAX))
		return false;
	uint8_t *pos = buf->data + buf->len;
	for (; value >= 0x80; value >>= 7)
		*pos++ = (uint8_t)value | 0x80;
	*pos++ = (uint8_t)value;
	buf->len = (size_t)(pos - buf->data);
	return true;
}

/* Signed numbers as unsigned ones, small for a small magnitude: 0, -1, 1, -2… give 0, 1, 2, 3… */
static inline uint64_t zigzag_encode(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t zigzag_decode(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

#endif
