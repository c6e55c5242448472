/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says, in a few sentences. */
#ifndef ANALYSIS_VERDICT_H
#define ANALYSIS_VERDICT_H

#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/error.h"
#include "base/text.h"
#include "model/model.h"

/*
 * Adds sentences, each with a newline; the first one weighs most. `rows` are all of the model; of
 * the summary all else is filled: shares are those of its lists.
 */
struct error *verdict_add(const struct model *model, const struct rows *rows,
	const struct summary *summary, struct text *text) must_check_;

#endif
