/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as workflow commands of GitHub's and Gitea's runners, which put them beside the lines of a
 * change: "::error file=app.c,line=12,title=definitely lost::510 B in 5 blocks …".
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "views/leaks_page.h"
#include "views/text_parts.h"

/* As the runners' own library escapes: the second set in properties only. */
static void add_escaped(struct text *out, const char *text, bool property)
{
	for (; *text; text++) {
		bool escaped = strchr("%\r\n", *text) || (property && strchr(":,", *text));
		if (escaped)
			text_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
		else
			text_add_char(out, *text);
	}
}

static void add_row(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	const char *file = leaks_file(page, stack->place);
	bool error = leaks_is_error(page, row);
	text_printf(out, "::%s ",
		!error                       ? "notice"
		: row->kind == LEAK_POSSIBLE ? "warning"
					     : "error");
	if (file) {
		text_add(out, "file=");
		add_escaped(out, file, true);
		if (stack->place->line)
			text_printf(out, ",line=%" PRIu32, stack->place->line);
		text_add(out, ",");
	}
	text_printf(out, "title=%s::", leaks_kind_words(row));
	_cleanup_(text_deinit) struct text message;
	text_init(&message);
	leaks_add_message(page, row, &message);
	text_add(&message, "\n");
	for (size_t i = 0; i < stack->depth; i++)
		text_frame(stack->frames[i], &message);
	if (message.data && message.data[message.len - 1] == '\n')
		message.data[message.len - 1] = '\0';
	add_escaped(out, message.data ? message.data : "", false);
	text_add(out, "\n");
}

struct error *leaks_github(const struct leaks_page *page, struct text *out)
{
	size_t shown = 0;
	for (size_t i = 0; i < page->leaks.rows.len && shown < page->limit; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (!leaks_shows(page, row) && !leaks_is_error(page, row))
			continue;
		add_row(page, row, out);
		shown++;
	}
	if (page->options->quiet)
		return NULL;
	text_add(out, "::notice title=heapwise leaks::");
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	text_add_n(&words, page->verdict.data ? page->verdict.data : "", page->verdict.len);
	if (words.len)
		words.data[words.len - 1] = '\0';
	add_escaped(out, words.data ? words.data : "", false);
	text_add(out, "\n");
	return NULL;
}
