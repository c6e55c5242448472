/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "jemalloc": dumps of its heap profiling (prof:true), which begin with "heap_v2/N",
 * packed or not. Sampled; read as jeprof reads them.
 */
#ifndef SOURCES_JEMALLOC_H
#define SOURCES_JEMALLOC_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool jemalloc_recognise(const uint8_t *head, size_t len);
struct error *jemalloc_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
