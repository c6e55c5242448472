/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/lost.h"

#include <stdlib.h>

#include "base/cleanup.h"

static bool is_known(const struct profile *profile)
{
	const struct leak_search *search = model_leak_search(profile->model);
	return search && search->way != LEAK_WAY_NONE && !search->damaged && !search->selected &&
	       profile_rows(profile) == &profile->all && profile->resolver;
}

struct error *page_lost_build(const struct profile *profile, struct page_lost **ret)
{
	*ret = NULL;
	if (!is_known(profile))
		return NULL;
	const struct rows *rows = profile_rows(profile);
	_cleanup_free_ struct page_lost *lost = calloc(rows->rows.len + 1, sizeof(*lost));
	_cleanup_free_ uint32_t *row_of_site = NULL;
	struct error *error =
		lost ? rows_of_sites(profile->model, profile->resolver, rows, &row_of_site)
		     : error_no_memory();
	if (error)
		return error;
	size_t count;
	const struct leak_record *records = model_leak_records(profile->model, &count);
	for (size_t i = 0; i < count; i++) {
		bool is_lost = records[i].kind == LEAK_DEFINITE || records[i].kind == LEAK_INDIRECT;
		uint32_t row = row_of_site[records[i].site.value];
		if (!is_lost || row == ROWS_NONE)
			continue;
		lost[row].blocks += records[i].blocks;
		lost[row].bytes += records[i].bytes;
	}
	*ret = steal_ptr(lost);
	return NULL;
}
