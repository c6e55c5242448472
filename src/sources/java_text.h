/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of a JVM: the class histogram (`jmap -histo`, `jcmd GC.class_histogram`, HotSpot's
 * src/hotspot/share/memory/heapInspection.cpp) and the summary of Native Memory Tracking
 * (`jcmd VM.native_memory`, src/hotspot/share/services/memReporter.cpp). Nothing in them is
 * trusted.
 */
#ifndef SOURCES_JAVA_TEXT_H
#define SOURCES_JAVA_TEXT_H

#include "base/error.h"
#include "model/java_classes.h"

void java_memory_init(struct java_memory *memory);
void java_memory_deinit(struct java_memory *memory);

/*
 * Reads a histogram. `text` is memory of malloc, which becomes the memory's, also after an error.
 * ERROR_INPUT: it has no row of a class, its rows add up to more than 2^64, or to something else
 * than its last line, "Total", says.
 */
struct error *java_histogram_parse(char *text, struct java_memory *memory) must_check_;

/* Reads the summary of native memory in KB, likewise. ERROR_INPUT: it has none; the message has the
 * JVM's words if it does not track native memory. */
struct error *java_native_parse(char *text, struct java_memory *memory) must_check_;

#endif
