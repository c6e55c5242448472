/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that is in no file. Programs that make code at run time (V8, LuaJIT, CPython, .NET,
 * the JVM when it is asked) can list it in a perf map (process/perf_map.h). Which addresses stacks
 * need is noted as they come; the list is read once, at the end, and only what names such an
 * address is kept: a list of a million functions costs a recording some hundred.
 *
 * Code comes and goes, and lines have no times. So an address is noted with how long the list was
 * then: of the lines before that the last one counts, as it replaced the others. Lines that came
 * later may be of other code; some writers buffer them, though (V8 up to 2 MiB), so that they may
 * as well be of this. If they give another name, the name says so: "this (later that)".
 *
 * The list is the program's, in its own mount namespace, so it is input like any other: bounded,
 * and names at most decorate.
 */
#ifndef CAPTURE_CODE_NAMES_H
#define CAPTURE_CODE_NAMES_H

#include "base/vec.h"
#include "process/perf_map.h"

#include <stdint.h>
#include <sys/types.h>

#define CODE_ADDRESSES_MAX (1u << 20)
/* Of all names kept. */
#define CODE_NAMES_BYTES_MAX (16u << 20)
/* Lines may name the same address again and again. */
#define CODE_NAMINGS_MAX (1u << 24)

struct code_name {
	uint64_t address; /* return address in a stack */
	uint64_t listed;  /* bytes that the list had when it was noted */
	char *name;       /* NULL: none known */
	uint32_t name_len;
	bool is_settled; /* further names are left aside */
};

DEFINE_VEC(code_name_vec, struct code_name)

struct code_names {
	struct code_name_vec rows;
	struct perf_map_place place;
	FILE *list; /* NULL: not open, or none is there yet */
	enum perf_map_state state;
	bool is_cut; /* there was no room for all addresses or names */
};

void code_names_init(struct code_names *names);
void code_names_deinit(struct code_names *names);

/*
 * A stack goes through code of no file at this address. The first time the place of the list is
 * looked up, while it can be: the program's id is `target_pid` to itself and `pid` to us. Without
 * memory the address goes without a name.
 */
void code_names_note(struct code_names *names, pid_t pid, pid_t target_pid, uint64_t address);

/* Names frames at this address, which were not noted. `name` is copied. */
void code_names_add(struct code_names *names, uint64_t address, const char *name, size_t bytes);

/*
 * Reads the list. `began_ns` (since 1970) is when the program was there already: what counts if it
 * ended before its first address was noted, and then it is taken to be in no container. Afterwards
 * rows are those with a name, ascending by address, each address once, and `state` says what became
 * of the list: PERF_MAP_CUT also if there was no room for all of its names.
 */
void code_names_read(struct code_names *names, pid_t pid, pid_t target_pid, uint64_t began_ns);

#endif
