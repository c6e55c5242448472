/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heapwise FILE on a terminal: a prompt as pprof's. Each line is answered by the command that does
 * so from a shell, in a process of its own: what goes wrong there, and ^C, ends that alone.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/prompt_complete.h"
#include "query/inputs.h"
#include "query/spool.h"

#define PICTURES_MAX 1000u

static const struct option_spec option_specs[] = {{0}};

static void show_options(const struct prompt_state *state)
{
	struct text text;
	text_init(&text);
	for (int i = 0; i < PROMPT_OPTIONS; i++)
		text_printf(&text, "  %-14s = %-16s %s\n", prompt_options[i].name,
			state->values[i] ? state->values[i] : "", prompt_options[i].help);
	output_text(&text);
}

static void show_help(void)
{
	struct text text;
	text_init(&text);
	for (const struct prompt_verb *verb = prompt_verbs; verb->name; verb++)
		text_printf(&text, "  %-8s %-28s %s\n", verb->name,
			verb->argument ? verb->argument : "", verb->help);
	text_add(&text, "  NAME=VALUE                            sets an option; NAME= resets it; "
			"'o' lists them\n"
			"  … > FILE                              writes the answer there\n"
			"top10 is top 10; -cum after top sorts by what is allocated in callees "
			"too. See also 'heapwise help'.\n");
	output_text(&text);
}

/* In the child: what the words ask for, to a file if they say so. */
static int cmd_prompt_answer(struct prompt_words *words, const char *output)
{
	const struct command *command = command_find(words->data[0]);
	signal(SIGINT, SIG_DFL);
	if (!output)
		return command->run(command, (int)words->len, words->data);
	struct output_file file = OUTPUT_FILE_NONE;
	struct error *error = output_file_open(output, OUTPUT_MODE, &file);
	if (!error)
		error = inputs_check(cli_context(), &file);
	if (!error && dup2(file.fd, STDOUT_FILENO) < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "cannot write %s", output);
	int code =
		error ? message_error(error) : command->run(command, (int)words->len, words->data);
	if (!code)
		code = output_file_end(&file);
	output_file_discard(&file);
	return code;
}

static void cmd_prompt_ask(struct prompt_words *words, const char *output)
{
	/* getopt wants a NULL behind the words. */
	if (!prompt_words_push(words, NULL)) {
		message_error(error_no_memory());
		return;
	}
	words->len--;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		message("can't start a process: %s", strerror(errno));
		return;
	}
	if (!pid)
		exit(cmd_prompt_answer(words, output));
	child_wait(pid, NULL, 0);
}

static bool ends_in(const char *name, const char *end)
{
	size_t name_len = strlen(name), end_len = strlen(end);
	return name_len > end_len && strcmp(name + name_len - end_len, end) == 0;
}

/* Where a picture goes: `output`, else a name that is free. The caller frees it; NULL: none. */
static char *picture_name(const struct prompt_verb *verb, const char *output)
{
	const char *form = strcmp(verb->name, "web") == 0 ? "svg" : verb->name;
	char *name = NULL;
	if (output && asprintf(&name, "%s%s%s", output, ends_in(output, form) ? "" : ".",
			      ends_in(output, form) ? "" : form) < 0)
		return NULL;
	for (unsigned i = 1; !name && i < PICTURES_MAX; i++) {
		if (asprintf(&name, "heapwise%03u.%s", i, form) < 0)
			return NULL;
		if (access(name, F_OK) == 0) {
			free(name);
			name = NULL;
		}
	}
	return name;
}

/* Shows a picture where the user looks at such. */
static void cmd_prompt_browse(const char *file)
{
	const char *browser = getenv("BROWSER");
	static const char *const usual[] = {"xdg-open", "sensible-browser", "open"};
	for (size_t i = 0; !browser && i < sizeof(usual) / sizeof(usual[0]); i++)
		if (program_in_path(usual[i]))
			browser = usual[i];
	if (!browser) {
		message("can't find a browser to open %s; set $BROWSER", file);
		return;
	}
	pid_t pid = fork();
	if (!pid) {
		execlp(browser, browser, file, (char *)NULL);
		message("cannot start %s: %s", browser, strerror(errno));
		_exit(ERROR_ENVIRONMENT);
	}
	if (pid > 0)
		child_wait(pid, NULL, 0);
}

/* Graphs are written to a file of their own. */
static void cmd_prompt_draw(
	const struct prompt_verb *verb, struct prompt_words *made, const char *output)
{
	_cleanup_free_ char *name = picture_name(verb, output);
	char *option = strdup("-o"), *value = name ? strdup(name) : NULL;
	/* Before the file, which is the last word. */
	if (!value || !option || !prompt_words_reserve(made, made->len + 3)) {
		free(option);
		free(value);
		message_error(error_no_memory());
		return;
	}
	char *file = made->data[made->len - 1];
	made->data[made->len - 1] = option;
	made->data[made->len++] = value;
	made->data[made->len++] = file;
	cmd_prompt_ask(made, NULL);
	if (access(name, F_OK) != 0)
		return;
	message("wrote %s", name);
	if (strcmp(verb->name, "web") == 0)
		cmd_prompt_browse(name);
}

