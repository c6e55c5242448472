/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions as a line of a stack has room for them:
 *
 *	std::vector<int, std::allocator<int> >::_M_realloc_insert
 *std::vector<int>::_M_realloc_insert main::{lambda(int)#1}::operator() main::{lambda#1}
 *	std::__cxx11::basic_string<char, …>::reserve                 std::string::reserve
 *	app::load::h0123456789abcdef                                 app::load
 *
 * Template arguments are spelled as types_spelling.h says. A name of more than NAME_SHORT_MAX
 * letters loses them, as <…>, the innermost first, and then its outer scopes.
 */
#ifndef SYMBOLS_NAME_SHORT_H
#define SYMBOLS_NAME_SHORT_H

#include <stdbool.h>

#include "base/text.h"

#define NAME_SHORT_MAX 80u

/* Adds the short form of a demangled name; names of C, Go and others are their own unless they are
 * long. */
void name_add_short(struct text *text, const char *name);

/* Returns whether it is a name of Rust: by its linkage name (NULL: unknown) or by what no other
 * language writes. */
bool name_is_rust(const char *name, const char *linkage_name);

#endif
