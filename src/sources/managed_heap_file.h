/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap snapshots of V8 (v8.writeHeapSnapshot(), Chrome's DevTools), and heap dumps of a JVM (jmap
 * -dump, jcmd GC.heap_dump): objects and references. */
#ifndef SOURCES_MANAGED_HEAP_FILE_H
#define SOURCES_MANAGED_HEAP_FILE_H

#include "heap/managed_heap.h"

/*
 * Reads a snapshot with its classes; the caller calls managed_heap_destroy(). The file may be
 * compressed with gzip or zstd. It is read as a stream: memory is for objects (32 bytes each),
 * references (12 bytes each) and strings. ERROR_INPUT: it is none, or damaged, with the offset.
 */
struct error *managed_heap_file_read(const char *path, struct managed_heap **ret) must_check_;

/*
 * Reads a heap dump of a JVM with its classes; the caller calls managed_heap_destroy(). As above,
 * and 36 bytes more for each object while it is read. `name`: what errors call it; NULL: its path.
 */
struct error *hprof_file_read(
	const char *path, const char *name, struct managed_heap **ret) must_check_;

#endif
