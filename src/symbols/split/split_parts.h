/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a .dwo or .dwp file that one unit needs. In a .dwo these are whole sections, in a .dwp a
 * part of each, which .debug_cu_index tells.
 */
#ifndef SYMBOLS_SPLIT_PARTS_H
#define SYMBOLS_SPLIT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbols/split/object.h"

#define SPLIT_UNIT_HEADER_BYTES 20u /* DWARF 5, 32 bits, with the id */

struct split_bytes {
	const uint8_t *data;
	size_t len;
};

/* What a unit needs, as numbered in an index (DWARF 5, 7.3.5.3); an old one has something else for
 * SPLIT_RNGLISTS. */
enum split_part {
	SPLIT_INFO = 1,
	SPLIT_ABBREV = 3,
	SPLIT_LINE,
	SPLIT_STR_OFFSETS = 6,
	SPLIT_RNGLISTS = 8,
	SPLIT_PARTS
};

struct split_parts {
	struct split_bytes of[SPLIT_PARTS];
	struct split_bytes strings;
	bool old; /* before DWARF 5 */
};

/* A little-endian number of up to 8 bytes; 0 where there are not this many. */
static inline uint64_t split_number(struct split_bytes bytes, size_t at, size_t width)
{
	uint64_t value = 0;
	if (at > bytes.len || bytes.len - at < width)
		return 0;
	memcpy(&value, bytes.data + at, width);
	return value;
}

/* Nothing if it goes beyond the end. */
static inline struct split_bytes split_slice(struct split_bytes bytes, uint64_t start, uint64_t len)
{
	if (start > bytes.len || bytes.len - start < len)
		return (struct split_bytes){NULL, 0};
	return (struct split_bytes){bytes.data + start, len};
}

/* Returns what is in a section, unpacked; nothing if there is none. The object keeps it. */
struct split_bytes split_section(const struct object *object, const char *name);

/* Finds what the unit of that id needs; false: it is not in the file, or damaged. */
bool split_parts_find(const struct object *object, uint64_t id, struct split_parts *ret);

#endif
