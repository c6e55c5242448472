/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that looks like a heap where none was found: "0 B in use" would be wrong then. */
#ifndef HEAP_UNREAD_H
#define HEAP_UNREAD_H

#include "base/text.h"
#include "heap/heap_scan.h"

struct heap_unread {
	uint64_t bytes, mappings;          /* that were written to, and belong to no file */
	const struct process_map *largest; /* NULL: there are none, or blocks were found */
	uint64_t largest_bytes;
};

/* Returns whether a core is cut off and has no block in what there is of it: nothing is known then
 * of the heap, which is not an empty one. False of a process and of a whole core. */
bool heap_is_cut_away(const struct heap_scan *scan);

/* Returns whether nothing is known of the heap: the core is cut off like that, or no allocator was
 * found, and private memory is missing or was not understood. */
bool heap_is_unknown(const struct heap_scan *scan);

/* Finds the memory of the program break's mapping, or else at least UNREAD_LEAST bytes of other
 * mappings. */
#define UNREAD_LEAST (1u << 20)
struct heap_unread heap_unread_find(const struct heap_scan *scan);

/* Adds what was looked at, why it was refused, and the verbs that show it all the same: sentences
 * without the last full stop. */
void heap_unread_describe(
	const struct heap_scan *scan, const struct heap_unread *unread, struct text *text);

/* Adds what was seen of an allocator, and why that is no heap. Returns false if there is nothing to
 * report.
 */
bool heap_unread_seen(
	const struct heap_scan *scan, enum heap_allocator allocator, struct text *text);

#endif
