/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/options.h"

#include <assert.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/options/suggest.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

#define OPTIONS_MAX 96

/* The tables that getopt_long wants. */
struct getopt_tables {
	char letters[2 * OPTIONS_MAX + 8];
	struct option longs[OPTIONS_MAX + 2];
};

/* An argument that may be left out: "[=WORD]". */
static bool is_optional(const struct option_spec *spec)
{
	return spec->argument && spec->argument[0] == '[';
}

static int argument_kind(const struct option_spec *spec)
{
	if (is_optional(spec))
		return optional_argument;
	return spec->argument ? required_argument : no_argument;
}

static void make_tables(const struct command *command, struct getopt_tables *tables)
{
	char *letter = tables->letters;
	if (command->stops_at_operand)
		*letter++ = '+';
	*letter++ = ':';
	*letter++ = 'h';
	struct option *row = tables->longs;
	*row++ = (struct option){"help", no_argument, NULL, 'h'};
	for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
		assert(row < tables->longs + OPTIONS_MAX + 1);
		*row++ = (struct option){spec->name, argument_kind(spec), NULL, spec->id};
		if (spec->id > OPTION_LETTER_MAX)
			continue;
		*letter++ = (char)spec->id;
		if (spec->argument)
			*letter++ = ':';
	}
	*letter = '\0';
	*row = (struct option){0};
}

static int options_stop(struct options *options, int exit_code)
{
	options->exit_code = exit_code;
	return -1;
}

/* Whether getopt_long stopped at a letter that the command has not. */
static bool is_unknown_letter(const struct command *command)
{
	if (optopt <= 0 || optopt > OPTION_LETTER_MAX)
		return false;
	const struct option_spec *spec = command->options;
	while (spec && spec->name && spec->id != optopt)
		spec++;
	return optopt != 'h' && (!spec || !spec->name);
}

/* The word that getopt_long could not use; problem NULL: there is no such option. A bad letter may
 * stand inside a group of letters, which is not behind it then: `word` is the one before. */
static int wrong_option(struct options *options, const char *problem)
{
	const char *word = options->argv[optind - 1];
	bool is_letter =
		problem ? optopt > 0 && optopt <= OPTION_LETTER_MAX && strncmp(word, "--", 2) != 0
			: is_unknown_letter(options->command);
	if (!problem && !is_letter && !strncmp(word, "--", 2)) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		suggest_option(options->command, word, &text);
		const char *words = text.data ? text.data : "unknown option";
		if (!options->origin)
			return options_stop(options, options_wrong(options->command, "%s", words));
		message("%s: %s; nothing is recorded", options->origin, words);
		return options_stop(options, ERROR_USAGE);
	}
	problem = problem ? problem : "unknown option";
	if (options->origin) {
		message("%s: %s '%s'; nothing is recorded", options->origin, problem, word);
		return options_stop(options, ERROR_USAGE);
	}
	if (is_letter)
		return options_stop(
			options, options_wrong(options->command, "%s '-%c'", problem, optopt));
	return options_stop(options, options_wrong(options->command, "%s '%s'", problem, word));
}

int options_next(struct options *options)
{
	if (!options->started) {
		options->started = true;
		opterr = 0;
		optind = 0; /* starts anew, whatever was parsed before */
	}
	struct getopt_tables tables;
	make_tables(options->command, &tables);
	int id = getopt_long(options->argc, options->argv, tables.letters, tables.longs, NULL);
	options->argument = optarg;
	switch (id) {
	case -1:
		options->operand = optind;
		return 0;
	case 'h':
		if (options->origin)
			return wrong_option(options, "unknown option");
		return options_stop(options, command_print_help(options->command));
	case '?':
		return wrong_option(options, NULL);
	case ':':
		return wrong_option(options, "missing value for option");
	default:
		return id;
	}
}

bool options_each(struct options *options,
	bool (*take)(const struct options *options, int id, void *ctx), void *ctx, int *ret_code)
{
	int id;
	*ret_code = ERROR_USAGE;
	options->refused = ret_code;
	while ((id = options_next(options)) > 0)
		if (!take(options, id, ctx))
			return false;
	if (id < 0)
		*ret_code = options->exit_code;
	return id == 0;
}

