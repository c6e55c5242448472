/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise env: what to write where the command cannot stand in front of a program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options/recording_options.h"
#include "cli/options/shims.h"
#include "cli/setup/runtime_find.h"
#include "cli/terminal/message.h"

enum { OPT_FORMAT = OPT_RECORDING_END };

static const struct option_spec option_specs[] = {
	RECORDING_OPTIONS,
	{OPT_FORMAT, "format", "FORMAT", "shell (default), systemd or docker"},
	{0},
};

static const struct option_heading option_headings[] = {
	RECORDING_HEADINGS, {OPT_FORMAT, "How the environment is printed"}, {0}};

struct request {
	struct recording_options recording;
	struct text words; /* of HEAPWISE_OPTIONS, as they were given, each in quotes if need be */
	const char *format;
};

/* `word` in single quotes, as a shell and our own reader take it apart, unless it is plain. */
static void add_quoted(struct text *text, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789%+,-./:=@_")]) {
		text_add(text, word);
		return;
	}
	text_add_char(text, '\'');
	for (const char *p = word; *p; p++) {
		if (*p == '\'')
			text_add(text, "'\\''");
		else
			text_add_char(text, *p);
	}
	text_add_char(text, '\'');
}

/* `value` between double quotes; a backslash goes before `escaped`, `doubled` is there twice. */
static void cmd_env_add_value(
	struct text *text, const char *value, const char *escaped, char doubled)
{
	for (const char *p = value; *p; p++) {
		if (strchr(escaped, *p))
			text_add_char(text, '\\');
		else if (*p == doubled)
			text_add_char(text, *p);
		text_add_char(text, *p);
	}
}

static void add_word(struct request *request, const struct option_spec *spec, const char *argument)
{
	if (request->words.len)
		text_add_char(&request->words, ' ');
	text_printf(&request->words, "--%s%s", spec->name, argument ? "=" : "");
	if (argument)
		add_quoted(&request->words, argument);
}

static bool cmd_env_take(struct request *request, int id, const char *argument)
{
	if (id == OPT_FORMAT) {
		request->format = argument;
		return true;
	}
	for (const struct option_spec *spec = option_specs; spec->name; spec++) {
		if (spec->id == id)
			add_word(request, spec, argument);
	}
	return recording_options_take(&request->recording, id, argument);
}

static const char *words_of(const struct request *request)
{
	return request->words.data ? request->words.data : "";
}

static void format_shell(struct text *text, const struct request *request, const char *library)
{
	const char *words = words_of(request);

	text_add(text, "export LD_PRELOAD=");
	add_quoted(text, library);
	text_add(text, "${LD_PRELOAD:+:$LD_PRELOAD}");
	if (*words) {
		text_add(text, " HEAPWISE_OPTIONS=");
		add_quoted(text, words);
	}
	text_add_char(text, '\n');
}

/* systemd.exec(5), Environment=: C escapes, and % begins a specifier. Good as a drop-in and at the
 * end of a unit: sections may come again. */
static void format_systemd(struct text *text, const struct request *request, const char *library)
{
	const char *file = request->recording.launch.file, *words = words_of(request);
	text_add(text, "[Service]\n"
		       "# This replaces an LD_PRELOAD of the unit: if it has one, append it after "
		       "a colon.\n");
	if (!file || *file != '/')
		text_add(text, "# The recording goes to the unit's WorkingDirectory= (/ if it has "
			       "none), where its\n# user must be able to write; -o names another "
			       "place.\n");
	text_add(text, "Environment=\"LD_PRELOAD=");
	cmd_env_add_value(text, library, "\"\\", '%');
	text_add_char(text, '"');
	if (*words) {
		text_add(text, " \"HEAPWISE_OPTIONS=");
		cmd_env_add_value(text, words, "\"\\", '%');
		text_add_char(text, '"');
	}
	text_add_char(text, '\n');
}

