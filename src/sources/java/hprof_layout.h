/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How large objects are in a HotSpot JVM. A heap dump has the values of fields, not their places,
 * nor whether references were compressed; but ids are addresses. So every way in which HotSpot may
 * have laid objects out is tried on a part of the heap, and the one is taken of which no object
 * would overlap the next, and most end where the next begins.
 *
 *	header 8 (compact), 12 (compressed class pointers) or 16 bytes; references of 4 or 8 bytes;
 *	fields as FieldLayoutBuilder has them since JDK 15 (gaps in superclasses are filled, the
 *	smallest that fits first), or as ClassFileParser before (each class begins after its
 *	superclass); arrays behind their length, with or without padding to 8 bytes
 *
 * HotSpot adds fields of its own to some classes, and pads those of @Contended. Neither is in the
 * file. What is the same in all versions is in a table; else the least distance from an object of
 * the class to the next one is its size.
 */
#ifndef SOURCES_HPROF_LAYOUT_H
#define SOURCES_HPROF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HPROF_GAPS_MAX 8u
#define HPROF_NO_CLASS UINT32_MAX

/* Bytes that later fields may take, and where the fields end. */
struct hprof_room {
	uint32_t end;
	uint32_t gap_count;
	struct {
		uint32_t at, len;
	} gaps[HPROF_GAPS_MAX];
};

/* What is known of a class. */
struct hprof_shape {
	const char *name; /* "java.lang.Thread" */
	uint32_t super;   /* number of its class, or HPROF_NO_CLASS */
	/* Fields that it declares itself, by bytes: [0] references, then 1, 2, 4, 8. */
	uint32_t fields[5], statics[5];
	struct hprof_room room;
	uint32_t bytes;       /* of an instance */
	uint32_t class_bytes; /* of its java.lang.Class */
	uint64_t distance;    /* the least one from an instance to the next object */
	bool is_measured;     /* has parts that the file does not tell */
	bool is_laid_out;
};

enum hprof_what { HPROF_IS_INSTANCE, HPROF_IS_OBJECTS, HPROF_IS_PRIMITIVES, HPROF_IS_CLASS };

/* An object: which class, or primitive type, and how many elements. */
struct hprof_entry_row {
	uint64_t id;
	uint32_t what : 2; /* enum hprof_what */
	uint32_t class : 30;
	uint32_t length;
};

struct hprof_sorted {
	uint64_t id;
	uint32_t row;
};

struct hprof_layout {
	uint32_t header, reference, alignment;
	bool is_old, pads_arrays;
	uint32_t mirror_references; /* that HotSpot adds to java.lang.Class */
	/* How often an object would reach into the next, and how often it ends there. */
	uint64_t overlaps, fits, looked_at;
};

struct hprof_layout_of {
	struct hprof_shape *shapes;
	size_t shape_count;
	uint32_t class_class; /* number of java.lang.Class; HPROF_NO_CLASS */
	unsigned id_bytes;
	const struct hprof_entry_row *rows;
	const struct hprof_sorted *sorted; /* by id */
	size_t row_count;
};

/* Finds the layout, and sets `bytes` and `class_bytes` of all shapes. */
void hprof_layout_find(const struct hprof_layout_of *of, struct hprof_layout *ret);
/* The size of an object. */
uint64_t hprof_layout_bytes(const struct hprof_layout_of *of, const struct hprof_layout *layout,
	const struct hprof_entry_row *row);

#endif
