/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that an allocator's library has got for itself: it holds them in its data, which is no
 * root, since most of what points to blocks there are lists of free ones. They are told by their
 * stacks, in which frames of the library stand, whoever's operator new or library functions it has
 * called:
 *
 *   - what it got when the loader called it (constructors, destructors), or a thread of libc's
 *     alone, is its own;
 *   - what it got when the program called it, be it free(), is its own if a word of its data, or of
 *     its thread-local memory, holds it. What it got on behalf of the program (an operator new of
 * its may call malloc) or has handed over is not there.
 *
 * Libc's own data is a root, apart from its arena, and so is that of a program that is linked with
 * its allocator.
 */
#ifndef CAPTURE_LEAK_OWN_H
#define CAPTURE_LEAK_OWN_H

#include "base/ranges.h"
#include "capture/leaks/leak_roots.h"

/* Adds what holds such blocks to the roots: the data of the allocator's library, and its
 * thread-local memory, which is at `locals`. */
struct error *leak_own_find(const struct leak_place *place, const struct address_ranges *locals,
	struct leak_roots *ret) must_check_;

#endif
