/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/compress.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/cleanup.h"

void compressor_init(struct compressor *compressor)
{
	*compressor = (struct compressor){0};
}

void compressor_deinit(struct compressor *compressor)
{
	ZSTD_freeCCtx(compressor->packer);
	ZSTD_freeDCtx(compressor->unpacker);
	*compressor = (struct compressor){0};
}

struct error *compressor_pack(
	struct compressor *compressor, int level, const void *data, size_t len, struct buf *ret)
{
	if (!compressor->packer)
		compressor->packer = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(len);
	if (!compressor->packer || !buf_reserve(ret, bound))
		return error_no_memory();
	size_t packed = ZSTD_compressCCtx(
		compressor->packer, ret->data + ret->len, bound, data, len, level);
	if (ZSTD_isError(packed))
		return error_create(ERROR_ENVIRONMENT, "cannot compress %zu bytes: %s", len,
			ZSTD_getErrorName(packed));
	ret->len += packed;
	return NULL;
}

struct error *compressor_unpack(
	struct compressor *compressor, const void *data, size_t len, void *ret_data, size_t raw_len)
{
	if (!compressor->unpacker)
		compressor->unpacker = ZSTD_createDCtx();
	if (!compressor->unpacker)
		return error_no_memory();
	/* zstd would take several frames in a row, and none, as well. */
	if (ZSTD_findFrameCompressedSize(data, len) != len)
		return error_create(ERROR_INPUT, "not one whole zstd frame");
	size_t unpacked = ZSTD_decompressDCtx(compressor->unpacker, ret_data, raw_len, data, len);
	if (ZSTD_isError(unpacked))
		return error_create(ERROR_INPUT, "cannot unpack: %s", ZSTD_getErrorName(unpacked));
	if (unpacked != raw_len)
		return error_create(
			ERROR_INPUT, "unpacks to %zu bytes instead of %zu", unpacked, raw_len);
	return NULL;
}

struct error *zstd_compress(int level, const void *data, size_t len, struct buf *ret)
{
	_cleanup_(compressor_deinit) struct compressor compressor;
	compressor_init(&compressor);
	return compressor_pack(&compressor, level, data, len, ret);
}

struct error *zstd_decompress(const void *data, size_t len, size_t raw_len, uint8_t **ret)
{
	_cleanup_(compressor_deinit) struct compressor compressor;
	compressor_init(&compressor);
	_cleanup_free_ uint8_t *raw = malloc(raw_len ? raw_len : 1);
	if (!raw)
		return error_no_memory();
	struct error *error = compressor_unpack(&compressor, data, len, raw, raw_len);
	if (error)
		return error;
	*ret = steal_ptr(raw);
	return NULL;
}
