/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that a program made at run time, in the stacks of its threads: by its perf map
 * (process/perf_map.h), as it is now. Of a core the program is gone, so that nothing tells whether
 * the map is its own or that of another process with the same number: that is said.
 */
#ifndef HEAP_MADE_CODE_H
#define HEAP_MADE_CODE_H

#include "base/arena.h"
#include "base/vec.h"
#include "process/address_space.h"
#include "process/perf_map.h"

struct made_function {
	uint64_t address; /* that it was asked for */
	const char *name; /* NULL: not known */
};
DEFINE_VEC(made_functions, struct made_function)

struct made_code {
	struct made_functions functions; /* ascending, each once */
	struct arena arena;
	enum perf_map_state state;
	char words[PERF_MAP_WORDS_BYTES + 128]; /* a sentence on the map; "": none was needed */
};

void made_code_init(struct made_code *code);
void made_code_deinit(struct made_code *code);

/* Adds the address of an instruction that is in no module. */
struct error *made_code_want(struct made_code *code, uint64_t address) must_check_;

/* Looks for the names of what was wanted. That a map is missing is no error. */
struct error *made_code_read(struct made_code *code, const struct address_space *space) must_check_;

/* Returns the name of an address that was wanted; NULL: not known. */
const char *made_code_name(const struct made_code *code, uint64_t address);

#endif
