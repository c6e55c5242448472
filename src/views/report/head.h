/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all reports begin with, as records: the program, its recording, the totals, notes. Inside
 * views/ only. */
#ifndef VIEWS_HEAD_H
#define VIEWS_HEAD_H

#include "table/answer.h"
#include "views/report/page.h"

/* Hands all of it over, and in text the heading; verdict NULL: the view has none. */
void report_head(const struct page *page, const struct text *verdict, struct answer *answer);

/* Of it what documents of other views begin with: the program, its recording, a verdict (NULL:
 * none), notes (NULL: none yet); for programs alone. */
void report_source(const struct model *model, const struct text *verdict, const struct text *notes,
	struct answer *answer);

/* The totals and notes. */
void report_totals(const struct model *model, const struct text *notes, struct answer *answer);

/* The types of what it hands over, in this order. */
extern const struct table_type report_view_type, report_target_type, report_recording_type,
	report_totals_type, report_notes_type, report_order_type, report_verdict_type;
/* Parts of these: how a struct target ended; an array of strings; the unrecorded programs of a
 * struct recorded, without their processes if it has no room for these. */
extern const struct table_type report_exit_type, report_word_type, report_unrecorded_type;

#endif
