/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/symbol_options.h"
#include "cli/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "model/model.h"
#include "query/bundles.h"
#include "query/state_folder.h"

#define FETCH_SECONDS 120u
#define FETCH_SECONDS_MAX 86400u

static struct error *need_settings(struct symbol_options *options)
{
	return options->settings ? NULL : symbols_settings_create(&options->settings);
}

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

static void say_problem(void *ctx, const char *sentence)
{
	(void)ctx;
	message("%s", sentence);
}

static const struct fetch_listener listener = {.progress = show_progress, .problem = say_problem};

/* `argument` NULL: not given. */
static struct error *allow_fetch(struct symbols_settings *settings, const char *argument)
{
	uint64_t seconds = FETCH_SECONDS;
	if (argument && (!options_whole(argument, &seconds) || seconds > FETCH_SECONDS_MAX))
		return error_create(ERROR_USAGE,
			"--debuginfod wants a whole number of seconds up to %u, not '%s'",
			FETCH_SECONDS_MAX, argument);
	return symbols_settings_fetch(settings, (unsigned)seconds, &listener);
}

static struct error *take_environment(struct symbols_settings *settings)
{
	const char *paths = getenv("PPROF_BINARY_PATH"), *fetch = getenv("HEAPWISE_DEBUGINFOD");
	struct error *error = paths ? symbols_settings_add_paths(settings, paths, true) : NULL;
	if (!error && fetch && strcmp(fetch, "1") == 0 && !settings->fetch)
		error = allow_fetch(settings, NULL);
	return error;
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
	return error_create(ERROR_USAGE, "--names is short, full or raw, not '%s'", argument);
}

struct error *symbol_options_take(
	struct symbol_options *options, int id, const char *argument, bool *ret_taken)
{
	*ret_taken = id > SYMBOL_OPT_FIRST && id < SYMBOL_OPT_LAST;
	struct error *error = *ret_taken ? need_settings(options) : NULL;
	if (error || !*ret_taken)
		return error;
	struct symbols_settings *settings = options->settings;
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
		options->no_cache = true;
		break;
	case SYMBOL_OPT_FIRST:
	case SYMBOL_OPT_LAST:
		break;
	}
	return NULL;
}

void symbol_options_deinit(struct symbol_options *options)
{
	for (size_t i = 0; i < options->bundle_count; i++)
		symbols_settings_destroy(options->for_bundles[i]);
	free((void *)options->for_bundles);
	symbols_settings_destroy(options->settings);
	*options = (struct symbol_options){.settings = NULL};
}

/* The settings for a recording that came in a bundle, which has its files with it. */
static struct error *settings_for(
	struct symbol_options *options, const char *folder, struct symbols_settings **ret)
{
	size_t count = options->bundle_count;
	void *grown = realloc((void *)options->for_bundles, (count + 1) * sizeof(*ret));
	if (!grown)
		return error_no_memory();
	options->for_bundles = grown;
	struct error *error = symbols_settings_create_for(options->settings, folder, ret);
	if (!error)
		options->for_bundles[options->bundle_count++] = *ret;
	return error;
}

static struct error *keep_names(struct symbols_settings *settings)
{
	_cleanup_free_ char *folder = names_folder();
	return symbols_settings_keep_names(settings, folder);
}

struct error *symbol_options_ready(struct symbol_options *options)
{
	struct error *error = need_settings(options);
	if (!error && !options->environment)
		error = take_environment(options->settings);
	if (!error && !options->environment && !options->no_cache)
		error = keep_names(options->settings);
	options->environment = true;
	return error;
}

struct error *symbol_options_apply(struct symbol_options *options, struct model *model)
{
	struct error *error = symbol_options_ready(options);
	if (error)
		return error;
	struct symbols_settings *settings = options->settings;
	const char *folder = bundle_folder(cli_context(), model_recording(model)->path);
	if (folder)
		error = settings_for(options, folder, &settings);
	if (!error)
		model_set_names_from(model, settings);
	return error;
}
