/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap/heuristics.h"

#include "views/leaks/leaks_page.h"

const char *heuristic_name(enum search_heuristic heuristic)
{
	return heuristic ? leaks_heuristic_name((unsigned)__builtin_ctz(heuristic)) : NULL;
}

void heuristics_add_sums(struct text *text, const struct search_totals *totals)
{
	const char *before = ", of these by heuristics alone ";
	for (unsigned i = 0; i < SEARCH_HEURISTIC_COUNT; i++) {
		if (!totals->heuristic_blocks[i])
			continue;
		text_add(text, before);
		leaks_add_quantity(text, totals->heuristic_bytes[i], totals->heuristic_blocks[i]);
		text_printf(text, " (%s)", leaks_heuristic_name(i));
		before = ", ";
	}
}
