/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/packing.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/util.h"

/* zlib: the largest window, and a header of gzip. */
#define GZIP_WINDOW (15 + 16)
#define OUT_BYTES 65536u
/* No file of the formats read here needs a larger window; zstd --ultra would take 2 GiB. */
#define ZSTD_WINDOW_LOG_MAX 27

struct unpacker {
	enum packing packing;
	z_stream gzip;
	bool gzip_open;
	bool inside; /* a member that has not ended */
	ZSTD_DCtx *zstd;
};

struct packer {
	enum packing packing;
	z_stream gzip;
	bool gzip_open;
	ZSTD_CCtx *zstd;
	char out[OUT_BYTES];
};

enum packing packing_of(const void *head, size_t len)
{
	static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	if (len >= sizeof(gzip) && memcmp(head, gzip, sizeof(gzip)) == 0)
		return PACKING_GZIP;
	if (len >= sizeof(zstd) && memcmp(head, zstd, sizeof(zstd)) == 0)
		return PACKING_ZSTD;
	return PACKING_NONE;
}

enum packing packing_by_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	if (dot && strcmp(dot, ".gz") == 0)
		return PACKING_GZIP;
	return dot && strcmp(dot, ".zst") == 0 ? PACKING_ZSTD : PACKING_NONE;
}

const char *packing_name(enum packing packing)
{
	return packing == PACKING_GZIP ? "gzip" : packing == PACKING_ZSTD ? "zstd" : "nothing";
}

