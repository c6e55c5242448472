/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap_show*.c alone: bytes of memory as the values of types. */
#ifndef VIEWS_HEAP_VALUES_H
#define VIEWS_HEAP_VALUES_H

#include "heap/heap_scan.h"

/* Memory that is looked at as a type's. */
struct heap_values {
	struct heap_scan *scan;
	struct types *types;
	const uint8_t *bytes;
	size_t len;
	uint64_t size;    /* of the type; what stands behind that belongs to its last array */
	size_t elements;  /* so many of an array of numbers are shown */
	bool is_short;    /* a cell of a table: pointers without what they point to */
	bool raw;         /* containers are their members */
	unsigned depth;   /* it is inside of so many containers: then structures are values, too */
	unsigned parts;   /* … and so many parts of these that are no step inside */
	size_t most;      /* bytes of text, about, that the elements of a container may take */
	uint64_t address; /* of the bytes; 0: they are nowhere */
	struct error *error;
};

/* How many elements an array has that begins there: one without an end as many as there is room
 * for.
 */
uint64_t heap_values_count(
	const struct heap_values *values, const struct type *array, uint64_t bits);

/* Whether a structure is shown as text: a string of libstdc++'s. */
bool heap_values_is_text(const struct heap_values *values, uint32_t plain);

/* Adds characters that lie at an address. */
void heap_values_add_text(
	struct heap_values *values, uint64_t address, uint64_t len, struct text *text);
/* As above, for `len` characters of 2 or 4 bytes each: "\u20ac" is one that is not ASCII. */
void heap_values_add_wide_text(struct heap_values *values, uint64_t address, uint64_t len,
	uint32_t unit, struct text *text);

/* Adds the value of what begins so many bits from the start; of a bit field so many bits, else 0.
 * Strings are text, containers what they hold, other structures "{…}". */
void heap_values_add(struct heap_values *values, uint32_t type, uint64_t bits, uint32_t bit_size,
	struct text *text);

#endif
