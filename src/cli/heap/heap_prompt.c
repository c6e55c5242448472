/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "cli/heap/heap_command.h"
#include "cli/heap/heap_interrupt.h"
#include "cli/heap/heap_verbs.h"
#include "cli/setup/context.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/prompt_state.h"
#include "query/inputs.h"

static const char *const own_verbs[] = {"help", "quit"};
#define OWN_VERBS 2u

/* A verb, or (with_own) one of the prompt's. */
static const char *verb_word(size_t n, bool with_own)
{
	size_t own = with_own ? OWN_VERBS : 0, verbs = 0;
	if (n < own)
		return own_verbs[n];
	while (heap_verbs[verbs].name)
		verbs++;
	return n - own < verbs ? heap_verbs[n - own].name : NULL;
}

/* The first word of a line, if it is a verb; else NULL. */
static const struct heap_verb *verb_of(const char *line)
{
	char name[32];
	line += strspn(line, " \t");
	size_t len = strcspn(line, " \t");
	if (len >= sizeof(name))
		return NULL;
	memcpy(name, line, len);
	name[len] = '\0';
	return heap_verb_find(name);
}

/* The word before the one that begins at `start`, and how long it is. */
static const char *word_before(const char *line, size_t start, size_t *ret_len)
{
	size_t end = start;
	while (end && strchr(" \t=", line[end - 1]))
		end--;
	size_t at = end;
	while (at && !strchr(" \t", line[at - 1]))
		at--;
	*ret_len = end - at;
	return line + at;
}

/* Verbs first in a line; then options of the verb, what they may be, and types. */
static const char *heap_prompt_candidate(void *context, const char *line, size_t start, size_t n)
{
	static char option[40];
	const struct heap_look *look = context;
	const struct heap_type_vec *types = &look->heap.scan.types.types;
	size_t len;
	if (!start)
		return verb_word(n, true);
	const char *before = word_before(line, start, &len);
	if (len == 4 && !strncmp(before, "help", 4))
		return verb_word(n, false);
	const struct heap_verb *verb = verb_of(line);
	if (line[start] == '-')
		return heap_selection_option(verb ? verb->options : 0, n, option, sizeof(option));
	const char *const *values = heap_selection_values(before, len);
	if (values) {
		for (size_t i = 0; i < n; i++) {
			if (!values[i])
				return NULL;
		}
		return values[n];
	}
	return n < types->len ? types->data[n].name : NULL;
}

/* help, help VERB */
static int show_help(const struct prompt_words *words)
{
	struct text text;
	text_init(&text);
	for (size_t i = 1; i < words->len; i++) {
		const struct heap_verb *verb = heap_verb_find(words->data[i]);
		if (!verb) {
			text_deinit(&text);
			message("unknown verb '%s' (help lists all verbs)", words->data[i]);
			return ERROR_USAGE;
		}
		heap_verb_describe(verb, &text);
	}
	if (words->len > 1)
		return output_text(&text);
	heap_verbs_describe(&text);
	text_add(&text,
		"  --limit N, --json, --as TYPE, --no-pager, --color WHEN: apply to one line\n"
		"  VERB … | COMMAND             pipes the answer to a shell command\n"
		"  VERB … > FILE, >> FILE       writes it to a file, or appends it\n"
		"  help VERB                    shows the options of a verb, and an example\n"
		"  quit                         ends the session, like ^D\n");
	return output_text(&text);
}

/* Where an answer goes. */
struct destination {
	char *file; /* NULL: none; the caller frees it */
	bool appends;
	const char *command; /* of the shell; NULL: none */
};

