/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files packed by gzip(1) or zstd(1), as streams: pieces go in, pieces come out, memory stays small
 * whatever they unpack to. Several members (frames) in a row are one file, as those programs take
 * them.
 */
#ifndef BASE_PACKING_H
#define BASE_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

/* By the first bytes of a file; 4 are enough. */
enum packing packing_of(const void *head, size_t len);
/* By the end of a file's name, .gz or .zst; PACKING_NONE: by neither. */
enum packing packing_by_name(const char *path);
/* "gzip", "zstd". */
const char *packing_name(enum packing packing);

struct unpacker;

struct error *unpacker_create(enum packing packing, struct unpacker **ret) must_check_;
void unpacker_destroy(struct unpacker *unpacker);

static inline void unpacker_cleanup(struct unpacker **unpacker)
{
	unpacker_destroy(*unpacker);
}

/*
 * Takes some of *len bytes at *data, moves both on, and puts out at most `room` bytes; *ret_len 0
 * with *len 0: it wants more. ERROR_INPUT without file and offset: it is damaged.
 */
struct error *unpacker_run(struct unpacker *unpacker, const uint8_t **data, size_t *len, void *out,
	size_t room, size_t *ret_len) must_check_;
/* Whether what went in so far is whole. */
bool unpacker_is_whole(const struct unpacker *unpacker);

struct packer;

struct error *packer_create(enum packing packing, struct packer **ret) must_check_;
void packer_destroy(struct packer *packer);

static inline void packer_cleanup(struct packer **packer)
{
	packer_destroy(*packer);
}

typedef void (*packer_write)(void *ctx, const char *data, size_t len);

/* Packs `len` more bytes and hands on what comes out; `last`: and all the rest. */
struct error *packer_run(struct packer *packer, const void *data, size_t len, bool last,
	packer_write write, void *ctx) must_check_;

#endif
