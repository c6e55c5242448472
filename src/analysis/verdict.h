/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says, in a few sentences. */
#ifndef ANALYSIS_VERDICT_H
#define ANALYSIS_VERDICT_H

#include "analysis/leaks.h"
#include "analysis/rows.h"
#include "base/error.h"
#include "base/text.h"
#include "model/model.h"

/*
 * Adds sentences, each with a newline; the first one weighs most. `rows` are all of the model,
 * `leaks` are the sums of its search for leaks by class; NULL: there was none.
 */
struct error *verdict_add(const struct model *model, const struct rows *rows,
	const struct leak_sum leaks[LEAK_CLASSES], struct text *text) must_check_;

#endif
