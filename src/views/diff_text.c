/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison as text: which two, the verdict, then lists of places:
 *
 *   Grown (2 places, +4.5 KiB)
 *     +4 KiB  from 1.5 KiB to 5.5 KiB  +15 blocks, from 5 to 20  281 B each  from malloc at
 *         read_line  input.c:41  [app]
 *         main  app.c:12  [app]
 */
#include "views/change_parts.h"
#include "views/diff_page.h"
#include "views/paint.h"
#include "views/text_parts.h"

static void add_list(const struct diff_page *page, enum diff_status status, struct text *out)
{
	static const char *const titles[] = {
		[DIFF_NEW] = "New",
		[DIFF_GROWN] = "Grown",
		[DIFF_SHRUNK] = "Shrunk",
		[DIFF_GONE] = "Gone",
	};
	const struct row_list *list = &page->diff->lists[status];
	if (!list->len)
		return;
	bool colour = page->options->view.colour;
	text_add_char(out, '\n');
	paint_begin(out, colour, PAINT_TITLE);
	text_printf(out, "%s (", titles[status]);
	if (list->len > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_add_count(out, list->len);
	text_add(out, list->len == 1 ? " place, " : " places, ");
	diff_add_change(out, page->diff->options.metric, page->diff->sums[status]);
	text_add(out, ")");
	paint_end(out, colour, PAINT_TITLE);
	text_add(out, "\n");
	const struct change_look look = {page->diff, colour, page->options->view.all_frames};
	for (size_t i = 0; i < list->len && i < page->limit; i++)
		text_change_row(&look, list->data[i], "", out);
}

void diff_text(const struct diff_page *page, struct text *out)
{
	text_change_sides(page->models, page->options->labels, out);
	text_verdict(&page->diff->verdict, out);
	text_notes(&page->notes, out);
	for (int status = 0; status < DIFF_SAME; status++)
		add_list(page, (enum diff_status)status, out);
}
