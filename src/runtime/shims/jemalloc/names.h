/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of mallctl() that are answered here, and how. */
#ifndef RUNTIME_SHIMS_JEMALLOC_NAMES_H
#define RUNTIME_SHIMS_JEMALLOC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum je_type { JE_BOOL, JE_UNSIGNED, JE_U64, JE_SIZE, JE_SSIZE, JE_TEXT };

union je_value {
	bool is;
	unsigned number;
	uint64_t u64;
	size_t size;
	ssize_t ssize;
	const char *text;
};

struct je_name {
	const char *name;
	enum je_type type;
	bool of_profiler; /* answered here even if a real jemalloc is in the process */
	bool needs_prof;  /* ENOENT while opt.prof is off, before all else */
	bool reads_xor_writes;
	/* Returns 0 or an errno. NULL: it is only to be written. */
	int (*get)(union je_value *ret);
	/* *value is NULL for a text, and nothing otherwise, if the caller gave nothing, which is
	 * only passed on if `sets_nothing`. Returns 0 or an errno. NULL: it is only to be read. */
	int (*set)(const union je_value *value);
	bool sets_nothing;
};

/* Returns the number of a name in the table; -1: there is none. */
int je_name_find(const char *name);
/* Returns a row of the table; NULL: there is none. */
const struct je_name *je_name_get(size_t number);
/* Returns the bytes of a type. */
size_t je_type_bytes(enum je_type type);

#endif
