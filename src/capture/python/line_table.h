/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of lines of CPython's code objects, as the recorded process copied them (struct hw_code in
 * format/shm.h): outside bytes, in any order that a program likes. The formats are those of
 * Objects/lnotab_notes.txt (up to 3.10) and Objects/locations.md (from 3.11 on).
 */
#ifndef CAPTURE_LINE_TABLE_H
#define CAPTURE_LINE_TABLE_H

#include "base/vec.h"
#include "capture/recorder/event_source.h"

DEFINE_VEC(event_line_vec, struct event_line)

/* A table longer than this many rows is cut. */
#define LINE_TABLE_ROWS_MAX HPW_CODE_LINES_MAX

/*
 * Decodes a table: replaces what is in *ret by rows that ascend by instruction, in bytes of
 * bytecode, each of which holds up to the next one; line 0: the interpreter names none. Lines
 * beyond 32 bits become 0. Returns false if there is no memory; *ret is empty then.
 */
bool line_table_decode(enum hw_line_table format, const uint8_t *bytes, size_t size,
	uint32_t first_line, struct event_line_vec *ret);

#endif
