/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a JVM says of its memory: its classes with their objects, and its native memory by use
 * (Native Memory Tracking). Figures are the JVM's own, exact.
 */
#ifndef MODEL_JAVA_CLASSES_H
#define MODEL_JAVA_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct java_class {
	const char *name;   /* "java.util.HashMap$Node[]" */
	const char *module; /* "java.base@17.0.15"; NULL: none, or the JVM does not say */
	uint64_t instances, bytes;
};
DEFINE_VEC(java_class_vec, struct java_class)

struct java_use {
	const char *name; /* "Java Heap", "Thread", "Code" */
	uint64_t reserved_bytes, committed_bytes;
};
DEFINE_VEC(java_use_vec, struct java_use)

/* Names are parts of `text` or `more`, which belong to it. */
struct java_memory {
	char *text, *more;
	struct java_class_vec classes; /* by bytes, the largest first */
	uint64_t instances, bytes;     /* sums of the rows */
	struct java_use_vec uses;
	uint64_t reserved_bytes, committed_bytes; /* of all uses, as the JVM says */
	size_t left_out;                          /* lines that could not be understood */
};

#endif
