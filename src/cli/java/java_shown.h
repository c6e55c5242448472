/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile of a JVM in the forms of async-profiler, each by the command of heapwise that has it.
 */
#ifndef CLI_JAVA_SHOWN_H
#define CLI_JAVA_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

enum java_form {
	JAVA_FORM_USUAL, /* the profile itself, and its report */
	JAVA_FORM_FLAT,
	JAVA_FORM_TRACES,
	JAVA_FORM_COLLAPSED,
	JAVA_FORM_TREE,
	JAVA_FORM_FLAMEGRAPH,
	JAVA_FORM_PPROF,
};

DEFINE_VEC(java_patterns, const char *)

struct java_shown {
	enum java_form form;
	bool form_given;
	const char *file; /* "": stdout; NULL: not given */
	uint64_t rows;    /* of flat and traces; 0: the usual number */
	bool objects;     /* figures are objects, no bytes */
	bool reverse, signatures;
	const char *least; /* percent */
	const char *title; /* of a flame graph; NULL: the usual one */
	struct java_patterns include, exclude;
};

/* "flat", "traces=5"; false: it is none. */
bool java_form_parse(const char *word, struct java_shown *ret);
/* The form that a file's name asks for, if none was given: .html and .svg, .collapsed, .pb. */
void java_form_by_name(struct java_shown *shown);

/* A pattern of async-profiler as a regular expression: `*` stands for anything, at either end. The
 * caller frees it; NULL: no memory. */
char *java_pattern_regex(const char *pattern);

/* Shows the profile in the file `path`. Returns the exit code, after saying what is wrong. */
int java_show(const struct java_shown *shown, const char *path, bool is_live);

#endif
