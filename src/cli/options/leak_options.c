/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/leak_options.h"

#include <string.h>

#include "base/number.h"
#include "base/util.h"
#include "cli/options/options.h"

/* As Valgrind's defaults: bits of enum leak_kind. */
#define DEFINITE 1u
#define INDIRECT 2u
#define POSSIBLE 4u
#define REACHABLE 8u

#define CALLERS_MAX 500u /* the message below says so */

void leak_options_init(struct leak_options *options)
{
	*options = (struct leak_options){
		.detail = "full",
		.show_kinds = DEFINITE | POSSIBLE,
		.error_kinds = DEFINITE | POSSIBLE,
		.default_suppressions = true,
		.libc_freeres = true,
		.error_exitcode = LEAK_NO_EXITCODE,
		.format = "text",
	};
	suppression_files_init(&options->suppressions);
}

void leak_options_deinit(struct leak_options *options)
{
	suppression_files_deinit(&options->suppressions);
	name_settings_deinit(&options->symbols);
}

void leak_options_as_lsan(struct leak_options *options)
{
	options->as_lsan = options->only_leaks = true;
	if (!options->show_kinds_given)
		options->show_kinds = DEFINITE | INDIRECT;
	if (!options->error_kinds_given)
		options->error_kinds = DEFINITE | INDIRECT;
}

static struct error *leak_options_wrong(const char *name, const char *what, const char *argument)
{
	return error_create(ERROR_USAGE, "invalid --%s '%s': expected %s", name, argument, what);
}

struct error *leak_options_kinds(const char *name, const char *argument, unsigned *ret)
{
	static const struct {
		const char *name;
		unsigned bits;
	} kinds[] = {{"definite", DEFINITE}, {"indirect", INDIRECT}, {"possible", POSSIBLE},
		{"reachable", REACHABLE}, {"all", DEFINITE | INDIRECT | POSSIBLE | REACHABLE},
		{"none", 0}};
	unsigned bits = 0;
	for (const char *at = argument;; at++) {
		size_t len = strcspn(at, ","), i = 0;
		while (i < ARRAY_SIZE(kinds) &&
			(strlen(kinds[i].name) != len || strncmp(kinds[i].name, at, len) != 0))
			i++;
		if (i == ARRAY_SIZE(kinds))
			return leak_options_wrong(name,
				"a list of definite, indirect, possible and reachable, or all or "
				"none",
				argument);
		bits |= kinds[i].bits;
		at += len;
		if (!*at)
			break;
	}
	*ret = bits;
	return NULL;
}

static struct error *take_yes(const char *name, const char *argument, bool *ret)
{
	bool yes = strcmp(argument, "yes") == 0;
	if (!yes && strcmp(argument, "no") != 0)
		return leak_options_wrong(name, "yes or no", argument);
	*ret = yes;
	return NULL;
}

static struct error *take_resolution(const char *argument, unsigned *ret)
{
	static const struct {
		const char *name;
		unsigned frames;
	} words[] = {{"low", 2}, {"med", 4}, {"high", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].name, argument) == 0) {
			*ret = words[i].frames;
			return NULL;
		}
	return leak_options_wrong("leak-resolution", "low, med or high", argument);
}

static struct error *take_gen(const char *argument, bool *ret)
{
	bool all = strcmp(argument, "all") == 0;
	if (all) {
		*ret = true;
		return NULL;
	}
	struct error *error = take_yes("gen-suppressions", argument, ret);
	if (error) {
		error_destroy(error);
		return leak_options_wrong("gen-suppressions", "yes, no or all", argument);
	}
	return NULL;
}

static struct error *take_exitcode(const char *argument, int *ret)
{
	uint64_t number = 0;
	if ((strcmp(argument, "0") != 0 && !number_whole(argument, &number)) || number > 255)
		return leak_options_wrong("error-exitcode", "a number from 0 to 255", argument);
	/* As with Valgrind 0 stands for the exit status as it is. */
	*ret = number ? (int)number : LEAK_NO_EXITCODE;
	return NULL;
}

