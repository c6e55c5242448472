/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a process: which ones are new since the start, and who touched them.
 *
 *	at the start   [######----####]
 *	now            [##--########--]
 *	new                  [####]        touched by …, or with a neighbour, or by nobody
 */
#ifndef CAPTURE_GROWTH_PAGES_H
#define CAPTURE_GROWTH_PAGES_H

#include "base/error.h"
#include "base/vec.h"
#include "process/maps.h"
#include "process/page_scan.h"

/* Pages in memory, adjacent ones that are alike. */
struct growth_range {
	uint64_t start, end;
	bool is_huge;
};
DEFINE_VEC(growth_ranges, struct growth_range)

/* The stack that touched a page last. */
struct growth_touch {
	uint64_t page, site;
};
DEFINE_VEC(growth_touches, struct growth_touch)

void growth_touches_sort(struct growth_touches *touches);

/* Reads which pages are in memory, those of zeros left out. *ret_swapped: how many are swapped out.
 */
struct error *growth_pages_read(
	const struct page_scan *scan, struct growth_ranges *ret, uint64_t *ret_swapped) must_check_;

uint64_t growth_pages_count(const struct growth_ranges *ranges);

/* Adds what is in `now` and not in `before`. Returns false if there is no memory. */
bool growth_pages_subtract(const struct growth_ranges *now, const struct growth_ranges *before,
	struct growth_ranges *ret) must_check_;

/* Pages of a site. `site` NULL: nobody touched them. */
struct growth_share {
	const uint64_t *site;
	uint64_t pages;
	bool is_along, is_file;
};

/*
 * Says whose the new pages are. Touches, which are sorted, of others are removed. A page that
 * nobody touched came along with a touched one of the same mapping and 2 MiB if it is of a huge
 * page or of a file, or if `large_folios`: anywhere.
 */
void growth_pages_share(const struct growth_ranges *fresh, const struct process_maps *maps,
	bool large_folios, struct growth_touches *touches,
	void (*take)(void *context, const struct growth_share *share), void *context);

/* Whether the kernel may bring several pages at a fault without a huge page: a size below 2 MiB is
 * enabled in /sys/kernel/mm/transparent_hugepage. */
bool growth_large_folios(void);

#endif
