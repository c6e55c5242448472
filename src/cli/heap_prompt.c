/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap_prompt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "cli/heap_command.h"
#include "cli/heap_interrupt.h"
#include "cli/heap_verbs.h"
#include "cli/line_editor.h"
#include "cli/message.h"
#include "cli/prompt_state.h"

static const char *const own_verbs[] = {"help", "quit"};
#define OWN_VERBS 2u

/* Verbs first in a line; then types, which `why` takes. */
static const char *candidate(void *context, const char *line, size_t start, size_t n)
{
	const struct heap_session *session = context;
	(void)line;
	const struct heap_type_vec *types = &session->survey.types.types;
	if (start)
		return n < types->len ? types->data[n].name : NULL;
	if (n < OWN_VERBS)
		return own_verbs[n];
	size_t verbs = 0;
	while (heap_verbs[verbs].name)
		verbs++;
	return n - OWN_VERBS < verbs ? heap_verbs[n - OWN_VERBS].name : NULL;
}

static void show_help(void)
{
	struct text text;
	text_init(&text);
	heap_verbs_describe(&text);
	text_add(&text, "  --limit N, --json, --as TYPE, --no-pager, --color WHEN: for one line\n"
			"  help                         this\n"
			"  quit                         ends, as ^D does\n");
	output_text(&text);
}

/* In a process of its own. */
static void answer(struct heap_session *session, const struct prompt_words *words)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		message("cannot start a process: %s", strerror(errno));
		return;
	}
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		heap_interrupt_end();
		/* What the session holds is its parent's to give back. */
		int code = heap_command_line(session, words->data, words->len);
		fflush(NULL);
		_exit(code);
	}
	child_wait(pid, NULL, 0);
}

/* False: the prompt ends. */
static bool obey(struct heap_session *session, const char *line)
{
	struct prompt_words words;
	bool stays = true;
	prompt_words_init(&words);
	if (!prompt_split(line, &words))
		message("a quote is not closed");
	else if (!words.len)
		stays = true;
	else if (!strcmp(words.data[0], "quit") || !strcmp(words.data[0], "q") ||
		 !strcmp(words.data[0], "exit"))
		stays = false;
	else if (!strcmp(words.data[0], "help") || !strcmp(words.data[0], "?"))
		show_help();
	else
		answer(session, &words);
	prompt_words_free(&words);
	return stays;
}

int heap_prompt_run(struct heap_session *session)
{
	struct error *error = heap_session_judge(session);
	if (error)
		return message_error(error);
	int code = heap_verbs_run(session, 0, NULL);
	if (code)
		return code;
	const struct line_completion completion = {session, candidate};
	/* ^C ends an answer, not the prompt. */
	signal(SIGINT, SIG_IGN);
	struct line_editor *editor = line_editor_create(&completion);
	if (!editor)
		return message_error(error_no_memory());
	for (char *line; !heap_interrupted && (line = line_editor_read(editor)) != NULL;) {
		bool stays = obey(session, line);
		free(line);
		if (!stays)
			break;
	}
	line_editor_destroy(editor);
	return 0;
}