/* What stands in the file already. */
static struct error *copy_there(const struct output_file *file)
{
	char piece[65536];
	if (file->folder < 0 || !file->exists)
		return NULL;
	_cleanup_close_ int fd =
		openat(file->folder, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : 0;
	struct error *error = NULL;
	while (fd >= 0 && !error && (got = read(fd, piece, sizeof(piece))) > 0)
		error = write_all(file->fd, file->path, piece, (size_t)got);
	return error || got >= 0
		       ? error
		       : error_errno(ERROR_ENVIRONMENT, errno, "cannot read %s", file->path);
}

static int answer_words(struct heap_look *look, const struct prompt_words *words)
{
	if (!strcmp(words->data[0], "help") || !strcmp(words->data[0], "?"))
		return show_help(words);
	return heap_command_line(look, words->data, words->len);
}

/* In a process of its own: with stdout where the answer goes. */
static int answer_to(
	struct heap_look *look, const struct prompt_words *words, const struct destination *to)
{
	if (!to->file)
		return answer_words(look, words);
	struct output_file file = OUTPUT_FILE_NONE;
	struct error *error = output_file_open(to->file, OUTPUT_MODE, &file);
	if (!error)
		error = inputs_check(cli_context(), &file);
	if (!error && to->appends)
		error = copy_there(&file);
	if (!error && dup2(file.fd, STDOUT_FILENO) < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "cannot write %s", to->file);
	int code = error ? message_error(error) : answer_words(look, words);
	fflush(NULL);
	if (!code)
		code = output_file_end(&file);
	output_file_discard(&file);
	return code;
}

/* Starts a command of the shell that reads from `in`. False, after saying so: it can't be. */
static bool start_shell(const char *command, int in, pid_t *ret)
{
	int err = shell_spawn(command, in, ret);
	if (err)
		message("cannot start /bin/sh: %s", strerror(err));
	return !err;
}

/* Both are children of the prompt: ^C ends the answer, and a pager that lives on keeps the
 * terminal. */
static void heap_prompt_answer(
	struct heap_look *look, const struct prompt_words *words, const struct destination *to)
{
	pid_t shell = 0;
	int ends[2] = {-1, -1};
	if (to->command && pipe2(ends, O_CLOEXEC)) {
		message("cannot make a pipe: %s", strerror(errno));
		return;
	}
	_cleanup_close_ int in = ends[0];
	int out = ends[1];
	fflush(NULL);
	bool ok = !to->command || start_shell(to->command, in, &shell);
	pid_t pid = ok ? fork() : 0;
	if (pid < 0)
		message("can't start a process: %s", strerror(errno));
	if (ok && !pid) {
		signal(SIGINT, SIG_DFL);
		heap_interrupt_end();
		/* A reader that is gone is noticed only if nobody else can read. */
		if (in >= 0)
			close(in);
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		/* What the session holds is its parent's to give back. */
		int code = answer_to(look, words, to);
		fflush(NULL);
		_exit(code);
	}
	if (in >= 0)
		close(in);
	in = -1;
	if (out >= 0)
		close(out);
	if (pid > 0)
		child_wait(pid, NULL, 0);
	if (shell > 0)
		child_wait(shell, NULL, 0);
}

/* Where a '|' stands in a line that is in no quotes; NULL: nowhere. */
static char *find_pipe(char *line)
{
	char quote = 0;
	for (; *line; line++) {
		if (*line == quote)
			quote = 0;
		else if (!quote && (*line == '"' || *line == '\''))
			quote = *line;
		else if (!quote && *line == '|')
			return line;
	}
	return NULL;
}

/* Takes "> FILE", ">> FILE", or the same without a blank, from the end of a line. What stands
 * before it may end in '>', as types do. */
static void take_file(struct prompt_words *line, struct destination *ret)
{
	size_t count = line->len;
	if (count < 2)
		return;
	char *last = line->data[count - 1], *before = line->data[count - 2];
	size_t signs = strspn(last, ">");
	if (signs && signs <= 2 && last[signs]) {
		memmove(last, last + signs, strlen(last + signs) + 1);
		line->len--;
	} else {
		signs = strspn(before, ">");
		if (count < 3 || !signs || signs > 2 || before[signs] || last[0] == '>')
			return;
		free(before);
		line->len -= 2;
	}
	ret->file = last;
	ret->appends = signs == 2;
}

/* False: the prompt ends. */
static bool heap_prompt_obey(struct heap_look *look, char *line)
{
	struct prompt_words words;
	struct destination to = {.file = NULL};
	char *bar = find_pipe(line);
	if (bar) {
		*bar = '\0';
		to.command = bar + 1;
	}
	bool stays = true;
	prompt_words_init(&words);
	bool ok = prompt_split(line, &words);
	if (ok && !bar)
		take_file(&words, &to);
	if (!ok)
		message("unterminated quote");
	else if (bar && (!words.len || !to.command[strspn(to.command, " \t")]))
		message("expected a verb before '|' and a command after it");
	else if (!words.len)
		stays = true;
	else if (!strcmp(words.data[0], "quit") || !strcmp(words.data[0], "q") ||
		 !strcmp(words.data[0], "exit"))
		stays = false;
	else
		heap_prompt_answer(look, &words, &to);
	free(to.file);
	prompt_words_free(&words);
	return stays;
}

int heap_prompt_run(struct heap_look *look)
{
	struct error *error = heap_session_find_leaks(&look->heap);
	if (error)
		return message_error(error);
	/* Who writes lines from elsewhere asks for what he wants. */
	int code = isatty(STDIN_FILENO) ? heap_verbs_run(look, 0, NULL) : 0;
	if (code)
		return code;
	const struct line_completion completion = {look, heap_prompt_candidate};
	/* ^C ends an answer, not the prompt. */
	signal(SIGINT, SIG_IGN);
	struct line_editor *editor = NULL;
	error = line_editor_create(&completion, &editor);
	if (error)
		return message_error(error);
	for (char *line; !heap_interrupted && (line = line_editor_read(editor)) != NULL;) {
		bool stays = heap_prompt_obey(look, line);
		free(line);
		if (!stays)
			break;
	}
	line_editor_destroy(editor);
	return 0;
}
