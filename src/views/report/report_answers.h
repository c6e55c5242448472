/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views of a report that are tables (src/table): each lays out its own part, after what all reports
 * have. Inside views/ only. */
#ifndef VIEWS_REPORT_ANSWERS_H
#define VIEWS_REPORT_ANSWERS_H

#include "table/answer.h"
#include "views/report/page.h"

void report_summary(const struct page *page, struct answer *answer);
void report_sites(const struct page *page, struct answer *answer);
void report_inherited(const struct page *page, struct answer *answer);
void report_growth(const struct page *page, struct answer *answer);
void change_growth(const struct page *page, struct answer *answer);
void report_timeline(const struct page *page, struct answer *answer);
void report_lifetimes(const struct page *page, struct answer *answer);
void report_reallocs(const struct page *page, struct answer *answer);
void report_errors(const struct page *page, struct answer *answer);
void report_spots(const struct page *page, struct answer *answer);
void report_sizes(const struct page *page, struct answer *answer);
void report_threads(const struct page *page, struct answer *answer);
void report_marks(const struct page *page, struct answer *answer);
void report_rss(const struct page *page, struct answer *answer);

/* What they are made of. */
extern const struct table_type report_inherited_type, report_leaks_type, report_libraries_type,
	report_top_types[SUMMARY_LISTS], report_sites_type, report_growth_type, report_places_type,
	report_timeline_type, report_snapshots_type, report_node_type, report_life_types[2],
	report_reallocs_type, report_errors_count_type, report_errors_type, report_coverage_type,
	report_suppressions_type, report_spots_by_type, report_spots_type, report_size_classes_type,
	report_sizes_type, report_threads_type, report_marks_type, report_rss_moment_type,
	report_rss_type;

/* A list of sites. */
struct site_list {
	const struct table_type *type;
	const char *title;
	enum metric metric; /* heads each row */
	const struct row_list *rows;
	size_t limit;
	bool brief; /* of each stack the frame to blame and who called it */
};
void report_site_list(const struct page *page, const struct site_list *list, struct answer *answer);

/* A histogram of lifetimes, with its title. */
void report_put_histogram(
	const struct page *page, bool by_time, const struct table *table, struct answer *answer);

/* A bar of TEXT_BAR_WIDTH characters, as long as value is of the most. */
#define TEXT_BAR_WIDTH 24u
void text_add_bar(struct text *out, uint64_t value, uint64_t most);
/* Bytes with spaces before them up to a width. */
void text_add_padded_bytes(struct text *out, uint64_t bytes, int width);

#endif
