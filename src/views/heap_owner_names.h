/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How people call the nodes of a tree of retained memory. */
#ifndef VIEWS_HEAP_OWNER_NAMES_H
#define VIEWS_HEAP_OWNER_NAMES_H

#include "base/text.h"
#include "heap/owner_tree.h"

/* Adds "global cache", "stack of thread 4711", "std::string buffer". */
void heap_owner_label(const struct heap_scan *scan, const struct retained *retained,
	const struct heap_owner *owner, struct text *out);

/* Returns a static string: "heap", "several", "lost", "deeper"; of what holds blocks as of the
 * roots of `why`, "global", "stack"…; of a type how it is known, as of `types`. */
const char *heap_owner_kind_name(const struct heap_scan *scan, const struct retained *retained,
	const struct heap_owner *owner);

/* Returns the path of the file that a variable is in; NULL: it is none. */
const char *heap_owner_module(const struct retained *retained, const struct heap_owner *owner);

#endif
