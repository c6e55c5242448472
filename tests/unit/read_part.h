/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a recording as figures alone: for tests of the writer, whose names are others' in the
 * model. */
#ifndef TESTS_UNIT_READ_PART_H
#define TESTS_UNIT_READ_PART_H

#include <stdbool.h>
#include <stdint.h>

struct part_figures {
	uint64_t by_sums; /* 1; 0: all events before its end were gone through */
	uint64_t allocations, frees, temporary, live_blocks, live_bytes, kept_bytes, peak_bytes;
	uint64_t sites;   /* of figures of all sites, a hash */
	uint64_t threads; /* likewise */
};

/* Reads what lies between so many steps and so many; to UINT64_MAX: the end. False, after printing
 * why: it can't be read, or something is missing from it. */
bool read_part(const char *path, uint64_t from, uint64_t to, struct part_figures *ret);

/* How many chunks of a type the recording has; UINT64_MAX: it can't be read. */
uint64_t count_chunks(const char *path, uint16_t type);

#endif
