/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views of a report that are tables (src/table): each lays out its own part, after what all reports
 * have. Inside views/ only. */
#ifndef VIEWS_REPORT_ANSWERS_H
#define VIEWS_REPORT_ANSWERS_H

#include "table/answer.h"
#include "views/report/page.h"

void report_sizes(const struct page *page, struct answer *answer);
void report_threads(const struct page *page, struct answer *answer);
void report_marks(const struct page *page, struct answer *answer);
extern const struct answer_type report_sizes_type, report_threads_type, report_marks_type;

/* Whether the source says the figure that JSON calls so. */
bool figure_is_known(const struct recording *recording, const char *name);

/* A bar of TEXT_BAR_WIDTH characters, as long as value is of the most. */
#define TEXT_BAR_WIDTH 24u
void text_add_bar(struct text *out, uint64_t value, uint64_t most);
/* Bytes with spaces before them up to a width. */
void text_add_padded_bytes(struct text *out, uint64_t bytes, int width);

/* A report in any form: what all of them begin with, then the view. */
struct error *report_answer(const struct page *page, struct answer *answer) must_check_;

#endif
