/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that a foreign file brings itself. Recordings of ours name a place in a file by its
 * address alone, and symbols are looked up when somebody asks; profiles of others have functions
 * and lines in them, often without an address, and what they say counts.
 */
#ifndef MODEL_GIVEN_H
#define MODEL_GIVEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function at an address. */
struct given_frame {
	const char *function; /* as people read it; NULL: unknown */
	const char *raw_name; /* as the linker knows it; NULL: unknown */
	const char *file;     /* NULL: unknown, and line 0 */
	uint32_t line;        /* 0: unknown */
	bool inlined;         /* into the next one of the run */
};

/* All functions at an address, innermost first; at least one. */
struct given_run {
	const struct given_frame *frames;
	uint32_t count;
};

#endif
