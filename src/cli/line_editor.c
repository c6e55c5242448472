/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/line_editor.h"

#include <editline/readline.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/grain.h"
#include "analysis/profile.h"
#include "base/cleanup.h"
#include "cli/bundles.h"
#include "cli/state_folder.h"
#include "sources/source.h"

#define PROMPT_TEXT "(heapwise) "
#define HISTORY_MAX 1000

struct line_editor {
	const struct prompt_state *state;
	bool is_terminal;
	char *history;             /* file; NULL: none */
	struct prompt_words names; /* functions of the file, for completion */
	bool has_names;
	size_t next; /* of what completion goes through */
};

/* What the library calls back has no argument of ours. */
static struct line_editor *current;

static char *history_file(void)
{
	_cleanup_free_ char *folder = state_folder(NULL);
	char *path = NULL;
	return folder && asprintf(&path, "%shistory", folder) >= 0 ? path : NULL;
}

static inline void model_cleanup(struct model **model)
{
	model_destroy(*model);
}

static bool keep_names(struct line_editor *editor, const struct profile *profile)
{
	struct spots *spots = NULL;
	struct error *error = spots_create(GRAIN_FUNCTIONS, &spots);
	const struct rows *rows = profile_rows(profile);
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		for (size_t k = 0; !error && k < rows->rows.data[i].depth; k++) {
			const struct spot *spot;
			error = spots_find(spots, rows->rows.data[i].frames[k], &spot);
		}
	bool ok = !error;
	for (size_t i = 0; ok && i < spots_count(spots); i++) {
		char *name = strdup(spots_at(spots, i)->name);
		ok = name && prompt_words_push(&editor->names, name);
	}
	error_destroy(error);
	spots_destroy(spots);
	return ok;
}

/* Names are read when they are first asked for; without them less is completed. */
static void need_names(struct line_editor *editor)
{
	if (editor->has_names)
		return;
	editor->has_names = true;
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct profile profile;
	profile_init(&profile);
	struct error *error = recording_open(editor->state->file, 0, NULL, &model);
	if (!error)
		error = profile_build(model, false, NULL, &profile);
	if (!error)
		keep_names(editor, &profile);
	error_destroy(error);
	profile_deinit(&profile);
}

/* The n-th word that could stand first in a line; NULL: there are no more. */
static const char *first_word(size_t n)
{
	size_t verbs = 0;
	while (prompt_verbs[verbs].name)
		verbs++;
	if (n < verbs)
		return prompt_verbs[n].name;
	return n - verbs < PROMPT_OPTIONS ? prompt_options[n - verbs].name : NULL;
}

/* What the value of the option may become that the line begins with. */
static char *next_value(const char *text, int again)
{
	struct line_editor *editor = current;
	const char *line = rl_line_buffer;
	size_t len = strcspn(line, "=");
	if (!again)
		editor->next = 0;
	for (int i = 0; i < PROMPT_OPTIONS; i++) {
		const struct prompt_option_info *info = &prompt_options[i];
		if (strlen(info->name) != len || strncmp(info->name, line, len) != 0)
			continue;
		while (info->words && info->words[editor->next]) {
			const char *word = info->words[editor->next++];
			if (strncmp(word, text, strlen(text)) == 0)
				return strdup(word);
		}
	}
	return NULL;
}

static char *next_first(const char *text, int again)
{
	struct line_editor *editor = current;
	if (!again)
		editor->next = 0;
	for (const char *word; (word = first_word(editor->next++)) != NULL;)
		if (strncmp(word, text, strlen(text)) == 0)
			return strdup(word);
	return NULL;
}

static char *next_name(const char *text, int again)
{
	struct line_editor *editor = current;
	if (!again)
		editor->next = 0;
	while (editor->next < editor->names.len) {
		const char *name = editor->names.data[editor->next++];
		if (strncmp(name, text, strlen(text)) == 0)
			return strdup(name);
	}
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	(void)end;
	rl_attempted_completion_over = 1; /* no names of files in its place */
	if (start == 0)
		return rl_completion_matches(text, next_first);
	if (rl_line_buffer[start - 1] == '=')
		return rl_completion_matches(text, next_value);
	need_names(current);
	return rl_completion_matches(text, next_name);
}

/*
 * The terminal gives single keys before the prompt is shown, not after it: whoever has seen it may
 * type any. What was typed earlier, while an answer was written, it took by lines: ^D is a NUL
 * then. The library binds that anew for each line.
 */
static int take_keys(void)
{
	rl_prep_terminal(1);
	rl_parse_and_bind("bind ^@ em-delete-or-list");
	return 0;
}

struct line_editor *line_editor_create(const struct prompt_state *state)
{
	struct line_editor *editor = calloc(1, sizeof(*editor));
	if (!editor)
		return NULL;
	editor->state = state;
	editor->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!editor->is_terminal)
		return editor;
	current = editor;
	rl_readline_name = (char *)"heapwise";
	/* Its own handler would end the line, and with it the prompt, at ^C. */
	rl_catch_signals = 0;
	rl_attempted_completion_function = complete;
	rl_basic_word_break_characters = (char *)" \t\n\"'>=";
	rl_pre_input_hook = take_keys;
	using_history();
	editor->history = history_file();
	if (editor->history) {
		stifle_history(HISTORY_MAX);
		read_history(editor->history);
	}
	return editor;
}

void line_editor_destroy(struct line_editor *editor)
{
	if (editor->history)
		write_history(editor->history);
	current = NULL;
	free(editor->history);
	prompt_words_free(&editor->names);
	free(editor);
}

static char *read_plain(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len = getline(&line, &room, stdin);
	if (len < 0) {
		free(line);
		return NULL;
	}
	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	return line;
}

char *line_editor_read(struct line_editor *editor)
{
	if (!editor->is_terminal)
		return read_plain();
	char *line = readline(PROMPT_TEXT);
	if (!line)
		putchar('\n');
	else if (*line)
		add_history(line);
	return line;
}
