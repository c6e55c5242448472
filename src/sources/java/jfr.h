/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source "jfr": recordings of JDK Flight Recorder, and async-profiler's in that format. */
#ifndef SOURCES_JFR_H
#define SOURCES_JFR_H

#include "base/error.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* Recognises the format by the beginning of the unpacked file. */
bool jfr_recognise(const uint8_t *head, size_t len);
struct error *jfr_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret);

#endif
