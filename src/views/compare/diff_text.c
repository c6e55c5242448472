/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison as text: which two, the verdict, then lists of places:
 *
 *   Grown (2 places, +4.5 KiB)
 *     +4 KiB  from 1.5 KiB to 5.5 KiB  +15 blocks, from 5 to 20  281 B each  from malloc at
 *         read_line  input.c:41  [app]
 *         main  app.c:12  [app]
 */
#include "views/compare/change_parts.h"
#include "views/compare/diff_page.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"

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

/* "from 8 KiB to 4 MiB, +4 MiB"; of a side that is not known it says so. */
static void add_sizes(uint64_t older, uint64_t newer, struct text *out)
{
	text_add(out, "from ");
	text_add_bytes(out, older);
	text_add(out, " to ");
	text_add_bytes(out, newer);
	text_add(out, ", ");
	diff_add_change(out, METRIC_LIVE_BYTES, (int64_t)(newer - older));
}

static void add_stack(const struct thread_pair *row, struct text *out)
{
	text_add(out, "  ");
	stack_size_add_name(row, out);
	text_add(out, row->older ? row->newer ? ": " : ": gone, " : ": new, ");
	if (row->older && row->newer)
		add_sizes(row->older->stack_bytes, row->newer->stack_bytes, out);
	else
		text_add_bytes(out, (row->older ? row->older : row->newer)->stack_bytes);
	text_add_char(out, '\n');
}

/*
 *   Stacks of threads: from 24 KiB to 4.02 MiB, +4 MiB (2 threads)
 *     worker: new, 4 MiB
 *     app: from 24 KiB to 24 KiB, ±0
 */
static void add_stacks(const struct diff_page *page, struct text *out)
{
	const struct stack_sizes *stacks = &page->diff->stacks;
	text_add(out, "\nStacks of threads: ");
	if (stack_sizes_known(stacks)) {
		add_sizes(stacks->older, stacks->newer, out);
	} else if (stacks->older || stacks->newer) {
		text_add_bytes(out, stacks->older ? stacks->older : stacks->newer);
		text_printf(out, " in the %s recording, not known in the %s",
			stacks->older ? "older" : "newer", stacks->older ? "newer" : "older");
	} else {
		text_add(out, "not known\n");
		return;
	}
	size_t count = stack_sizes_known(stacks) ? stacks->rows.len : 0;
	if (count <= 1) {
		text_add_char(out, '\n');
		return;
	}
	text_add(out, " (");
	if (count > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_add_count(out, count);
	text_add(out, " threads)\n");
	for (size_t i = 0; i < count && i < page->limit; i++)
		add_stack(&stacks->rows.data[i], out);
}

void diff_text(const struct diff_page *page, struct text *out)
{
	text_change_sides(page->models, page->options->labels, out);
	text_verdict(&page->diff->verdict, out);
	text_notes(&page->notes, out);
	add_stacks(page, out);
	for (int status = 0; status < DIFF_SAME; status++)
		add_list(page, (enum diff_status)status, out);
}