static struct error *leak_options_take_number(
	const char *name, const char *argument, uint64_t most, uint64_t *ret)
{
	if (number_whole(argument, ret) && *ret <= most)
		return NULL;
	return leak_options_wrong(name,
		most == CALLERS_MAX ? "a whole number from 1 to 500" : "a whole number from 1 on",
		argument);
}

/* The two older options for what is shown. */
static struct error *take_older(
	const char *name, const char *argument, unsigned yes, unsigned no, unsigned *ret)
{
	bool is_yes;
	struct error *error = take_yes(name, argument, &is_yes);
	if (!error)
		*ret = is_yes ? yes : no;
	return error;
}

static struct error *take_listed(struct leak_options *options, int id, const char *argument)
{
	uint64_t number = 0;
	struct error *error;
	switch (id) {
	case OPT_NUM_CALLERS:
		error = leak_options_take_number("num-callers", argument, CALLERS_MAX, &number);
		options->num_callers = (unsigned)number;
		return error;
	case OPT_LEAK_LIMIT:
		error = leak_options_take_number("limit", argument, SIZE_MAX, &number);
		options->limit = (size_t)number;
		return error;
	case OPT_SHOW_REACHABLE:
		return take_older("show-reachable", argument,
			DEFINITE | INDIRECT | POSSIBLE | REACHABLE, DEFINITE | POSSIBLE,
			&options->show_kinds);
	case OPT_SHOW_POSSIBLY_LOST:
		return take_older("show-possibly-lost", argument, DEFINITE | POSSIBLE, DEFINITE,
			&options->show_kinds);
	case OPT_SHOW_LEAK_KINDS:
		return leak_options_kinds("show-leak-kinds", argument, &options->show_kinds);
	case OPT_ERRORS_FOR_LEAK_KINDS:
		return leak_options_kinds("errors-for-leak-kinds", argument, &options->error_kinds);
	case OPT_DEFAULT_SUPPRESSIONS:
		return take_yes("default-suppressions", argument, &options->default_suppressions);
	case OPT_RUN_LIBC_FREERES:
		return take_yes("run-libc-freeres", argument, &options->libc_freeres);
	case OPT_GEN_SUPPRESSIONS:
		return take_gen(argument, &options->gen_suppressions);
	case OPT_ERROR_EXITCODE:
		return take_exitcode(argument, &options->error_exitcode);
	default:
		return take_resolution(argument, &options->resolution);
	}
}

struct error *leak_options_take(
	struct leak_options *options, int id, const char *argument, bool *ret_taken)
{
	struct error *error = symbol_options_take(&options->symbols, id, argument, ret_taken);
	if (error || *ret_taken)
		return error;
	*ret_taken = true;
	options->error_kinds_given |= id == OPT_ERRORS_FOR_LEAK_KINDS;
	options->show_kinds_given |= id == OPT_SHOW_LEAK_KINDS || id == OPT_SHOW_REACHABLE ||
				     id == OPT_SHOW_POSSIBLY_LOST;
	switch (id) {
	case 's':
		options->show_error_list = true;
		return NULL;
	case 'v':
		options->verbose = options->show_error_list = true;
		return NULL;
	case OPT_LEAK_ALL_FRAMES:
		options->all_frames = true;
		return NULL;
	case OPT_LEAK_JSON:
		options->format = "json";
		return NULL;
	case OPT_FORMAT:
		options->format = argument;
		return NULL;
	case OPT_LOG_FILE:
		options->log_file = argument;
		return NULL;
	case OPT_LEAK_NO_PAGER:
		options->no_pager = true;
		return NULL;
	case OPT_LEAK_COLOUR:
		return colour_when_parse(argument, &options->colour)
			       ? NULL
			       : error_create(ERROR_USAGE,
					 "invalid --color '%s': expected auto, always or never",
					 argument);
	case OPT_SUPPRESSIONS:
		if (!*argument)
			return error_create(ERROR_USAGE, "--suppressions: missing file name");
		return suppression_files_push(&options->suppressions, argument) ? NULL
										: error_no_memory();
	default:
		*ret_taken = id > OPT_LEAK_FIRST && id <= OPT_LEAK_LIMIT;
		return *ret_taken ? take_listed(options, id, argument) : NULL;
	}
}
