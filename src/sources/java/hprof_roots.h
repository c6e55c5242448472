/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roots of a heap dump, as objects without bytes: one for each kind, thread and frame. */
#ifndef SOURCES_HPROF_ROOTS_H
#define SOURCES_HPROF_ROOTS_H

#include "sources/java/hprof_tables.h"

/* A root that holds an object. */
struct hprof_hold {
	uint32_t group; /* from 1; 0: the object is a class, which the heap's root holds itself */
	uint32_t row;   /* of hprof_tables.rows */
};
DEFINE_VEC(hprof_hold_vec, struct hprof_hold)

/* Where threads' names are. */
struct hprof_thread {
	uint32_t serial, trace;
	uint32_t row;  /* of its object; HPROF_NO_CLASS: the file has it not */
	uint32_t text; /* row of the characters of its name; HPROF_NO_CLASS: not known */
	char *name;    /* NULL: not known */
};
DEFINE_VEC(hprof_thread_vec, struct hprof_thread)

struct hprof_roots {
	struct hprof_root_vec groups; /* of which `id` means nothing */
	struct hprof_hold_vec holds;  /* by group */
	struct hprof_thread_vec threads;
	struct hprof_numbers by_serial; /* thread */
};

/* Finds an object by its id: its row, HPROF_NO_CLASS if there is none. */
typedef uint32_t (*hprof_row_find)(const void *context, uint64_t id);

/* Groups the roots; marks classes that are roots. Call hprof_roots_deinit() in any case. */
struct error *hprof_roots_make(struct hprof_tables *tables, hprof_row_find find,
	const void *context, struct hprof_roots *ret) must_check_;
void hprof_roots_deinit(struct hprof_roots *roots);
/* Adds "local variable of Shop.main(Shop.java:31), thread "main"" to the heap's strings. */
struct error *hprof_root_name(struct hprof_tables *tables, const struct hprof_roots *roots,
	const struct hprof_root *group, uint32_t *ret) must_check_;

#endif
