/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zstd frames whose unpacked size is stored beside them. */
#ifndef BASE_COMPRESS_H
#define BASE_COMPRESS_H

#include "base/buf.h"
#include "base/error.h"

/* zstd's context, which is a few MB at the usual levels, kept from one call to the next. */
struct compressor {
	struct ZSTD_CCtx_s *context;
};

struct error *compressor_init(struct compressor *compressor) must_check_;
void compressor_deinit(struct compressor *compressor);

/* Appends one frame to `ret`. */
struct error *zstd_compress(struct compressor *compressor, int level, const void *data, size_t len,
	struct buf *ret) must_check_;

/*
 * Unpacks the one frame that `data` is into `raw_len` bytes exactly, which the caller frees;
 * anything else is an ERROR_INPUT (without file or offset: the caller knows those). `raw_len` is
 * allocated as it is: check it against what is sensible before. 0 gives a pointer too.
 */
struct error *zstd_decompress(
	const void *data, size_t len, size_t raw_len, uint8_t **ret) must_check_;

#endif
