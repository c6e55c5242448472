/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of an lz4 file that is cut off in a block. Libraries unpack whole blocks alone, and one
 * may be of 4 MiB, which is more than many a core. What is there of the last one is unpacked here,
 * as far as it goes (LZ4 frame format 1.6, LZ4 block format).
 */
#ifndef PROCESS_CORE_LZ4_H
#define PROCESS_CORE_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Matches lead back that far at most. */
#define CORE_LZ4_WINDOW (64u << 10)

/* Whether these first bytes of a file are lz4's; 4 are enough. */
bool core_lz4_is(const void *head, size_t len);

/* The last block of a file that ends in it. */
struct core_lz4_cut {
	uint64_t offset;   /* of what it is packed to, in the file */
	size_t len;        /* bytes of that that are there */
	uint64_t before;   /* whole blocks */
	size_t block_most; /* to so much each of these is unpacked, but for the last of a frame */
	bool is_plain;     /* it is not packed */
	bool is_alone;     /* it refers to nothing before it */
};

/* False: the file does not end in a block, is no such file, or can't be read. */
bool core_lz4_find_cut(int fd, uint64_t size, struct core_lz4_cut *ret);

/*
 * Unpacks the first `len` bytes of a block to `out` behind `known` bytes of what came before, up to
 * `room` bytes in all. Returns how many are there then; it ends where the block makes no sense,
 * too.
 */
size_t core_lz4_unpack(const uint8_t *block, size_t len, uint8_t *out, size_t known, size_t room);

#endif
