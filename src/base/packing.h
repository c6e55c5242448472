/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compresses and decompresses gzip and zstd files as streams, in pieces, with little memory
 * whatever the size. Several members (frames) in a row are one file, as for gzip(1) and zstd(1).
 */
#ifndef BASE_PACKING_H
#define BASE_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

/* Returns the format by the first bytes of a file; 4 are enough. */
enum packing packing_of(const void *head, size_t len);
/* Returns the format by the end of a file's name, .gz or .zst; PACKING_NONE for other names. */
enum packing packing_by_name(const char *path);
/* Returns "gzip" or "zstd". */
const char *packing_name(enum packing packing);

struct unpacker;

struct error *unpacker_create(enum packing packing, struct unpacker **ret) must_check_;
void unpacker_destroy(struct unpacker *unpacker);

static inline void unpacker_cleanup(struct unpacker **unpacker)
{
	unpacker_destroy(*unpacker);
}

/*
 * Reads some of the *len bytes at *data, advances both, and writes at most `room` bytes. If
 * *ret_len and *len are 0, it needs more input. Returns ERROR_INPUT, without file and offset, if
 * the input is damaged.
 */
struct error *unpacker_run(struct unpacker *unpacker, const uint8_t **data, size_t *len, void *out,
	size_t room, size_t *ret_len) must_check_;
/* Returns whether the input so far is a complete file. */
bool unpacker_is_whole(const struct unpacker *unpacker);

struct packer;

struct error *packer_create(enum packing packing, struct packer **ret) must_check_;
void packer_destroy(struct packer *packer);

static inline void packer_cleanup(struct packer **packer)
{
	packer_destroy(*packer);
}

typedef void (*packer_write)(void *ctx, const char *data, size_t len);

/* Compresses `len` more bytes and calls write() with the output; if `last`, with all of the rest.
 */
struct error *packer_run(struct packer *packer, const void *data, size_t len, bool last,
	packer_write write, void *ctx) must_check_;

#endif
