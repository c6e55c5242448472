/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/java/java_shown.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

static const struct {
	const char *name;
	enum java_form form;
	bool has_rows;
} forms[] = {
	{"flat", JAVA_FORM_FLAT, true},
	{"traces", JAVA_FORM_TRACES, true},
	{"collapsed", JAVA_FORM_COLLAPSED, false},
	{"tree", JAVA_FORM_TREE, false},
	{"flamegraph", JAVA_FORM_FLAMEGRAPH, false},
	{"pprof", JAVA_FORM_PPROF, false},
};

bool java_form_parse(const char *word, struct java_shown *ret)
{
	size_t len = strcspn(word, "=");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strlen(forms[i].name) != len || strncmp(word, forms[i].name, len) != 0)
			continue;
		if (word[len] && (!forms[i].has_rows || !number_whole(word + len + 1, &ret->rows)))
			return false;
		ret->form = forms[i].form;
		ret->form_given = true;
		return true;
	}
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && !strcmp(text + len - end_len, end);
}

void java_form_by_name(struct java_shown *shown)
{
	static const struct {
		const char *end;
		enum java_form form;
	} ends[] = {{".html", JAVA_FORM_FLAMEGRAPH}, {".svg", JAVA_FORM_FLAMEGRAPH},
		{".collapsed", JAVA_FORM_COLLAPSED}, {".folded", JAVA_FORM_COLLAPSED},
		{".pb", JAVA_FORM_PPROF}, {".pprof", JAVA_FORM_PPROF}};
	for (size_t i = 0; shown->file && !shown->form_given && i < ARRAY_SIZE(ends); i++) {
		if (!ends_with(shown->file, ends[i].end))
			continue;
		shown->form = ends[i].form;
		shown->form_given = true;
	}
}

char *java_pattern_regex(const char *pattern)
{
	struct text regex;
	size_t len = strlen(pattern);
	bool opens = len && pattern[0] == '*', closes = len > opens && pattern[len - 1] == '*';
	text_init(&regex);
	text_add(&regex, opens ? "" : "^");
	for (size_t i = opens; i < len - closes; i++) {
		/* Classes may be written with slashes, as in collapsed stacks. */
		char c = pattern[i];
		if (c == '/')
			c = '.';
		if (strchr("\\^$.|?*+()[]{}", c))
			text_add_char(&regex, '\\');
		text_add_char(&regex, c);
	}
	text_add(&regex, closes ? "" : "$");
	return text_steal(&regex);
}

/* ---- Words of other commands ----------------------------------------------------------------- */

