/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names of functions and files by themselves say: whose code it is, not of the program itself.
 */
#ifndef SYMBOLS_KNOWN_H
#define SYMBOLS_KNOWN_H

#include <stdbool.h>

/* Functions that hand out memory: malloc, operator new… As the innermost frames of a stack they
 * only repeat the kind. */
bool known_allocator(const char *function);
/* Libraries that replace malloc, by the last part of the path. */
bool known_allocator_module(const char *name);

/* The interpreter of Python (CPython) or its library, by the last part of the path. */
bool known_python_module(const char *name);

/* Code of a language runtime: what is the program's fault lies outward of it. Its name is, or
 * begins so; NULL: it is none. */
const char *known_runtime_function(const char *function);
bool known_runtime_module(const char *name);
/* Part of the paths of what the C++ library has inline. */
#define KNOWN_RUNTIME_FOLDER "/include/c++/"

/* What a frame is besides the program's own code. */
enum known_part {
	KNOWN_PROGRAM,     /* nothing is known of it: it counts as the program's */
	KNOWN_STD,         /* of the standard library of C++ or Rust */
	KNOWN_RUNTIME,     /* of Go's runtime, or what calls main and the functions of threads */
	KNOWN_ALLOCATOR,   /* a wrapper of an allocator, if all inward of it is one, too */
	KNOWN_INTERPRETER, /* of Python's interpreter, in a stack of Python: of no name by itself */
	KNOWN_PARTS
};

struct known_code {
	const char *function;     /* demangled */
	const char *linkage_name; /* NULL: unknown, here and below */
	const char *file;         /* of its source */
	const char *module;       /* last part of its path */
};

enum known_part known_part_of(const struct known_code *code);

/* Named like a mere wrapper of an allocator: xmalloc, g_strdup… By its name: nothing else tells a
 * wrapper from a function that is called from many places. */
bool known_wrapper(const char *function);

#endif
