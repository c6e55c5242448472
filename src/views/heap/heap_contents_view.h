/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap_show*.c and heap_values.c alone: containers and the like as what they hold. */
#ifndef VIEWS_HEAP_CONTENTS_VIEW_H
#define VIEWS_HEAP_CONTENTS_VIEW_H

#include "base/vec.h"
#include "heap/contents.h"
#include "table/table.h"
#include "views/heap/heap_values.h"

/* What a structure holds that begins so many bits from the start of the values. False: it is none
 * that is known, its words make no sense, or its members are wanted. */
bool heap_contents_read(
	const struct heap_values *values, uint32_t plain, uint64_t bits, struct contents *ret);
/* Adds it as a value. */
void heap_contents_add(
	struct heap_values *values, const struct contents *contents, struct text *text);

/* An element of a container, as values; the key of a map's. */
struct heap_content {
	char *key, *value;
};
DEFINE_VEC(heap_content_vec, struct heap_content)

/* What one holds, for programs. */
struct heap_contents {
	struct contents contents;
	struct heap_content_vec elements;
	bool are_pairs, no_memory;
	uint64_t unread, more; /* elements that are not there: as links end; left out */
};
/* Takes another one. */
void heap_contents_fill(
	struct heap_values *values, const struct contents *contents, struct heap_contents *ret);
void heap_contents_empty(struct heap_contents *contents);
void heap_contents_deinit(struct heap_contents *contents);
/* A record; `context`: struct heap_contents. */
extern const struct table_type heap_contents_type;

#endif
