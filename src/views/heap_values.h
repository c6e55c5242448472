/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap_show*.c alone: bytes of memory as the values of types. */
#ifndef VIEWS_HEAP_VALUES_H
#define VIEWS_HEAP_VALUES_H

#include "heap/survey.h"

/* Memory that is looked at as a type's. */
struct heap_values {
	struct survey *survey;
	struct types *types;
	const uint8_t *bytes;
	size_t len;
	bool is_short; /* a cell of a table: pointers without what they point to */
	struct error *error;
};

/* Adds the value of what begins so many bits from the start; of a bit field so many bits, else 0.
 * Structures are "{…}". */
void heap_values_add(struct heap_values *values, uint32_t type, uint64_t bits, uint32_t bit_size,
	struct text *text);

#endif
