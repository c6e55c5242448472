/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/error_options.h"

#include <string.h>

#include "analysis/errors_settle.h"
#include "analysis/evidence.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "model/errors.h"
#include "query/leak_search.h"

#define EXITCODE_MAX 255u

void error_options_init(struct error_options *options)
{
	*options = (struct error_options){.exitcode = LEAK_NO_EXITCODE};
	suppression_files_init(&options->suppressions);
}

void error_options_deinit(struct error_options *options)
{
	suppression_files_deinit(&options->suppressions);
}

static struct error *error_options_find_form(const char *name, enum error_form *ret)
{
	for (unsigned i = 0; i < ERROR_FORMS; i++)
		if (!strcmp(error_form_name((enum error_form)i), name)) {
			*ret = (enum error_form)i;
			return NULL;
		}
	return error_create(ERROR_USAGE,
		"invalid --format '%s': expected text, memcheck, json, csv, sarif, junit, github "
		"or valgrind",
		name);
}

static struct error *error_options_take_exitcode(const char *argument, int *ret)
{
	uint64_t number;
	if (!number_whole(argument, &number) || number > EXITCODE_MAX)
		return error_create(ERROR_USAGE,
			"invalid --error-exitcode '%s': expected a number from 0 to 255", argument);
	/* As with Valgrind 0 is none. */
	*ret = number ? (int)number : LEAK_NO_EXITCODE;
	return NULL;
}

static struct error *error_options_take_gen(const char *argument, bool *ret)
{
	bool is_yes = !strcmp(argument, "yes") || !strcmp(argument, "all");
	if (!is_yes && strcmp(argument, "no") != 0)
		return error_create(ERROR_USAGE,
			"invalid --gen-suppressions '%s': expected yes, no or all", argument);
	*ret = is_yes;
	return NULL;
}

static struct error *error_options_take_file(const char *argument, struct suppression_files *ret)
{
	if (!*argument)
		return error_create(ERROR_USAGE, "--suppressions: missing file name");
	return suppression_files_push(ret, argument) ? NULL : error_no_memory();
}

struct error *error_options_take(
	struct error_options *options, int id, const char *argument, bool *ret_taken)
{
	static const char *const names[] = {
		[ERROR_OPT_SUPPRESSIONS - ERROR_OPT_FIRST] = "--suppressions",
		[ERROR_OPT_GEN_SUPPRESSIONS - ERROR_OPT_FIRST] = "--gen-suppressions",
		[ERROR_OPT_FORMAT - ERROR_OPT_FIRST] = "--format",
		[ERROR_OPT_EXITCODE - ERROR_OPT_FIRST] = "--error-exitcode",
	};
	*ret_taken = id > ERROR_OPT_FIRST && id < ERROR_OPT_LAST;
	if (*ret_taken && !options->given)
		options->given = names[id - ERROR_OPT_FIRST];
	switch (id) {
	case ERROR_OPT_SUPPRESSIONS:
		return error_options_take_file(argument, &options->suppressions);
	case ERROR_OPT_GEN_SUPPRESSIONS:
		return error_options_take_gen(argument, &options->gen_suppressions);
	case ERROR_OPT_FORMAT:
		return error_options_find_form(argument, &options->form);
	case ERROR_OPT_EXITCODE:
		return error_options_take_exitcode(argument, &options->exitcode);
	default:
		return NULL;
	}
}

static struct error *error_options_read(
	const struct error_options *options, struct suppressions **ret)
{
	return leak_search_suppressions(cli_context(), options->suppressions.data,
		options->suppressions.len, NULL, false, ret);
}

struct error *error_options_check(const struct error_options *options)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	return error_options_read(options, &set);
}

struct error *error_options_settle(
	const struct error_options *options, struct model *model, bool merge)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	struct error *error = error_options_read(options, &set);
	return error ? error : errors_settle(model, set, merge);
}

int error_options_judge(const struct error_options *options, const struct model *model, int code)
{
	size_t count;
	const char *doubt = evidence_of_checks(model);
	if (options->exitcode == LEAK_NO_EXITCODE || code)
		return code;
	model_errors(model, &count);
	if (count && !evidence_of_errors(model))
		return options->exitcode;
	if (!doubt)
		return 0;
	message("%s: whether there are errors can't be decided: %s", model_recording(model)->path,
		doubt);
	return ERROR_INPUT;
}