static void describe_and_free(char *why)
{
	message("%s", why ? why : "out of memory");
	free(why);
}

/* Takes "> FILE", or ">FILE", from the end of a line; the caller frees it. NULL: there is none. */
static char *take_output(struct prompt_words *line)
{
	size_t count = line->len;
	if (count < 2)
		return NULL;
	char *last = line->data[count - 1], *before = line->data[count - 2];
	if (last[0] == '>' && strlen(last) > 1) {
		memmove(last, last + 1, strlen(last));
		line->len--;
		return last;
	}
	if (count < 3 || strcmp(before, ">") != 0)
		return NULL;
	free(before);
	line->len -= 2;
	return last;
}

static void do_verb(const struct prompt_state *state, const struct prompt_verb *verb,
	const char *number, struct prompt_words *line)
{
	struct prompt_words words = {.data = NULL}, made = {.data = NULL};
	_cleanup_free_ char *output = take_output(line);
	char *why = NULL;
	bool ok = !number || prompt_words_push(&words, (char *)number);
	for (size_t i = 1; ok && i < line->len; i++)
		ok = prompt_words_push(&words, line->data[i]);
	ok = ok && prompt_command(state, verb, words.data, words.len, &made, &why);
	prompt_words_deinit(&words);
	if (!ok)
		describe_and_free(why);
	else if (strcmp(verb->command, "graph") == 0)
		cmd_prompt_draw(verb, &made, output);
	else
		cmd_prompt_ask(&made, output);
	prompt_words_free(&made);
}

/* One line. False: leave. */
static bool cmd_prompt_obey(struct prompt_state *state, const char *text)
{
	struct prompt_words line = {.data = NULL};
	const char *number = NULL;
	bool stays = true;
	if (!prompt_split(text, &line)) {
		message("unterminated quote");
	} else if (line.len) {
		const char *word = line.data[0], *equals = strchr(word, '=');
		const struct prompt_verb *verb = prompt_verb_find(word, &number);
		char *why = NULL;
		if (equals && !prompt_set(state, word, (size_t)(equals - word), &why))
			describe_and_free(why);
		else if (equals)
			;
		else if (!verb)
			message("unknown command '%s'; 'help' lists all commands", word);
		else if (verb->command)
			do_verb(state, verb, number, &line);
		else if (verb->name[0] == 'o')
			show_options(state);
		else if (verb->name[0] == 'h')
			show_help();
		else
			stays = false;
	}
	prompt_words_free(&line);
	return stays;
}

static int cmd_prompt_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id = options_next(&options);
	if (id < 0)
		return options.exit_code;
	if (argc - options.operand != 1)
		return options_wrong(command, "expected one file");
	struct prompt_state state = {.file = argv[options.operand]};
	if (access(state.file, R_OK) != 0) {
		message("%s: cannot open: %s", state.file, strerror(errno));
		return ERROR_INPUT;
	}
	inputs_note(cli_context(), state.file);
	/* Answers come from children, which can't each read a pipe. */
	const char *file;
	struct error *error = spool_path(cli_context(), state.file, &file);
	if (error)
		return message_error(error);
	/* ^C ends an answer, not the prompt. */
	signal(SIGINT, SIG_IGN);
	struct prompt_complete complete = {.state = &state};
	const struct line_completion completion = prompt_completion(&complete);
	struct line_editor *editor = NULL;
	error = line_editor_create(&completion, &editor);
	if (error)
		return message_error(error);
	for (char *line; (line = line_editor_read(editor)) != NULL;) {
		bool stays = cmd_prompt_obey(&state, line);
		free(line);
		if (!stays)
			break;
	}
	line_editor_destroy(editor);
	prompt_complete_deinit(&complete);
	prompt_state_deinit(&state);
	return 0;
}

const struct command command_prompt = {
	.name = "prompt",
	.synopsis = "FILE",
	.what = "Starts an interactive prompt for one file, like pprof's.",
	.about = "'heapwise FILE' on a terminal does the same. Commands can also be piped in. Type "
		 "'help' at the\n"
		 "prompt for a list of commands. TAB completes; the history is kept in "
		 "$XDG_STATE_HOME/heapwise.\n",
	.examples = "  heapwise app.hpw\n"
		    "  echo 'sample_index=alloc_space\ntop5 -cum' | heapwise prompt app.pb.gz\n",
	.options = option_specs,
	.run = cmd_prompt_run,
};
