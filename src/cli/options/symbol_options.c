/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/symbol_options.h"

#include <string.h>

#include "base/number.h"
#include "base/util.h"
#include "cli/options/options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/progress.h"

#define FETCH_SECONDS_MAX 86400u

/* Names are mostly looked up while something else is said to go on. */
static void show_progress(void *ctx, const char *name)
{
	static bool goes_on;
	(void)ctx;
	if (name) {
		goes_on = progress_goes_on();
		progress_begin("asking debuginfod for %s", name);
	} else if (goes_on) {
		progress_begin("looking up names");
	} else {
		progress_end();
	}
}

static void describe_problem(void *ctx, const char *sentence)
{
	(void)ctx;
	message("%s", sentence);
}

const struct fetch_listener symbol_fetch_listener = {
	.progress = show_progress, .problem = describe_problem};

/* `argument` NULL: not given. */
static struct error *allow_fetch(struct symbols_settings *settings, const char *argument)
{
	uint64_t seconds = NAME_FETCH_SECONDS;
	if (argument && (!number_whole(argument, &seconds) || seconds > FETCH_SECONDS_MAX))
		return error_create(ERROR_USAGE,
			"invalid --debuginfod '%s': expected a whole number of seconds up to %u",
			argument, FETCH_SECONDS_MAX);
	return symbols_settings_fetch(settings, (unsigned)seconds, &symbol_fetch_listener);
}

static struct error *take_names(struct symbols_settings *settings, const char *argument)
{
	static const char *const forms[] = {
		[SYMBOLS_NAMES_SHORT] = "short",
		[SYMBOLS_NAMES_FULL] = "full",
		[SYMBOLS_NAMES_RAW] = "raw",
	};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (strcmp(argument, forms[i]) == 0) {
			settings->names = (enum symbols_names)i;
			return NULL;
		}
	return error_create(
		ERROR_USAGE, "invalid --names '%s': expected short, full or raw", argument);
}

struct error *symbol_options_take(
	struct name_settings *names, int id, const char *argument, bool *ret_taken)
{
	*ret_taken = id > SYMBOL_OPT_FIRST && id < SYMBOL_OPT_LAST;
	struct symbols_settings *settings;
	struct error *error = *ret_taken ? name_settings_get(names, &settings) : NULL;
	if (error || !*ret_taken)
		return error;
	switch ((enum symbol_option)id) {
	case SYMBOL_OPT_SYSROOT:
		return symbols_settings_sysroot(settings, argument);
	case SYMBOL_OPT_PATH:
		return symbols_settings_add_paths(settings, argument, false);
	case SYMBOL_OPT_DEBUG_FOLDERS:
		return symbols_settings_debug_folders(settings, argument);
	case SYMBOL_OPT_DEBUGINFOD:
		return allow_fetch(settings, argument);
	case SYMBOL_OPT_NAMES:
		return take_names(settings, argument);
	case SYMBOL_OPT_NO_CACHE:
		names->no_cache = true;
		break;
	case SYMBOL_OPT_EXE:
		error = query_context_set_program(cli_context(), argument);
		return error ? error_prefix(error, "invalid --exe") : NULL;
	case SYMBOL_OPT_FIRST:
	case SYMBOL_OPT_LAST:
		break;
	}
	return NULL;
}