struct error *unpacker_create(enum packing packing, struct unpacker **ret)
{
	_cleanup_(unpacker_cleanup) struct unpacker *unpacker = calloc(1, sizeof(*unpacker));
	if (!unpacker)
		return error_no_memory();
	unpacker->packing = packing;
	if (packing == PACKING_GZIP) {
		if (inflateInit2(&unpacker->gzip, GZIP_WINDOW) != Z_OK)
			return error_no_memory();
		unpacker->gzip_open = true;
	} else if (packing == PACKING_ZSTD) {
		unpacker->zstd = ZSTD_createDCtx();
		if (!unpacker->zstd)
			return error_no_memory();
		ZSTD_DCtx_setParameter(unpacker->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	}
	*ret = steal_ptr(unpacker);
	return NULL;
}

void unpacker_destroy(struct unpacker *unpacker)
{
	if (!unpacker)
		return;
	if (unpacker->gzip_open)
		inflateEnd(&unpacker->gzip);
	ZSTD_freeDCtx(unpacker->zstd);
	free(unpacker);
}

static struct error *run_gzip(struct unpacker *unpacker, const uint8_t **data, size_t *len,
	void *out, size_t room, size_t *ret_len)
{
	z_stream *gzip = &unpacker->gzip;
	/* zlib's interface takes bytes that it does not change as if it did. */
	gzip->next_in = (Bytef *)(uintptr_t)*data;
	gzip->avail_in = (uInt)min(*len, (size_t)UINT_MAX);
	gzip->next_out = out;
	gzip->avail_out = (uInt)min(room, (size_t)UINT_MAX);
	size_t in = gzip->avail_in, out_room = gzip->avail_out;
	if (in && !unpacker->inside) {
		if (inflateReset(gzip) != Z_OK)
			return error_create(ERROR_INTERNAL, "zlib cannot begin again");
		unpacker->inside = true;
	}
	int code = inflate(gzip, Z_NO_FLUSH);
	*data += in - gzip->avail_in;
	*len -= in - gzip->avail_in;
	*ret_len = out_room - gzip->avail_out;
	if (code == Z_STREAM_END)
		unpacker->inside = false;
	else if (code == Z_MEM_ERROR)
		return error_no_memory();
	else if (code != Z_OK && code != Z_BUF_ERROR)
		return error_create(ERROR_INPUT, "cannot unpack what gzip packed: %s",
			gzip->msg ? gzip->msg : "damaged");
	return NULL;
}

static struct error *run_zstd(struct unpacker *unpacker, const uint8_t **data, size_t *len,
	void *out, size_t room, size_t *ret_len)
{
	ZSTD_inBuffer from = {.src = *data, .size = *len};
	ZSTD_outBuffer to = {.dst = out, .size = room};
	size_t code = ZSTD_decompressStream(unpacker->zstd, &to, &from);
	if (ZSTD_isError(code))
		return error_create(
			ERROR_INPUT, "cannot unpack what zstd packed: %s", ZSTD_getErrorName(code));
	*data += from.pos;
	*len -= from.pos;
	*ret_len = to.pos;
	/* Asked with nothing to go on it answers how a next frame would begin. */
	if (from.pos || to.pos)
		unpacker->inside = code != 0;
	return NULL;
}

struct error *unpacker_run(struct unpacker *unpacker, const uint8_t **data, size_t *len, void *out,
	size_t room, size_t *ret_len)
{
	if (unpacker->packing == PACKING_GZIP)
		return run_gzip(unpacker, data, len, out, room, ret_len);
	if (unpacker->packing == PACKING_ZSTD)
		return run_zstd(unpacker, data, len, out, room, ret_len);
	size_t some = min(*len, room);
	if (some) { /* of nothing there may be no address */
		memcpy(out, *data, some);
		*data += some;
	}
	*len -= some;
	*ret_len = some;
	return NULL;
}

bool unpacker_is_whole(const struct unpacker *unpacker)
{
	return !unpacker->inside;
}

struct error *packer_create(enum packing packing, struct packer **ret)
{
	_cleanup_(packer_cleanup) struct packer *packer = calloc(1, sizeof(*packer));
	if (!packer)
		return error_no_memory();
	packer->packing = packing;
	if (packing == PACKING_GZIP) {
		if (deflateInit2(&packer->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
			    MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
			return error_no_memory();
		packer->gzip_open = true;
	} else if (packing == PACKING_ZSTD) {
		packer->zstd = ZSTD_createCCtx();
		if (!packer->zstd)
			return error_no_memory();
	}
	*ret = steal_ptr(packer);
	return NULL;
}

void packer_destroy(struct packer *packer)
{
	if (!packer)
		return;
	if (packer->gzip_open)
		deflateEnd(&packer->gzip);
	ZSTD_freeCCtx(packer->zstd);
	free(packer);
}

static struct error *pack_gzip(struct packer *packer, const void *data, size_t len, bool last,
	packer_write write, void *ctx)
{
	z_stream *gzip = &packer->gzip;
	const Bytef *from = data;
	do {
		size_t some = min(len, (size_t)UINT_MAX);
		gzip->next_in = (Bytef *)(uintptr_t)from;
		gzip->avail_in = (uInt)some;
		len -= some;
		from += some;
		int code;
		do {
			gzip->next_out = (Bytef *)packer->out;
			gzip->avail_out = OUT_BYTES;
			code = deflate(gzip, last && !len ? Z_FINISH : Z_NO_FLUSH);
			if (code == Z_STREAM_ERROR)
				return error_create(ERROR_INTERNAL, "zlib cannot pack");
			if (gzip->avail_out < OUT_BYTES)
				write(ctx, packer->out, OUT_BYTES - gzip->avail_out);
		} while (gzip->avail_out == 0);
	} while (len);
	return NULL;
}

static struct error *pack_zstd(struct packer *packer, const void *data, size_t len, bool last,
	packer_write write, void *ctx)
{
	ZSTD_inBuffer from = {.src = data, .size = len};
	size_t left;
	do {
		ZSTD_outBuffer to = {.dst = packer->out, .size = OUT_BYTES};
		left = ZSTD_compressStream2(
			packer->zstd, &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return error_create(
				ERROR_ENVIRONMENT, "zstd cannot pack: %s", ZSTD_getErrorName(left));
		if (to.pos)
			write(ctx, packer->out, to.pos);
	} while (last ? left != 0 : from.pos < from.size);
	return NULL;
}

struct error *packer_run(struct packer *packer, const void *data, size_t len, bool last,
	packer_write write, void *ctx)
{
	if (packer->packing == PACKING_GZIP)
		return pack_gzip(packer, data, len, last, write, ctx);
	if (packer->packing == PACKING_ZSTD)
		return pack_zstd(packer, data, len, last, write, ctx);
	if (len)
		write(ctx, data, len);
	return NULL;
}
