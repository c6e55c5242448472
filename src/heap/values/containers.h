/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of containers and strings of C++ libraries (libstdc++ and libc++), told without debug
 * information. What is in such a block may be anything; so it is not asked what a block looks like
 * but who holds it: a container object is some words that must agree with each other and with the
 * sizes of the blocks they point to, and its nodes with their number and with each other. What does
 * not agree in all of that is left unnamed.
 */
#ifndef HEAP_CONTAINERS_H
#define HEAP_CONTAINERS_H

#include "heap/heap.h"
#include "heap/survey/names.h"
#include "heap/survey/roots.h"
#include "heap/types/types.h"
#include "search/search.h"

/* Between search_read() and search_judge(), while sites are classes: says what single blocks are
 * (heap_types_site()), and notes what std::function and std::any hold (types->held). */
struct error *containers_recognise(const struct heap *heap, const struct heap_root_vec *roots,
	struct search *search, struct heap_names *names, struct heap_types *types) must_check_;

#endif
