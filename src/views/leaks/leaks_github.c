/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as workflow commands of GitHub's and Gitea's runners, which put them beside the lines of a
 * change: "::error file=app.c,line=12,title=definitely lost::510 B in 5 blocks …".
 */
#include "base/cleanup.h"
#include "views/gates/ci_parts.h"
#include "views/leaks/leaks_page.h"
#include "views/report/text_parts.h"

static void leaks_github_add_row(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	bool error = leaks_is_error(page, row);
	const char *level = !error ? "notice" : row->kind == LEAK_POSSIBLE ? "warning" : "error";
	_cleanup_(text_deinit) struct text message;
	text_init(&message);
	leaks_add_message(page, row, &message);
	text_add(&message, "\n");
	text_stack(stack->frames, stack->depth, false, &message);
	if (message.data && message.data[message.len - 1] == '\n')
		message.data[message.len - 1] = '\0';
	ci_add_annotation(out, level, page->model, stack->place, leaks_kind_words(row),
		message.data ? message.data : "");
}

struct error *leaks_github(const struct leaks_page *page, struct text *out)
{
	size_t shown = 0;
	for (size_t i = 0; i < page->leaks.rows.len && shown < page->limit; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (!leaks_shows(page, row) && !leaks_may_be_error(page, row))
			continue;
		leaks_github_add_row(page, row, out);
		shown++;
	}
	leaks_errors_github(page, out);
	if (page->doubt)
		ci_add_annotation(out, "error", page->model, NULL,
			"whether there are leaks cannot be decided", page->doubt);
	else if (page->error_doubt)
		ci_add_annotation(out, "error", page->model, NULL,
			"whether frees were wrong cannot be decided", page->error_doubt);
	if (page->options->quiet)
		return NULL;
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	text_add_n(&words, page->verdict.data ? page->verdict.data : "", page->verdict.len);
	if (words.len)
		words.data[words.len - 1] = '\0';
	ci_add_annotation(
		out, "notice", page->model, NULL, "heapwise leaks", words.data ? words.data : "");
	return NULL;
}
