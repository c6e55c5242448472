/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap snapshots of V8 (v8.writeHeapSnapshot(), Chrome's DevTools): objects and references. */
#ifndef SOURCES_JS_HEAP_FILE_H
#define SOURCES_JS_HEAP_FILE_H

#include "heap/js_heap.h"

/*
 * Reads a snapshot with its classes; the caller calls js_heap_destroy(). The file may be compressed
 * with gzip or zstd. It is read as a stream: memory is for objects (32 bytes each), references (12
 * bytes each) and strings. ERROR_INPUT: it is none, or damaged, with the offset.
 */
struct error *js_heap_file_read(const char *path, struct js_heap **ret) must_check_;

#endif
