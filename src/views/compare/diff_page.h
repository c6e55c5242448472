/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms of a comparison share. Inside views/ only. */
#ifndef VIEWS_DIFF_PAGE_H
#define VIEWS_DIFF_PAGE_H

#include "views/diff_view.h"

struct diff_page {
	const struct model *models[2]; /* older, newer */
	const struct diff_view_options *options;
	const struct diff *diff;
	struct text notes; /* sentences, each with a newline */
	size_t limit;      /* rows to show of each list */
};

void diff_text(const struct diff_page *page, struct text *out);
struct error *diff_json(const struct diff_page *page, const struct sink *sink) must_check_;

#endif
