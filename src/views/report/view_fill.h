/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the views show, each put into the page that its forms lay out; and of how many moments some
 * need a series. Functions of struct view. Inside views/ only.
 */
#ifndef VIEWS_VIEW_FILL_H
#define VIEWS_VIEW_FILL_H

#include "views/report/page.h"

struct error *view_fill_sites(struct page *page) must_check_;
struct error *view_fill_summary(struct page *page) must_check_;
/* Returns whether all that is known is what was allocated in bytes, as of JFR: no list of a summary
 * has sites then, which are shown instead. */
bool view_has_bytes_alone(const struct page *page);
struct error *view_fill_spots(struct page *page) must_check_;
struct error *view_fill_sizes(struct page *page) must_check_;
struct error *view_fill_threads(struct page *page) must_check_;
struct error *view_fill_marks(struct page *page) must_check_;
struct error *view_fill_errors(struct page *page) must_check_;
struct error *view_compare_growth(struct page *page) must_check_;
struct error *view_fill_growth(struct page *page) must_check_;
size_t view_growth_moments(const struct view_options *options);
struct error *view_fill_timeline(struct page *page) must_check_;
struct error *view_compare_timeline(struct page *page) must_check_;
size_t view_timeline_moments(const struct view_options *options);
struct error *view_fill_lifetimes(struct page *page) must_check_;
struct error *view_fill_reallocs(struct page *page) must_check_;
struct error *view_fill_temporary(struct page *page) must_check_;

#endif
