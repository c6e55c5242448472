/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all reports begin with, as records: the program, its recording, the totals, notes. Inside
 * views/ only. */
#ifndef VIEWS_HEAD_H
#define VIEWS_HEAD_H

#include "table/answer.h"
#include "views/report/page.h"

/* Hands all of it over, and in text the heading; verdict NULL: the view has none. */
void report_head(const struct page *page, const struct text *verdict, struct answer *answer);

/* Of it what documents of other views begin with: the program, its recording, a verdict, notes; for
 * programs alone. */
void report_source(const struct model *model, const struct text *verdict, const struct text *notes,
	struct answer *answer);

/* The types of what it hands over, in this order. */
extern const struct table_type report_view_type, report_target_type, report_recording_type,
	report_totals_type, report_notes_type, report_order_type, report_verdict_type;

#endif
