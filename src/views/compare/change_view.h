/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a report that is compared with an older one (--base): the same views, where each row has
 * what there is now, and by how much that is more. Inside views/ only.
 */
#ifndef VIEWS_CHANGE_VIEW_H
#define VIEWS_CHANGE_VIEW_H

#include "views/report/page.h"

/* Fills a page that has a base, before its view does: comparison, notes, rows. */
struct error *change_page_begin(struct page *page) must_check_;

/* What the views fill then; `verdict` included. */
struct error *fill_change_sites(struct page *page) must_check_;
struct error *fill_change_summary(struct page *page) must_check_;
struct error *fill_change_spots(struct page *page) must_check_;
struct error *fill_change_inherited(struct page *page) must_check_;
struct error *fill_change_sizes(struct page *page) must_check_;
struct error *fill_change_lifetimes(struct page *page) must_check_;
struct error *fill_change_threads(struct page *page) must_check_;
struct error *fill_change_reallocs(struct page *page) must_check_;

/* The views, after the head of the report. */
struct answer;
void change_summary(const struct page *page, struct answer *answer);
void change_sites(const struct page *page, struct answer *answer);
void change_sizes(const struct page *page, struct answer *answer);
void change_lifetimes(const struct page *page, struct answer *answer);
void change_threads(const struct page *page, struct answer *answer);
void change_reallocs(const struct page *page, struct answer *answer);
/* What they are made of, in this order; what is nested in several of them. */
extern const struct table_type change_whole_type, change_sites_type, change_spots_type,
	change_classes_type, change_sizes_type, change_lives_type, change_other_lives_type,
	change_threads_type, change_reallocs_type, change_growth_type, change_places_type,
	change_snapshots_type;
/* Hands a table over; to people the rows that differ alone, and in a sentence how many do not. */
struct table;
void change_rows(struct answer *answer, const struct table *table,
	bool (*differs)(const void *context, size_t row), const char *one, const char *many);

/* Likewise of sites: report_site_list() has made their table. */
void change_site_rows(struct answer *answer, const struct table *sites);

/* Adds the title of a table by the size of the changes. False: nothing is known of the metric,
 * which it says. */
bool change_text_add_title(const struct page *page, struct text *out);
/* Which two are compared, the verdict, notes. */
void text_change_heading(const struct page *page, struct text *out);
/* "  new", "  gone", or nothing. */
const char *change_remark(bool was, bool is);

/* "base" and "change" of the whole, of a report. */
void change_head(const struct page *page, struct answer *answer);

/* "new", "grown"… of a figure. */
const char *change_status(uint64_t base, uint64_t value);

#endif
