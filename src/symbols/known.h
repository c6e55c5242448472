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

/* Code of a language runtime: what is the program's fault lies outward of it. Its name is, or
 * begins so; NULL: it is none. */
const char *known_runtime_function(const char *function);
bool known_runtime_module(const char *name);
/* Part of the paths of what the C++ library has inline. */
#define KNOWN_RUNTIME_FOLDER "/include/c++/"

/* Named like a mere wrapper of an allocator: xmalloc, g_strdup… By its name: nothing else tells a
 * wrapper from a function that is called from many places. */
bool known_wrapper(const char *function);

#endif
