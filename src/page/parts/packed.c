/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/packed.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/packing.h"
#include "base/util.h"

/* From here on the packed size is estimated by every 16th piece. */
#define ESTIMATE_FROM ((size_t)16 << 20)
#define PIECE_LEN ((size_t)128 << 10)
#define PIECE_STEP (16 * PIECE_LEN)
/* An estimate may be too large by this part of it. */
#define ESTIMATE_DOUBT 32u

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

static void count_bytes(void *ctx, const char *data, size_t len)
{
	(void)data;
	*(size_t *)ctx += len;
}

/* Columns are long and alike all the way: pieces at equal distances stand for them. */
static struct error *estimate_packed(const uint8_t *data, size_t len, size_t *ret)
{
	_cleanup_(packer_cleanup) struct packer *packer = NULL;
	struct error *error = packer_create(PACKING_GZIP, &packer);
	size_t packed = 0, seen = 0;
	for (size_t at = 0; !error && at < len; at += PIECE_STEP) {
		size_t piece = min(PIECE_LEN, len - at);
		bool last = len - at <= PIECE_STEP;
		error = packer_run(packer, data + at, piece, last, count_bytes, &packed);
		seen += piece;
	}
	*ret = (size_t)((double)packed * (double)len / (double)max(seen, (size_t)1));
	return error;
}

struct error *page_pack_within(
	const void *data, size_t len, size_t most, struct buf *ret, size_t *ret_len)
{
	struct error *error = NULL;
	*ret_len = 0;
	if (len >= ESTIMATE_FROM)
		error = estimate_packed(data, len, ret_len);
	if (error || *ret_len - *ret_len / ESTIMATE_DOUBT > most)
		return error;
	size_t before = ret->len;
	error = page_pack(data, len, ret);
	*ret_len = ret->len - before;
	return error;
}

static void encode_three(const uint8_t *data, size_t len, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = (unsigned)data[0] << 16 | (len > 1 ? (unsigned)data[1] << 8 : 0u) |
			(len > 2 ? data[2] : 0u);
	memset(ret, '=', 4);
	for (unsigned i = 0; i < 4 && i <= len; i++)
		ret[i] = digits[bits >> (18 - 6 * i) & 63];
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
