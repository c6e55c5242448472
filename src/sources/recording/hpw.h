/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source "recording": .hpw files as src/format/FORMAT.md defines them. */
#ifndef SOURCES_HPW_H
#define SOURCES_HPW_H

#include <stdbool.h>

#include "base/error.h"
#include "model/events.h"
#include "model/model.h"
#include "sources/recording/input.h"
#include "sources/source.h"

/* True for a recording's header, and for one that is damaged but has a whole chunk after it. */
struct error *hpw_recognise(const struct input *input, bool *ret);
/* query: NULL, or as for source_open_query(). */
struct error *hpw_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret);
/* As source_events(). */
struct error *hpw_events(const struct input *input, const struct source_query *query,
	const struct event_sink *sink) must_check_;

#endif
