/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which line of a function of Python's an instruction is in (Objects/lnotab_notes.txt and
 * locations.md, PEP 626, PEP 657). */
#ifndef HEAP_PYTHON_LINES_H
#define HEAP_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

enum python_lines {
	PYTHON_LINES_STEPS_OLD, /* Python 2: co_lnotab; lines only go up */
	PYTHON_LINES_STEPS,     /* to 3.9 */
	PYTHON_LINES_RANGES,    /* 3.10: co_linetable */
	PYTHON_LINES_PLACES,    /* 3.11 and later */
};

/* Returns the line of the instruction at byte `offset`; 0: it has none. `first`: the function's
 * line. */
uint32_t python_line(
	enum python_lines kind, const uint8_t *table, size_t len, uint32_t first, uint64_t offset);

#endif
