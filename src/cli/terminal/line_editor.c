/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/line_editor.h"

#include <assert.h>
#include <editline/readline.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/library.h"
#include "base/util.h"
#include "query/state_folder.h"

#define PROMPT_TEXT "(heapwise) "
#define HISTORY_MAX 1000

/* Functions and variables. */
#define EDIT_NAMES(X)                                                                              \
	X(add_history)                                                                             \
	X(read_history)                                                                            \
	X(readline)                                                                                \
	X(rl_attempted_completion_function)                                                        \
	X(rl_attempted_completion_over)                                                            \
	X(rl_basic_word_break_characters)                                                          \
	X(rl_catch_signals)                                                                        \
	X(rl_completion_matches)                                                                   \
	X(rl_line_buffer)                                                                          \
	X(rl_parse_and_bind)                                                                       \
	X(rl_pre_input_hook)                                                                       \
	X(rl_prep_terminal)                                                                        \
	X(rl_readline_name)                                                                        \
	X(stifle_history)                                                                          \
	X(using_history)                                                                           \
	X(write_history)

/* libedit, loaded for a prompt on a terminal. */
struct edit_library {
	EDIT_NAMES(LIBRARY_MEMBER)
};

static const char *const edit_names[] = {EDIT_NAMES(LIBRARY_NAME)};

static_assert(sizeof(struct edit_library) == sizeof(edit_names), "one pointer a name");

struct line_editor {
	struct edit_library library;
	const struct line_completion *completion;
	bool is_terminal;
	char *history; /* file; NULL: none */
	size_t start;  /* of the word that is completed */
	size_t next;   /* of what completion goes through */
};

/* What the library calls back has no argument of ours. */
static struct line_editor *current;

static char *history_file(void)
{
	_cleanup_free_ char *folder = state_folder(NULL);
	char *path = NULL;
	return folder && asprintf(&path, "%shistory", folder) >= 0 ? path : NULL;
}

static char *next_candidate(const char *text, int again)
{
	struct line_editor *editor = current;
	const struct line_completion *completion = editor->completion;
	if (!again)
		editor->next = 0;
	for (const char *word;
		(word = completion->candidate(completion->context, *current->library.rl_line_buffer,
			 editor->start, editor->next++)) != NULL;)
		if (strncmp(word, text, strlen(text)) == 0)
			return strdup(word);
	return NULL;
}

static char **line_editor_complete(const char *text, int start, int end)
{
	(void)end;
	*current->library.rl_attempted_completion_over = 1; /* no names of files in its place */
	current->start = (size_t)start;
	return current->library.rl_completion_matches(text, next_candidate);
}

/*
 * The terminal gives single keys before the prompt is shown, not after it: a user who has seen it
 * may type any. What was typed earlier, while an answer was written, it took by lines: ^D is a NUL
 * then, which else is a key without a meaning (^@). The library binds that anew for each line.
 */
static int take_keys(void)
{
	int waiting = 0;
	current->library.rl_prep_terminal(1);
	bool is_early = ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
	current->library.rl_parse_and_bind(
		is_early ? "bind ^@ em-delete-or-list" : "bind ^@ ed-ignore");
	return 0;
}

static struct error *edit_library_load(struct edit_library *ret)
{
	const struct library library = {.file = "libedit.so.2",
		.package = "libedit2",
		.names = edit_names,
		.len = ARRAY_SIZE(edit_names)};
	return library_load(&library, ret);
}

static void begin_editing(struct line_editor *editor)
{
	current = editor;
	*editor->library.rl_readline_name = (char *)"heapwise";
	/* Its own handler would end the line, and with it the prompt, at ^C. */
	*editor->library.rl_catch_signals = 0;
	*editor->library.rl_attempted_completion_function = line_editor_complete;
	*editor->library.rl_basic_word_break_characters = (char *)" \t\n\"'>=";
	*editor->library.rl_pre_input_hook = take_keys;
	editor->library.using_history();
	editor->history = history_file();
	if (editor->history) {
		editor->library.stifle_history(HISTORY_MAX);
		editor->library.read_history(editor->history);
	}
}

struct error *line_editor_create(const struct line_completion *completion, struct line_editor **ret)
{
	struct line_editor *editor = calloc(1, sizeof(*editor));
	if (!editor)
		return error_no_memory();
	editor->completion = completion;
	editor->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct error *error = editor->is_terminal ? edit_library_load(&editor->library) : NULL;
	if (error) {
		free(editor);
		return error;
	}
	if (editor->is_terminal)
		begin_editing(editor);
	*ret = editor;
	return NULL;
}

void line_editor_destroy(struct line_editor *editor)
{
	if (editor->history)
		editor->library.write_history(editor->history);
	current = NULL;
	free(editor->history);
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
	char *line = editor->library.readline(PROMPT_TEXT);
	if (!line)
		putchar('\n');
	else if (*line)
		editor->library.add_history(line);
	return line;
}
