/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source "pprof": heap profiles in pprof's profile.proto, packed by gzip or not
 * (github.com/google/pprof, proto/README.md). One state of a heap: how much was in use, how much
 * was allocated until then, by stack; nothing of peaks, threads or time.
 */
#ifndef SOURCES_PPROF_H
#define SOURCES_PPROF_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool pprof_recognise(const uint8_t *head, size_t len);
struct error *pprof_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret);

#endif
