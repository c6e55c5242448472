/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to look at next: a table of views, each with when it is due. The first NEXT_MOST that are
 * due stand below a summary, as commands that work on this file.
 */
#include "analysis/notable.h"
#include "base/util.h"
#include "views/report/page.h"
#include "views/report/text_parts.h"

#define NEXT_MOST 3u

static bool leaks_were_found(const struct page *page)
{
	const struct summary *summary = &page->summary;
	return summary->searched && (summary->leaks[LEAK_CLASS_DEFINITE].blocks ||
					    summary->leaks[LEAK_CLASS_POSSIBLE].blocks);
}

static bool something_grows(const struct page *page)
{
	const struct growth *growth = &page->summary.growth;
	for (size_t i = 0; page->summary.has_growth && i < growth->suspects.len; i++)
		if (notable_growth(&growth->suspects.data[i], growth->until_ns - growth->from_ns,
			    model_totals(page->model)->peak_bytes))
			return true;
	return false;
}

static bool something_was_left(const struct page *page)
{
	return page->summary.lists[SUMMARY_NEVER_FREED].len > 0;
}

static bool blocks_grow_stepwise(const struct page *page)
{
	const struct reallocs *reallocs = &page->summary.reallocs;
	for (size_t i = 0; page->summary.has_reallocs && i < reallocs->rows.len; i++)
		if (notable_reallocs(&reallocs->rows.data[i]))
			return true;
	return false;
}

static bool much_is_temporary(const struct page *page)
{
	const struct totals *totals = model_totals(page->model);
	return page->summary.lists[SUMMARY_TEMPORARY].len > 0 &&
	       (notable_churn(totals) || totals->temporary >= totals->allocations / 10);
}

static bool there_was_a_peak(const struct page *page)
{
	return page->summary.lists[SUMMARY_PEAK].len > 0;
}

static bool only_libraries(const struct page *page)
{
	return page->summary.libraries.live_blocks && !page->summary.lists[SUMMARY_NEVER_FREED].len;
}

static const struct next {
	bool (*is_due)(const struct page *page);
	const char *command; /* before the file */
	const char *what;
} nexts[] = {
	{leaks_were_found, "leaks", "what leaked, and where it was allocated"},
	{something_grows, "report --view growth", "what keeps growing, over time"},
	{something_was_left, "report --view never-freed",
		"all that was never freed, with whole stacks"},
	{blocks_grow_stepwise, "report --view realloc", "blocks that grow step by step"},
	{much_is_temporary, "report --view temporary", "allocations that were freed at once"},
	{there_was_a_peak, "report --view peak", "what was live at the peak, with whole stacks"},
	{there_was_a_peak, "tree", "who called whom, with their memory"},
	{only_libraries, "report --view libraries", "what libraries keep for themselves"},
};

void text_next(const struct page *page, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	unsigned shown_count = 0;
	/* Parts and sums are asked for with options that would have to be said again. */
	if (recording->range.part || recording->merged || recording->blocks)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(nexts) && shown_count < NEXT_MOST; i++) {
		if (!nexts[i].is_due(page))
			continue;
		text_add(out, shown_count++ ? "" : "\nNext\n");
		text_printf(out, "  heapwise %s ", nexts[i].command);
		text_add_argument(recording->path, out);
		bool was_live = nexts[i].is_due == something_was_left && recording->snapshot;
		text_printf(out, "  # %s\n",
			was_live ? "all that was live then, with whole stacks" : nexts[i].what);
	}
}
