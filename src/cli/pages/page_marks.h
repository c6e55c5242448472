/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as it was at its first marks: moments that a page has exactly. */
#ifndef CLI_PAGE_MARKS_H
#define CLI_PAGE_MARKS_H

#include "base/error.h"
#include "page/page.h"
#include "query/query.h"

/* All 0 before; page_marks_deinit() in either case. */
struct page_marks {
	struct model *models[PAGE_MARKS_MAX];
	struct page_mark marks[PAGE_MARKS_MAX]; /* for struct page_wanted */
	size_t count;
};

/*
 * Opens what `query` has opened, whose marks `of` has, again for each of the first `most` of them,
 * at most PAGE_MARKS_MAX; query->moments are what they were then. ERROR_INPUT: it can't be read.
 */
struct error *page_marks_open(struct query *query, const struct model *of, size_t most,
	struct page_marks *ret) must_check_;
void page_marks_deinit(struct page_marks *marks);

#endif
