/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/python/python_lines.h"

#include <stdbool.h>

/* Pairs of steps: of the instruction's offset, of the line. */
static uint32_t line_of_steps(
	bool is_signed, const uint8_t *table, size_t len, uint32_t first, uint64_t offset)
{
	uint64_t at = 0;
	int64_t line = first;
	for (size_t i = 0; i + 2 <= len; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += is_signed ? (int8_t)table[i + 1] : table[i + 1];
	}
	return (uint32_t)line;
}

/* Pairs of a range's length and its line's distance from the one before; -128: it has no line. */
static uint32_t line_of_ranges(const uint8_t *table, size_t len, uint32_t first, uint64_t offset)
{
	uint64_t end = 0;
	int64_t line = first;
	for (size_t i = 0; i + 2 <= len; i += 2) {
		int8_t step = (int8_t)table[i + 1];
		end += table[i];
		line += step == -128 ? 0 : step;
		if (offset < end)
			return step == -128 ? 0 : (uint32_t)line;
	}
	return 0;
}

/* An entry begins with a byte whose highest bit is set: what it says, and how many pairs of bytes
 * of code it is for. Numbers are by six bits, the lowest first. */
#define PLACE_BEGIN 0x80u
enum { PLACE_ONE_LINE = 10, PLACE_NO_COLUMNS = 13, PLACE_LONG = 14, PLACE_NONE = 15 };

static int64_t read_signed(const uint8_t *table, size_t len, size_t at)
{
	uint64_t value = 0;
	for (unsigned shift = 0; at < len && shift < 36; shift += 6, at++) {
		value |= (uint64_t)(table[at] & 63) << shift;
		if (!(table[at] & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t line_of_places(const uint8_t *table, size_t len, uint32_t first, uint64_t offset)
{
	uint64_t end = 0;
	int64_t line = first;
	for (size_t i = 0; i < len; i++) {
		if (!(table[i] & PLACE_BEGIN))
			continue;
		unsigned kind = table[i] >> 3 & 15;
		if (kind == PLACE_NO_COLUMNS || kind == PLACE_LONG)
			line += read_signed(table, len, i + 1);
		else if (kind >= PLACE_ONE_LINE && kind < PLACE_NO_COLUMNS)
			line += kind - PLACE_ONE_LINE;
		end += 2ull * ((table[i] & 7u) + 1);
		if (offset < end)
			return kind == PLACE_NONE ? 0 : (uint32_t)line;
	}
	return 0;
}

uint32_t python_line(
	enum python_lines kind, const uint8_t *table, size_t len, uint32_t first, uint64_t offset)
{
	switch (kind) {
	case PYTHON_LINES_STEPS_OLD:
		return line_of_steps(false, table, len, first, offset);
	case PYTHON_LINES_STEPS:
		return line_of_steps(true, table, len, first, offset);
	case PYTHON_LINES_RANGES:
		return line_of_ranges(table, len, first, offset);
	case PYTHON_LINES_PLACES:
		break;
	}
	return line_of_places(table, len, first, offset);
}
