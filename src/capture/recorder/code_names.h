/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that is in no file. Programs that make code at run time (V8, LuaJIT, CPython, the
 * JVM with an agent) can list it in /tmp/perf-PID.map, for perf: lines of "START SIZE NAME" in
 * hexadecimal, later ones valid instead of earlier ones. Which addresses stacks need is noted as
 * they come; the list is read once, at the end, and only what names such an address is kept: a list
 * of a million functions costs a recording some hundred.
 *
 * The list is the program's, in its own mount namespace, so it is input like any other: bounded,
 * only believed as a plain file of the same user's, and names at most decorate.
 */
#ifndef CAPTURE_CODE_NAMES_H
#define CAPTURE_CODE_NAMES_H

#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

#define CODE_ADDRESSES_MAX (1u << 20)
#define CODE_NAME_BYTES_MAX 1024u
/* Of the list, and of all names kept. */
#define CODE_LIST_BYTES_MAX (256u << 20)
#define CODE_NAMES_BYTES_MAX (16u << 20)
/* Lines may name the same address again and again. */
#define CODE_NAMINGS_MAX (1u << 24)

struct code_name {
	uint64_t address; /* return address in a stack */
	char *name;       /* NULL: none known */
	uint32_t name_len;
};

DEFINE_VEC(code_name_vec, struct code_name)

struct code_names {
	struct code_name_vec rows;
	int folder; /* the program's /tmp, O_PATH; -1: not open */
};

void code_names_init(struct code_names *names);
void code_names_deinit(struct code_names *names);

/*
 * A stack goes through code of no file at this address. The first time the program's /tmp is
 * opened, while it can be. Without memory the address goes without a name.
 */
void code_names_note(struct code_names *names, pid_t pid, uint64_t address);

/* Names frames at this address, which were not noted. `name` is copied. */
void code_names_add(struct code_names *names, uint64_t address, const char *name, size_t bytes);

/*
 * Reads the list of the program, whose id is `target_pid` to itself and `pid` to us. Afterwards
 * rows are those with a name, ascending by address, each address once.
 */
void code_names_read(struct code_names *names, pid_t pid, pid_t target_pid);

#endif
