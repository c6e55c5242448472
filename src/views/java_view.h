/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classes of a JVM with their objects, and its native memory by use: as text, JSON
 * "heapwise.java-heap/1" (docs/schema/java-heap-1.md) and CSV.
 */
#ifndef VIEWS_JAVA_VIEW_H
#define VIEWS_JAVA_VIEW_H

#include "base/sink.h"
#include "model/java_classes.h"
#include "table/answer.h"
#include "table/select.h"

extern const struct answer_type java_heap_answer_type;

struct java_subject {
	uint64_t pid;
	const char *name;   /* main class or jar */
	bool reachable;     /* objects that are reachable alone, after a full collection */
	const char *native; /* why native memory is not known, a sentence without a full stop; NULL:
			       it is, or was not asked for */
	const struct java_memory *memory;
};

struct java_options {
	bool json, csv;
	size_t limit; /* rows of classes; 0: the usual number */
	struct table_asked asked;
};

/* ERROR_USAGE: rows are chosen or sorted by what is no column. */
struct error *java_heap_write(const struct java_subject *subject,
	const struct java_options *options, const struct sink *sink) must_check_;

#endif
