/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap_verbs.h"

#include <string.h>

#include "cli/message.h"
#include "views/leaks_view.h"

/* A view of the judged heap. */
static int show(struct heap_session *session,
	struct error *(*write)(const struct heap_page *page, const struct sink *sink))
{
	struct error *error = heap_session_judge(session);
	if (error)
		return message_error(error);
	struct heap_page page = heap_session_page(session);
	struct output output;
	struct sink sink = output_sink_paged(&output, !session->no_pager && !session->json);
	error = write(&page, &sink);
	return error ? message_error(error) : output_end(&output);
}

static int run_summary(struct heap_session *session, int count, char **words)
{
	(void)count, (void)words;
	return show(session, heap_summary_write);
}

static int run_types(struct heap_session *session, int count, char **words)
{
	(void)count, (void)words;
	return show(session, heap_types_write);
}

static struct error *write_leaks(const struct heap_page *page, const struct sink *sink)
{
	const struct leaks_view_options options = {.form = page->json ? LEAKS_JSON : LEAKS_TEXT,
		.detail = LEAKS_FULL,
		.show_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.error_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.colour = page->colour,
		.limit = page->limit};
	uint64_t errors;
	return leaks_view_write(page->model, &options, sink, &errors);
}

static int run_leaks(struct heap_session *session, int count, char **words)
{
	(void)count, (void)words;
	return show(session, write_leaks);
}

static int run_blocks(struct heap_session *session, int count, char **words)
{
	(void)count, (void)words;
	return show(session, heap_blocks_write);
}

const struct heap_verb heap_verbs[] = {
	{"summary", "", "What is in use, free and lost, and the largest types (without a verb).", 0,
		0, run_summary},
	{"types", "", "What there is, by bytes.", 0, 0, run_types},
	{"blocks", "", "Every block: address, size, used or free, and what it is.", 0, 0,
		run_blocks},
	{"leaks", "", "What nothing points to any more: `heapwise leaks` has more forms of it.", 0,
		0, run_leaks},
	{0},
};

const struct heap_verb *heap_verb_find(const char *name)
{
	for (const struct heap_verb *verb = heap_verbs; verb->name; verb++) {
		if (!strcmp(verb->name, name))
			return verb;
	}
	return NULL;
}

void heap_verbs_describe(struct text *text)
{
	for (const struct heap_verb *verb = heap_verbs; verb->name; verb++)
		text_printf(text, "  %-9s %-18s %s\n", verb->name, verb->synopsis, verb->what);
}

int heap_verbs_run(struct heap_session *session, int count, char **words)
{
	if (!count)
		return run_summary(session, 0, NULL);
	const struct heap_verb *verb = heap_verb_find(words[0]);
	if (!verb) {
		message("there is no verb '%s' (heapwise core --help has them)", words[0]);
		return ERROR_USAGE;
	}
	if (count - 1 < verb->least || count - 1 > verb->most) {
		message("%s wants: %s %s", verb->name, verb->name, verb->synopsis);
		return ERROR_USAGE;
	}
	return verb->run(session, count, words);
}
