/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the agent is told to write, or the JVM ends; the caller holds the agent's lock.
 * May touch: the tables, which stay as they are; one file descriptor.
 *
 * Writes the tables as a pprof profile (profile.proto of github.com/google/pprof, in heapwise's own
 * words; not compressed), which heapwise and pprof both read: a sample for each stack, class and
 * size, the class as the innermost frame.
 */
#ifndef RUNTIME_JVM_PROFILE_WRITE_H
#define RUNTIME_JVM_PROFILE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/jvm/sample_tables.h"

struct profile_facts {
	uint64_t interval;    /* mean bytes between samples; 0 or 1: each object is there */
	uint64_t start_ns;    /* when it began, of CLOCK_REALTIME */
	uint64_t duration_ns; /* how long it was recorded */
	bool has_live;        /* the cells' live figures are known */
	uint32_t collections; /* of garbage, since the recording began */
	uint64_t young_bytes; /* of what is live: allocated after the last garbage collection */
	bool short_names;     /* classes without their packages */
	const char *program;  /* what the JVM runs; "": nobody said */
};

/* Returns 0, or the errno value of what failed; the file is incomplete then. */
int profile_write(int fd, const struct sample_tables *tables, const struct profile_facts *facts);

#endif
