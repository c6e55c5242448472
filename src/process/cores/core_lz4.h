/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompresses the last block of a truncated lz4 file. Libraries decompress whole blocks only, and
 * a block may be 4 MiB, which is more than many a core. What is there of the last block is
 * decompressed here (LZ4 frame format 1.6, LZ4 block format).
 */
#ifndef PROCESS_CORE_LZ4_H
#define PROCESS_CORE_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest distance of a match, in bytes. */
#define CORE_LZ4_WINDOW (64u << 10)

/* Returns whether `len` bytes are the beginning of an lz4 file; 4 are enough. */
bool core_lz4_is(const void *head, size_t len);

/* The last block of a file that ends in it. */
struct core_lz4_cut {
	uint64_t offset;     /* of its data in the file */
	size_t len;          /* bytes of its data that are there */
	uint64_t before;     /* whole blocks before it */
	size_t block_most;   /* decompressed size of each of these but a frame's last, in bytes */
	bool is_plain;       /* it is not compressed */
	bool is_independent; /* it does not refer to data before it */
};

/* Finds the truncated block at the end of a file of `size` bytes. Returns false if the file does
 * not end within a block, is not lz4, or can't be read. */
bool core_lz4_find_cut(int fd, uint64_t size, struct core_lz4_cut *ret);

/*
 * Decompresses the first `len` bytes of a block to `out`, after `known` bytes of preceding data, up
 * to `room` bytes in all. Returns how many bytes `out` then has. Stops early if the block is
 * malformed.
 */
size_t core_lz4_unpack(const uint8_t *block, size_t len, uint8_t *out, size_t known, size_t room);

#endif
