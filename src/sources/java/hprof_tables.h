/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a first reading of a heap dump finds: names, classes, call stacks, roots, and all objects,
 * without their references: which fields these are in is known when all classes are. */
#ifndef SOURCES_HPROF_TABLES_H
#define SOURCES_HPROF_TABLES_H

#include "base/map.h"
#include "base/vec.h"
#include "heap/managed_heap.h"
#include "sources/java/hprof_layout.h"
#include "sources/java/hprof_records.h"

static inline uint64_t hprof_number_hash(uint64_t number)
{
	return hash_u64(number);
}

static inline bool hprof_number_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(hprof_numbers, uint64_t, uint32_t, hprof_number_hash, hprof_number_equal)

struct hprof_field {
	uint32_t name; /* of managed_heap.strings */
	uint8_t type;  /* enum hprof_type */
};
DEFINE_VEC(hprof_field_vec, struct hprof_field)

struct hprof_class {
	uint64_t id, super_id;
	uint32_t name; /* of managed_heap.strings, as Java has it: "int[]", "java.lang.String" */
	uint32_t first_field, field_count;
	bool is_described, is_root;
	/* Of an instance's bytes in the file: references, own ones first. */
	uint32_t first_reference, reference_count;
	uint32_t value_bytes;
	bool has_references; /* these two are known */
};
DEFINE_VEC(hprof_class_vec, struct hprof_class)

struct hprof_reference {
	uint32_t offset, name;
	bool is_weak;
};
DEFINE_VEC(hprof_reference_vec, struct hprof_reference)
DEFINE_VEC(hprof_row_vec, struct hprof_entry_row)

struct hprof_frame {
	uint64_t method, file; /* ids of names */
	uint32_t class_serial;
	int32_t line; /* -1 and less: not known */
};
struct hprof_trace {
	uint32_t thread, first, count; /* frames */
};
DEFINE_VEC(hprof_frame_vec, struct hprof_frame)
DEFINE_VEC(hprof_trace_vec, struct hprof_trace)
DEFINE_VEC(hprof_id_vec, uint64_t)

struct hprof_root {
	uint64_t id;
	uint32_t thread; /* serial number */
	uint32_t frame;  /* of its stack; HPROF_NO_CLASS: none; of a thread: its trace's serial */
	uint8_t kind;    /* enum hprof_entry */
};
DEFINE_VEC(hprof_root_vec, struct hprof_root)

struct hprof_tables {
	struct hprof_records records;
	struct managed_heap *heap; /* its strings are filled */
	struct buf text;
	struct hprof_numbers names;   /* id of a name → string */
	struct hprof_numbers classes; /* id → class */
	struct hprof_numbers class_serials;
	struct hprof_class_vec class_rows;
	struct hprof_shape *shapes; /* of each class, after the reading */
	struct hprof_field_vec fields;
	struct hprof_id_vec trace_frames;
	struct hprof_numbers frames, traces; /* id, serial number → row */
	struct hprof_frame_vec frame_rows;
	struct hprof_trace_vec trace_rows;
	struct hprof_root_vec roots;
	struct hprof_row_vec rows; /* objects, as they come */
	bool has_segments, has_dump, has_end;
};

/* Reads the file once. Call hprof_tables_deinit() even after an error. */
struct error *hprof_tables_read(struct hprof_tables *tables, const struct input *input) must_check_;
void hprof_tables_deinit(struct hprof_tables *tables);

/* Adds a string to the heap; the caller may not have more than 2^28. */
struct error *hprof_string_add(
	struct hprof_tables *tables, const char *text, size_t len, uint32_t *ret) must_check_;
/* The string of an id; "" if the file has none. */
const char *hprof_name(const struct hprof_tables *tables, uint64_t id);

/* Begins an entry of a heap dump: takes its tag, which is 0 after the last one. */
struct error *hprof_entry_next(struct hprof_records *records, unsigned *ret) must_check_;
/* Numbers of 4 bytes behind the id of a root; a JNI global has an id there. -1: it is no root. */
int hprof_root_numbers(unsigned tag);
/* A value of a class: of its constant pool, or a static field. */
struct hprof_value {
	uint64_t name, type, value;
};
struct error *hprof_value_take(
	struct hprof_records *records, bool is_constant, struct hprof_value *ret) must_check_;

#endif
