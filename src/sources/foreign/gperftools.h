/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "gperftools": heap profiles as text that begin with "heap profile:", of gperftools'
 * heap profiler (exact), of tcmalloc's samples, of the growth of its heap, and of jemalloc before
 * version 4. Read as pprof reads them (profile/legacy_profile.go).
 */
#ifndef SOURCES_GPERFTOOLS_H
#define SOURCES_GPERFTOOLS_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool gperftools_recognise(const uint8_t *head, size_t len);
struct error *gperftools_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
