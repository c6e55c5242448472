/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text blocks: blocks of unknown type that contain text: printable characters (ASCII, or UTF-8)
 * from the beginning up to a NUL, for which an allocator returns a block of just that size. A block
 * larger than its text may be a structure that begins with one, and stays unknown.
 */
#ifndef HEAP_TEXTS_H
#define HEAP_TEXTS_H

#include "heap/heap_scan.h"

/* Returns whether a type is that of text blocks. */
bool texts_is(const struct heap_type *type);

/* Bytes of a text that are enough to know it by, where others are named beside it. */
#define TEXTS_BEGINNING_BYTES 24u

/* Adds the first characters of a text block, as many as are whole in `most` bytes (at most 64);
 * nothing for other blocks. bytes: the first `len` bytes of the block; NULL: they are read. Returns
 * whether more follow. */
bool texts_add_beginning(const struct heap_scan *scan, uint32_t block, const uint8_t *bytes,
	size_t len, size_t most, struct text *ret);
/* Adds the text in quotes after a blank, for a terminal: ` "GET /ind…"`. */
void texts_add_quoted(const struct heap_scan *scan, uint32_t block, struct text *ret);

#endif
