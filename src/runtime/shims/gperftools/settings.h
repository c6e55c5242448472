/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What gperftools' heap profiler reads from the environment, and what it means for the collector.
 */
#ifndef RUNTIME_SHIMS_GPERFTOOLS_SETTINGS_H
#define RUNTIME_SHIMS_GPERFTOOLS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/shims/gperftools/line.h"

struct gp_settings {
	/* Distances of dumps in bytes, and in seconds; 0 or less: none. */
	int64_t allocated, freed, in_use, seconds;
	bool maps, only_maps; /* mappings, too; them alone */
	bool removes_old;     /* files of an earlier run */
	bool talks;           /* on stderr */
};

/* A function like getenv(3). */
typedef const char *gp_find_variable(const char *name);

/* Reads all; as gperftools, numbers are what strtoll(3) makes of them: nonsense is 0. */
void gp_settings_read(gp_find_variable *find, struct gp_settings *ret);

/*
 * Adds the lines of HW_ASK_CONFIGURE (format/request.h) for profiles with that prefix. Returns
 * false if they don't fit, or the prefix can't be a part of them.
 */
bool gp_settings_plan(
	const struct gp_settings *settings, const char *prefix, struct gp_line *lines);

/* Adds "Exiting, 5 kB in use", the reason for a profile at the end. */
void gp_add_exit_reason(struct gp_line *line, uint64_t bytes);

/* Reads the sum of live bytes from the beginning of a profile. Returns false if it is none. */
bool gp_read_live_bytes(const char *profile, uint64_t *ret);

#endif
