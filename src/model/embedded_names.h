/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that are embedded in a foreign file. heapwise's recordings have only addresses, and
 * symbols are looked up when they are needed. Other tools' profiles contain functions and lines,
 * often without an address, and those are used as they are.
 */
#ifndef MODEL_EMBEDDED_NAMES_H
#define MODEL_EMBEDDED_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function at an address. */
struct embedded_frame {
	const char *function; /* as people read it; NULL: unknown */
	const char *raw_name; /* as the linker knows it; NULL: unknown */
	const char *file;     /* NULL: unknown, and line 0 */
	uint32_t line;        /* 0: unknown */
	bool inlined;         /* into the next one of the run */
};

/* All functions at an address, innermost first; at least one. */
struct embedded_run {
	const struct embedded_frame *frames;
	uint32_t count;
};

#endif