void options_refuse(const struct options *options, const struct error *error)
{
	if (error->code == ERROR_USAGE)
		options_wrong(options->command, "%s", error->message);
	else
		message("%s", error->message);
	if (options->refused)
		*options->refused = error->code;
}

bool options_number(
	const struct options *options, const char *text, const char *name, uint64_t *ret)
{
	if (number_whole(text, ret))
		return true;
	options_wrong(options->command, "invalid --%s '%s': expected a whole number, 1 or more",
		name, text);
	return false;
}

bool options_one_pid(const struct options *options, pid_t *ret)
{
	int count = options->argc - options->operand;
	const char *word = count == 1 ? options->argv[options->operand] : NULL;
	uint64_t pid;
	if (!word) {
		options_wrong(options->command, count < 1 ? "expected a PID" : "expected one PID");
		return false;
	}
	if (!number_whole(word, &pid) || pid > INT_MAX || !pid) {
		options_wrong(options->command, "'%s' is not a PID", word);
		return false;
	}
	*ret = (pid_t)pid;
	return true;
}

int options_wrong(const struct command *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	message_v(format, args);
	va_end(args);
	fprintf(stderr, "Try 'heapwise %s --help'.\n", command->name);
	return ERROR_USAGE;
}

const struct option_spec option_help = {'h', "help", NULL, "show this help"};

bool options_untaken(const struct options *options, int id)
{
	const struct option_spec *spec = options->command->options;
	while (spec && spec->name && spec->id != id)
		spec++;
	message("heapwise %s has an option --%s without effect; please report this bug",
		options->command->name, spec && spec->name ? spec->name : "?");
	return false;
}

static void add_option(struct text *text, const struct option_spec *spec)
{
	char left[64];
	int len = spec->id <= OPTION_LETTER_MAX
			  ? snprintf(left, sizeof(left), "-%c, --%s", spec->id, spec->name)
			  : snprintf(left, sizeof(left), "    --%s", spec->name);
	if (spec->argument && len > 0 && (size_t)len < sizeof(left))
		snprintf(left + len, sizeof(left) - (size_t)len, is_optional(spec) ? "%s" : " %s",
			spec->argument);
	text_printf(text, "  %-24s  %s\n", left, spec->help);
}

const char *option_heading_find(const struct command *command, const struct option_spec *spec)
{
	const struct option_heading *heading = command->headings;
	while (heading && heading->text && heading->id != spec->id)
		heading++;
	return heading ? heading->text : NULL;
}

static void add_heading(struct text *text, const char *heading)
{
	if (heading)
		text_printf(text, "\n%s\n", heading);
}

int command_print_help(const struct command *command)
{
	struct text text;
	text_init(&text);
	text_printf(&text, "Usage: heapwise %s %s\n\n%s\n", command->name, command->synopsis,
		command->what);
	if (command->about)
		text_printf(&text, "%s", command->about);
	if (command->describe)
		command->describe(&text);
	text_add(&text, "\nOptions\n");
	for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
		add_heading(&text, option_heading_find(command, spec));
		add_option(&text, spec);
	}
	add_heading(&text, command->headings ? "Help" : NULL);
	add_option(&text, &option_help);
	if (command->examples)
		text_printf(&text, "\nExamples\n%s", command->examples);
	return output_text(&text);
}

bool option_words_note(
	struct option_words *words, const struct option_spec *specs, int id, const char *argument)
{
	char *word = NULL;
	while (specs->id && specs->id != id)
		specs++;
	if (!specs->id)
		return true;
	if (asprintf(&word, "--%s%s%s", specs->name, argument ? "=" : "",
		    argument ? argument : "") < 0)
		word = NULL;
	if (word && option_words_push(words, word))
		return true;
	free(word);
	message_error(error_no_memory());
	return false;
}

void option_words_free(struct option_words *words)
{
	for (size_t i = 0; i < words->len; i++)
		free(words->data[i]);
	option_words_deinit(words);
}
