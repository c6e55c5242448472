/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of heaptrack, as heaptrack_interpret writes them, versions 1 to 3. Blocks have no addresses
 * in them: an allocation and a free name a size and a stack. Of several blocks of one size and
 * stack the last one is assumed to be freed first; that changes what --from keeps, and nothing
 * else.
 */
#ifndef SOURCES_HEAPTRACK_H
#define SOURCES_HEAPTRACK_H

#include "base/error.h"
#include "model/events.h"
#include "sources/recording/input.h"
#include "sources/source.h"

bool heaptrack_recognise(const uint8_t *head, size_t len);
struct error *heaptrack_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret) must_check_;
/* As source_events(). */
struct error *heaptrack_events(const struct input *input, const struct source_query *query,
	const struct event_sink *sink) must_check_;

#endif
