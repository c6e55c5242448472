/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/symbol_options.h"

#include <stdlib.h>

#include "model/model.h"

static struct error *need_settings(struct symbol_options *options)
{
	return options->settings ? NULL : symbols_settings_create(&options->settings);
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
	case SYMBOL_OPT_FIRST:
	case SYMBOL_OPT_LAST:
		break;
	}
	return NULL;
}

void symbol_options_deinit(struct symbol_options *options)
{
	symbols_settings_destroy(options->settings);
	options->settings = NULL;
}

struct error *symbol_options_apply(struct symbol_options *options, struct model *model)
{
	struct error *error = need_settings(options);
	const char *paths = getenv("PPROF_BINARY_PATH");
	if (!error && paths && !options->environment)
		error = symbols_settings_add_paths(options->settings, paths, true);
	options->environment = true;
	if (!error)
		model_set_names_from(model, options->settings);
	return error;
}
