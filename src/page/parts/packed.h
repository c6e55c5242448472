/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of a page as text of its HTML: compressed, in base64. */
#ifndef PAGE_PACKED_H
#define PAGE_PACKED_H

#include "base/buf.h"
#include "base/error.h"
#include "base/sink.h"

/* Appends a gzip file of `len` bytes to `ret`. */
struct error *page_pack(const void *data, size_t len, struct buf *ret) must_check_;

/*
 * As page_pack(), unless the file would be larger than `most`: that is estimated first if there is
 * much to pack. Then nothing is appended. Sets *ret_len to the bytes of the file, or to the
 * estimate, which is more than `most`.
 */
struct error *page_pack_within(
	const void *data, size_t len, size_t most, struct buf *ret, size_t *ret_len) must_check_;

/* Returns how many characters base64 makes of `len` bytes. */
static inline uint64_t page_base64_len(size_t len)
{
	return ((uint64_t)len + 2) / 3 * 4;
}

/* Writes bytes as base64 (RFC 4648, padded, in one line). False: the sink stopped it. */
bool page_put_base64(const uint8_t *data, size_t len, const struct sink *sink);

#endif
