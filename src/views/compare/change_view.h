/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a report that is compared with an older one (--base): the same views, where each row has
 * what there is now, and by how much that is more. Inside views/ only.
 */
#ifndef VIEWS_CHANGE_VIEW_H
#define VIEWS_CHANGE_VIEW_H

#include "views/report/json_parts.h"
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

/* The text forms. */
void text_change_summary(const struct page *page, struct text *out);
void text_change_sites(const struct page *page, struct text *out);
void text_change_spots(const struct page *page, struct text *out);
void text_change_sizes(const struct page *page, struct text *out);
void text_change_lifetimes(const struct page *page, struct text *out);
void text_change_threads(const struct page *page, struct text *out);
void text_change_reallocs(const struct page *page, struct text *out);

/* The JSON forms, of those views whose own does not do. */
void json_change_sizes(const struct page *page, struct json *json);
void json_change_lifetimes(const struct page *page, struct json *json);
void json_change_threads(const struct page *page, struct json *json);
void json_change_reallocs(const struct page *page, struct json *json);

/* Which two are compared, the verdict, notes. */
void text_change_heading(const struct page *page, struct text *out);
/* "  3 places are the same"; nothing if there are none. `shown` of `changed` were. */
void text_change_rest(size_t shown, size_t changed, size_t all, const char *one, const char *many,
	struct text *out);
/* Spaces up to a width, and the difference: "+12", "±0". */
void text_add_change_cell(
	struct text *out, enum metric metric, uint64_t base, uint64_t value, int width);
/* "  new", "  gone", or nothing. */
const char *change_remark(bool was, bool is);

/* "base": {…}, "change": {…} of the whole, into a report. */
void json_change_report(const struct page *page, struct json *json);

/* Members that both sides have, of a row. */
struct change_members {
	const struct json_member *members;
	size_t count;
	const void *base, *value;
	bool sampled; /* temporary is null */
};
/* "status": …, "base": {…}, "change": {…} */
void json_change_members(
	struct json *json, const char *status, const struct change_members *members);
/* The same of a place: all metrics; and `more` (NULL: none). status NULL: by the page's metric. */
void json_change_row(const struct page *page, const struct row *row, const char *status,
	const struct change_members *more, struct json *json);
/* The same of a function, file or module: "flat" and "cum" in each. */
void json_change_spot(const struct page *page, const struct spot_total *total, struct json *json);
/* "new", "grown"… of a figure. */
const char *change_status(uint64_t base, uint64_t value);

#endif
