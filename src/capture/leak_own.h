/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that an allocator's library has got for itself, when it was loaded: it holds them in its
 * data, which is no root, since most of what points to blocks there are lists of free ones. They
 * are told by their stacks: a call of the library's own, from the loader. (What the library calls
 * on behalf of the program, as an operator new does malloc, comes from elsewhere.)
 */
#ifndef CAPTURE_LEAK_OWN_H
#define CAPTURE_LEAK_OWN_H

#include "capture/leak_roots.h"

/* Adds a root for each: the data of the allocator's module. */
struct error *leak_own_find(
	const struct leak_place *place, uint32_t allocator, struct leak_roots *ret) must_check_;

#endif
