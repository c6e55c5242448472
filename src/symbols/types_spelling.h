/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One spelling for all ways in which people and compilers write a type's name:
 *
 *	std::vector<int, std::allocator<int> >           std::vector<int>
 *	std::pair<int const, unsigned long>              std::pair<const int,unsigned long>
 *	std::__cxx11::basic_string<char, …>              std::string
 *	struct node                                      node
 *
 * Arguments that the library of C++ has by default are left out, also where they were written.
 */
#ifndef SYMBOLS_TYPES_SPELLING_H
#define SYMBOLS_TYPES_SPELLING_H

#include "base/text.h"

/* Adds the spelling of a name. */
void types_spell(const char *name, struct text *ret);

enum types_match {
	TYPES_OTHER,
	TYPES_ENDS_SO, /* in some namespace or class: "Circle" of "geo::Circle" */
	TYPES_SAME,
};

/* How a name, which is spelled here, compares with a spelling. */
enum types_match types_compare(const char *name, const char *spelling);

#endif
