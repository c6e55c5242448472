/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "heapsnapshot": heap snapshots of V8, by class, and by the stacks that allocated the
 * objects where the file has these.
 */
#ifndef SOURCES_HEAPSNAPSHOT_H
#define SOURCES_HEAPSNAPSHOT_H

#include "base/error.h"
#include "heap/managed_heap.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool heapsnapshot_recognise(const uint8_t *head, size_t len);
struct error *heapsnapshot_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

/* Reads the objects, with their classes. The caller calls managed_heap_destroy(). */
struct error *heapsnapshot_read(const struct input *input, struct managed_heap **ret) must_check_;

#endif
