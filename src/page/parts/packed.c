/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/packed.h"

#include "base/cleanup.h"
#include "base/packing.h"

static void append_bytes(void *ctx, const char *data, size_t len)
{
	buf_bytes(ctx, data, len);
}

struct error *page_pack(const void *data, size_t len, struct buf *ret)
{
	_cleanup_(packer_cleanup) struct packer *packer = NULL;
	struct error *error = packer_create(PACKING_GZIP, &packer);
	if (!error)
		error = packer_run(packer, data, len, true, append_bytes, ret);
	return !error && ret->failed ? error_no_memory() : error;
}

static void encode_three(const uint8_t *data, size_t len, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = (unsigned)data[0] << 16 | (len > 1 ? (unsigned)data[1] << 8 : 0u) |
			(len > 2 ? data[2] : 0u);
	ret[0] = digits[bits >> 18];
	ret[1] = digits[bits >> 12 & 63];
	ret[2] = len > 1 ? digits[bits >> 6 & 63] : '=';
	ret[3] = len > 2 ? digits[bits & 63] : '=';
}

bool page_put_base64(const uint8_t *data, size_t len, const struct sink *sink)
{
	char text[65536];
	size_t filled = 0;
	for (size_t at = 0; at < len; at += 3) {
		if (filled == sizeof(text)) {
			if (!sink->write(sink->ctx, text, filled))
				return false;
			filled = 0;
		}
		encode_three(data + at, len - at, text + filled);
		filled += 4;
	}
	return sink->write(sink->ctx, text, filled);
}
