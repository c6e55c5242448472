/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf maps: lists of code that a program made at run time, which it writes itself for perf(1).
 * V8, CPython, .NET and the JVM write /tmp/perf-PID.map, of lines "START SIZE NAME" in hexadecimal;
 * a later line is valid instead of an earlier one for the same addresses. Both /tmp and the number
 * are as the process sees them, in a container too.
 *
 * Anybody may have written a file by that name, and the last process with the same number may have
 * left its own. So a map is only believed if it is a plain file of the process's user, or of root,
 * and was last written to when the process was there. A process that shares number and /tmp with
 * another one, in two containers, is not distinguished from it in this way.
 */
#ifndef PROCESS_PERF_MAP_H
#define PROCESS_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define PERF_MAP_NAME_BYTES_MAX 1024u
#define PERF_MAP_BYTES_MAX (256u << 20)

/* What became of a map. */
enum perf_map_state {
	PERF_MAP_UNSOUGHT, /* no code needed it */
	PERF_MAP_READ,
	PERF_MAP_MISSING,
	PERF_MAP_STALE,    /* it is older than the process */
	PERF_MAP_STRANGER, /* it belongs to another user */
	PERF_MAP_ODD,      /* it is no plain file */
	PERF_MAP_CLOSED,   /* it can't be opened, or where it would be */
	PERF_MAP_CUT,      /* it was read up to PERF_MAP_BYTES_MAX, or until who took its lines had
			      enough, or had no room for all names */
	PERF_MAP_STATES
};

/* Where the map of a process is, and who may have written it. */
struct perf_map_place {
	int folder;        /* the process's /tmp, O_PATH; -1: not open */
	pid_t pid;         /* as the process itself sees it */
	uid_t user;        /* whose process it is */
	uint64_t began_ns; /* when it started, since 1970 */
};
#define PERF_MAP_PLACE_NONE ((struct perf_map_place){.folder = -1})

/*
 * Finds the place for a process that runs, stopped or not, by its number to the caller and to
 * itself. Returns false if it has ended or may not be looked at; *ret is PERF_MAP_PLACE_NONE then.
 */
bool perf_map_place_open(pid_t pid, pid_t inner_pid, struct perf_map_place *ret);
void perf_map_place_close(struct perf_map_place *place);

/* Opens the map if it may be believed: PERF_MAP_READ, and the caller closes *ret. Otherwise
 * returns why not, and *ret is NULL. */
enum perf_map_state perf_map_open(const struct perf_map_place *place, FILE **ret);

/* A line: code of `bytes` bytes from `start` on. `name` is not terminated, and of at most
 * PERF_MAP_NAME_BYTES_MAX bytes: longer ones are cut. */
struct perf_map_line {
	uint64_t start, bytes;
	const char *name;
	size_t name_bytes;
	uint64_t offset; /* of the line in the file */
};

/*
 * Calls `take` for each line, in their order; false from it ends that. What is no such line is
 * passed over. Returns PERF_MAP_READ or PERF_MAP_CUT.
 */
enum perf_map_state perf_map_each(
	FILE *map, bool (*take)(void *context, const struct perf_map_line *line), void *context);

/* Appends in words which map was used, or why none was, as a sentence without its end: "names are
 * those of /tmp/perf-4711.map". `pid` as the process itself sees it. `ret` has room for
 * PERF_MAP_WORDS_BYTES. */
#define PERF_MAP_WORDS_BYTES 256u
void perf_map_words(enum perf_map_state state, pid_t pid, char ret[static PERF_MAP_WORDS_BYTES]);

#endif
