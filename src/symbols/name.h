/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions as people write them. */
#ifndef SYMBOLS_NAME_H
#define SYMBOLS_NAME_H

#include <stdbool.h>

#include "base/text.h"

/* Returns whether it looks like a mangled name of C++ or Rust. */
bool name_is_mangled(const char *linkage_name);

/*
 * Adds the name that a linkage name stands for: C++ and Rust (both schemes) demangled, without
 * parameters, return type and hash; suffixes that compilers add to copies of a function (.isra.0,
 * .cold…) are cut; all else as it is.
 */
void name_add_demangled(struct text *text, const char *linkage_name);

/* Returns the length of a name without such suffixes at its end, of which there may be several, and
 * without a symbol version. */
size_t name_plain_len(const char *name);

/* As name_add_demangled(), with parameters and suffixes, as debuggers show it; only a symbol
 * version is cut. */
void name_add_whole(struct text *text, const char *linkage_name);

#endif