static bool word_add(struct option_words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool word_add(struct option_words *words, const char *format, ...)
{
	va_list args;
	char *word = NULL;
	va_start(args, format);
	int n = vasprintf(&word, format, args);
	va_end(args);
	if (n >= 0 && option_words_push(words, word))
		return true;
	free(n >= 0 ? word : NULL);
	return false;
}

/* All patterns as one option: a stack fits if one of them does. */
static bool patterns_add(
	struct option_words *words, const char *option, const struct java_patterns *patterns)
{
	_cleanup_(text_deinit) struct text all;
	text_init(&all);
	for (size_t i = 0; i < patterns->len; i++) {
		_cleanup_free_ char *regex = java_pattern_regex(patterns->data[i]);
		if (!regex)
			return false;
		text_printf(&all, "%s(?:%s)", i ? "|" : "", regex);
	}
	return !all.failed && (!all.len || word_add(words, "--%s=%s", option, all.data));
}

static bool title_add(struct option_words *words, const struct java_shown *shown)
{
	return !shown->title || word_add(words, "--title=%s", shown->title);
}

static bool is_stdout(const struct java_shown *shown)
{
	return !shown->file || !*shown->file || !strcmp(shown->file, OUTPUT_STDOUT);
}

/* The command, and what of the words differs between forms. */
static const struct command *form_words(const struct java_shown *shown, struct option_words *words,
	const char *metric, bool *ret_added)
{
	const char *file = is_stdout(shown) ? "-" : shown->file;
	bool is_flat = shown->form == JAVA_FORM_FLAT, is_page = ends_with(file, ".html");
	switch (shown->form) {
	case JAVA_FORM_FLAT:
	case JAVA_FORM_TRACES:
		*ret_added = word_add(words, "report") &&
			     word_add(words, "--view=%s", is_flat ? "functions" : "sites") &&
			     word_add(words, "--sort=%s", metric) &&
			     (!shown->rows || word_add(words, "--limit=%" PRIu64, shown->rows));
		return &command_report;
	case JAVA_FORM_TREE:
		*ret_added = word_add(words, "tree") && word_add(words, "--metric=%s", metric) &&
			     (!shown->reverse || word_add(words, "--bottom-up")) &&
			     (!shown->least || word_add(words, "--threshold=%s", shown->least));
		return &command_tree;
	case JAVA_FORM_COLLAPSED:
		*ret_added = word_add(words, "flame") && word_add(words, "--metric=%s", metric) &&
			     word_add(words, "--folded") &&
			     (!shown->reverse || word_add(words, "--bottom-up"));
		return &command_flame;
	case JAVA_FORM_FLAMEGRAPH:
		if (is_page) {
			*ret_added = word_add(words, "html") && word_add(words, "--force") &&
				     word_add(words, "--output=%s", file) &&
				     title_add(words, shown);
			return &command_html;
		}
		*ret_added = word_add(words, "flame") && word_add(words, "--metric=%s", metric) &&
			     word_add(words, "--svg=%s", file) && title_add(words, shown) &&
			     (!shown->reverse || word_add(words, "--bottom-up")) &&
			     (!shown->least || word_add(words, "--threshold=%s", shown->least));
		return &command_flame;
	default:
		*ret_added = word_add(words, "report");
		return &command_report;
	}
}

static const struct command *words_make(const struct java_shown *shown, const char *path,
	bool is_live, struct option_words *words, bool *ret_made)
{
	const char *const metrics[2][2] = {
		{"allocated_bytes", "allocations"}, {"live_bytes", "live_blocks"}};
	const struct command *command =
		form_words(shown, words, metrics[is_live][shown->objects], ret_made);
	*ret_made = *ret_made && patterns_add(words, "focus", &shown->include) &&
		    patterns_add(words, "ignore", &shown->exclude) &&
		    (!shown->signatures || word_add(words, "--names=raw")) &&
		    word_add(words, "%s", path) && option_words_push(words, NULL);
	return command;
}

/* Runs the command with a file as its stdout. */
static int command_into(const struct command *command, int argc, char **argv, const char *path)
{
	struct output output;
	struct sink sink;
	int code = output_open(&output, &sink, path, OUTPUT_MODE);
	if (code)
		return code;
	int kept = dup(STDOUT_FILENO);
	if (kept < 0 || dup2(output.fd, STDOUT_FILENO) < 0) {
		code = message_error(
			error_errno(ERROR_ENVIRONMENT, errno, "can't write to %s", path));
	} else {
		code = command->run(command, argc, argv);
		fflush(stdout);
	}
	if (kept >= 0) {
		dup2(kept, STDOUT_FILENO);
		close(kept);
	}
	if (code) {
		output_drop(&output);
		return code;
	}
	return output_end(&output);
}

/* Forms whose command writes files itself. */
static bool writes_itself(const struct java_shown *shown)
{
	return is_stdout(shown) || shown->form == JAVA_FORM_FLAMEGRAPH;
}

int java_show(const struct java_shown *shown, const char *path, bool is_live)
{
	struct option_words words = {.data = NULL};
	bool is_made = false;
	const struct command *command = words_make(shown, path, is_live, &words, &is_made);
	int argc = (int)words.len - 1, code;
	if (!is_made)
		code = message_error(error_no_memory());
	else if (writes_itself(shown))
		code = command->run(command, argc, words.data);
	else
		code = command_into(command, argc, words.data, shown->file);
	option_words_free(&words);
	return code;
}
