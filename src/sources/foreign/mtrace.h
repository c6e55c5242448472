/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs of glibc's mtrace(): each call with its address, its size and the one place that called.
 */
#ifndef SOURCES_MTRACE_H
#define SOURCES_MTRACE_H

#include "base/error.h"
#include "model/events.h"
#include "sources/recording/input.h"
#include "sources/source.h"

bool mtrace_recognise(const uint8_t *head, size_t len);
struct error *mtrace_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret) must_check_;
/* As source_events(). */
struct error *mtrace_events(const struct input *input, const struct source_query *query,
	const struct event_sink *sink) must_check_;

#endif
