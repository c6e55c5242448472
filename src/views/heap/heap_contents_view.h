/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap_show*.c and heap_values.c alone: containers and the like as what they hold. */
#ifndef VIEWS_HEAP_CONTENTS_VIEW_H
#define VIEWS_HEAP_CONTENTS_VIEW_H

#include "base/json.h"
#include "heap/contents.h"
#include "views/heap/heap_values.h"

/* What a structure holds that begins so many bits from the start of the values. False: it is none
 * that is known, its words make no sense, or its members are wanted. */
bool heap_contents_read(
	const struct heap_values *values, uint32_t plain, uint64_t bits, struct contents *ret);
/* Adds it as a value. */
void heap_contents_add(
	struct heap_values *values, const struct contents *contents, struct text *text);
/* "contents": {…} */
void heap_contents_put(
	struct heap_values *values, const struct contents *contents, struct json *json);

#endif
