/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void buf_init(struct buf *buf)
{
	*buf = (struct buf){0};
}

void buf_deinit(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	buf->failed = false;
}

bool buf_reserve(struct buf *buf, size_t more)
{
	if (buf->failed)
		return false;
	if (more <= buf->cap - buf->len)
		return true;
	size_t want;
	void *data = buf->data;
	if (__builtin_add_overflow(buf->len, more, &want) || !vec_grow(&data, &buf->cap, want, 1)) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	return true;
}

bool buf_bytes(struct buf *buf, const void *data, size_t len)
{
	if (!buf_reserve(buf, len))
		return false;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	return true;
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are copied as they lie");

bool buf_u8(struct buf *buf, uint8_t value)
{
	return buf_bytes(buf, &value, sizeof(value));
}

bool buf_u16(struct buf *buf, uint16_t value)
{
	return buf_bytes(buf, &value, sizeof(value));
}

bool buf_u32(struct buf *buf, uint32_t value)
{
	return buf_bytes(buf, &value, sizeof(value));
}

bool buf_u64(struct buf *buf, uint64_t value)
{
	return buf_bytes(buf, &value, sizeof(value));
}
