/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording whose stacks mix frames of all kinds, made by the recorder from a source that plays
 * its events. (Who includes this knows the model, which the recorder does not.)
 */
#ifndef TESTS_UNIT_MIXED_FRAMES_H
#define TESTS_UNIT_MIXED_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a newer version of the program differs. */
struct mixed_change {
	uint32_t lines; /* its code objects stand so many lines further down */
	/* The qualified names of the code object that calls the methods, and of its caller; NULL:
	 * as they are. */
	const char *renamed, *caller;
	/* The caller has one line more than a recording can have. */
	bool many_lines;
	/* The block of 10 bytes is allocated by a code object itself. */
	bool by_code;
};

/* The bytes of the file; the caller frees them. All 0: nothing is changed. */
uint8_t *mixed_frames_record(struct mixed_change change, size_t *ret_len);

#endif
