/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What text says of leaks in more than columns: of leaks_answer.c alone. */
#ifndef VIEWS_LEAKS_TEXT_H
#define VIEWS_LEAKS_TEXT_H

#include "views/leaks/leaks_page.h"

/* The program, the verdict and the notes. */
void leaks_heading_text(const struct leaks_page *page, struct text *out);
/* A title behind an empty line. */
void leaks_add_title(const struct leaks_page *page, const char *title, struct text *out);
/* A line a kind; `context`: a leaks page. */
void leaks_summary_text(const void *context, size_t row, struct text *out);
/* A record, with its stack, an example, who holds it. */
void leaks_record_text(const struct leaks_page *page, const struct leak_row *row, struct text *out);
/* Which kinds have blocks and are not listed. */
void leaks_hidden_text(const struct leaks_page *page, struct text *out);
/* A line; `context`: struct suppressions. */
void leaks_suppression_text(const void *context, size_t row, struct text *out);

#endif
