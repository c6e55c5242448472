/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "hprof": heap dumps of a JVM (jmap -dump, jcmd GC.heap_dump,
 * HeapDumpOnOutOfMemoryError) by class. The file is read twice, as a stream, and a part of it once
 * more for names of threads.
 */
#ifndef SOURCES_HPROF_H
#define SOURCES_HPROF_H

#include "base/error.h"
#include "heap/managed_heap.h"
#include "sources/recording/input.h"

/* Reads the objects, with their classes. The caller calls managed_heap_destroy(). */
struct error *hprof_read(const struct input *input, struct managed_heap **ret) must_check_;

#endif
