/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * zstd frames whose unpacked size is stored beside them. A compressor keeps zstd's contexts (a few
 * MB at the usual levels) from one call to the next; zstd_compress and zstd_decompress are for
 * single calls.
 */
#ifndef BASE_COMPRESS_H
#define BASE_COMPRESS_H

#include "base/buf.h"
#include "base/error.h"

struct compressor {
	struct ZSTD_CCtx_s *packer; /* NULL until first used, as the other */
	struct ZSTD_DCtx_s *unpacker;
};

void compressor_init(struct compressor *compressor);
void compressor_deinit(struct compressor *compressor);

/* Compresses `len` bytes into one frame and appends it to `ret`. */
struct error *compressor_pack(struct compressor *compressor, int level, const void *data,
	size_t len, struct buf *ret) must_check_;

/*
 * Decompresses the single frame in `data` into `ret_data`, exactly `raw_len` bytes. Returns
 * ERROR_INPUT for anything else, without file and offset, which the caller adds.
 */
struct error *compressor_unpack(struct compressor *compressor, const void *data, size_t len,
	void *ret_data, size_t raw_len) must_check_;

struct error *zstd_compress(int level, const void *data, size_t len, struct buf *ret) must_check_;

/*
 * Does as compressor_unpack(), into memory that the caller frees. `raw_len` bytes are allocated
 * without a check, so check it for plausibility before. 0 gives a valid pointer, too.
 */
struct error *zstd_decompress(
	const void *data, size_t len, size_t raw_len, uint8_t **ret) must_check_;

#endif