static void format_docker(struct text *text, const struct request *request, const char *library)
{
	const char *words = words_of(request);
	text_add(text, "ENV LD_PRELOAD=\"");
	cmd_env_add_value(text, library, "\"\\$", 0);
	text_add(text, "${LD_PRELOAD:+:${LD_PRELOAD}}\"");
	if (*words) {
		text_add(text, " HEAPWISE_OPTIONS=\"");
		cmd_env_add_value(text, words, "\"\\$", 0);
		text_add_char(text, '"');
	}
	text_add_char(text, '\n');
}

static const struct format {
	const char *name;
	void (*write)(struct text *text, const struct request *request, const char *library);
} formats[] = {
	{"shell", format_shell},
	{"systemd", format_systemd},
	{"docker", format_docker},
	{0},
};

static int cmd_env_print(const struct command *command, const struct request *request)
{
	const struct format *format = formats;
	while (format->name && strcmp(format->name, request->format) != 0)
		format++;
	if (!format->name)
		return options_wrong(command,
			"invalid --format '%s': expected shell, systemd or docker",
			request->format);
	_cleanup_free_ char *library = NULL;
	struct error *error = runtime_find(&library);
	if (error)
		return message_error(error);
	if (runtime_is_linked(library))
		message("the library's path contains blanks, colons or $; use the link %s, and run "
			"'heapwise env' again if that directory is cleared",
			library);
	_cleanup_(text_deinit) struct text text, libraries;
	text_init(&text);
	text_init(&libraries);
	text_add(&libraries, library);
	const struct shim *shim = request->recording.shim;
	if (shim && !shim_add_library(shim, library, &libraries))
		return message_error(shim_missing(shim));
	if (libraries.failed)
		return message_error(error_no_memory());
	format->write(&text, request, libraries.data);
	if (text.failed || request->words.failed)
		return message_error(error_no_memory());
	if (fputs(text.data, stdout) < 0 || fflush(stdout))
		return message_error(error_errno(ERROR_ENVIRONMENT, errno, "can't write"));
	return 0;
}

static int cmd_env_parse(
	const struct command *command, int argc, char **argv, struct request *request)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id;
	while ((id = options_next(&options)) > 0)
		cmd_env_take(request, id, options.argument);
	if (id < 0)
		return options.exit_code;
	if (options.operand < argc)
		return options_wrong(command,
			"unexpected argument '%s': the program is started later",
			argv[options.operand]);
	struct error *error = recording_options_check(&request->recording);
	if (!error)
		return -1;
	int code = options_wrong(command, "%s", error->message);
	error_destroy(error);
	return code;
}

static int cmd_env(const struct command *command, int argc, char **argv)
{
	struct request request = {.recording = RECORDING_OPTIONS_DEFAULT, .format = "shell"};
	text_init(&request.words);
	int code = cmd_env_parse(command, argc, argv, &request);
	if (code < 0)
		code = cmd_env_print(command, &request);
	text_deinit(&request.words);
	return code;
}

const struct command command_env = {
	.name = "env",
	.synopsis = "[-o FILE] [-f] [--children WHICH] [--mode MODE] [--format FORMAT]",
	.what = "Prints the environment that records a program without 'heapwise run'.",
	.about = "For programs that something else starts: services, containers, cron jobs. The "
		 "options are those of\n"
		 "run. A relative FILE is created in the directory where the program starts. An "
		 "existing LD_PRELOAD\n"
		 "is kept, after heapwise's library; a systemd unit's own has to be appended by "
		 "hand. A program that\n"
		 "can't be recorded prints one line on stderr that says why, and runs on. With "
		 "--as=TOOL, the library\n"
		 "with that tool's functions is in LD_PRELOAD, too.\n",
	.examples =
		"  eval \"$(heapwise env -o /var/tmp/%n.%p.hpw)\"; ./app\n"
		"  heapwise env --format=systemd >/etc/systemd/system/app.service.d/heap.conf\n",
	.options = option_specs,
	.headings = option_headings,
	.no_files = true,
	.run = cmd_env,
};
