/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What grows steadily over several recordings, or moments of one: as text, JSON and CSV
 * "heapwise.trend/1" (docs/schema/trend-1.md).
 */
#ifndef VIEWS_TREND_VIEW_H
#define VIEWS_TREND_VIEW_H

#include "model/model.h"
#include "table/answer.h"
#include "views/views.h"

/* The most models that are compared. */
#define TREND_MODELS_MAX 64u

extern const struct answer_type trend_answer_type;

/* Writes it; options->sort is the metric. Models and their labels come in order of age. NULL also
 * when the sink stopped it. Precondition: 1 < count <= TREND_MODELS_MAX. */
struct error *trend_view_write(const struct model *const *models, const char *const *labels,
	size_t count, bool same_recording, const struct view_options *options,
	const struct sink *sink) must_check_;

#endif
