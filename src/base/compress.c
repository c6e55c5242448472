/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/compress.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/cleanup.h"

struct error *compressor_init(struct compressor *compressor)
{
	compressor->context = ZSTD_createCCtx();
	return compressor->context ? NULL : error_no_memory();
}

void compressor_deinit(struct compressor *compressor)
{
	ZSTD_freeCCtx(compressor->context);
	compressor->context = NULL;
}

struct error *zstd_compress(
	struct compressor *compressor, int level, const void *data, size_t len, struct buf *ret)
{
	size_t bound = ZSTD_compressBound(len);
	if (!buf_reserve(ret, bound))
		return error_no_memory();
	size_t packed = ZSTD_compressCCtx(
		compressor->context, ret->data + ret->len, bound, data, len, level);
	if (ZSTD_isError(packed))
		return error_create(ERROR_ENVIRONMENT, "cannot compress %zu bytes: %s", len,
			ZSTD_getErrorName(packed));
	ret->len += packed;
	return NULL;
}

struct error *zstd_decompress(const void *data, size_t len, size_t raw_len, uint8_t **ret)
{
	/* zstd would take several frames in a row, and none, as well. */
	if (ZSTD_findFrameCompressedSize(data, len) != len)
		return error_create(ERROR_INPUT, "not one whole zstd frame");
	_cleanup_free_ uint8_t *raw = malloc(raw_len ? raw_len : 1);
	if (!raw)
		return error_no_memory();
	size_t unpacked = ZSTD_decompress(raw, raw_len, data, len);
	if (ZSTD_isError(unpacked))
		return error_create(ERROR_INPUT, "cannot unpack: %s", ZSTD_getErrorName(unpacked));
	if (unpacked != raw_len)
		return error_create(
			ERROR_INPUT, "unpacks to %zu bytes instead of %zu", unpacked, raw_len);
	*ret = steal_ptr(raw);
	return NULL;
}
