/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/name_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/model.h"
#include "query/bundles.h"
#include "query/state_folder.h"

void name_settings_deinit(struct name_settings *names)
{
	for (size_t i = 0; i < names->bundle_count; i++)
		symbols_settings_destroy(names->for_bundles[i]);
	free((void *)names->for_bundles);
	symbols_settings_destroy(names->settings);
	*names = (struct name_settings){.settings = NULL};
}

struct error *name_settings_get(struct name_settings *names, struct symbols_settings **ret)
{
	struct error *error = names->settings ? NULL : symbols_settings_create(&names->settings);
	if (!error)
		*ret = names->settings;
	return error;
}

static struct error *take_environment(
	const struct query_context *context, struct symbols_settings *settings)
{
	const char *paths = getenv("PPROF_BINARY_PATH"), *fetch = getenv("HEAPWISE_DEBUGINFOD");
	struct error *error = paths ? symbols_settings_add_paths(settings, paths, true) : NULL;
	if (!error && fetch && strcmp(fetch, "1") == 0 && !settings->fetch)
		error = symbols_settings_fetch(
			settings, NAME_FETCH_SECONDS, &context->listener.fetch);
	return error;
}

static struct error *keep_names(struct symbols_settings *settings)
{
	_cleanup_free_ char *folder = names_folder();
	return symbols_settings_keep_names(settings, folder);
}

struct error *name_settings_ready(struct query_context *context, struct name_settings *names)
{
	struct symbols_settings *settings;
	struct error *error = name_settings_get(names, &settings);
	if (!error && !names->environment)
		error = take_environment(context, settings);
	if (!error && !names->environment && !names->no_cache)
		error = keep_names(settings);
	names->environment = true;
	return error;
}

/* The settings for a recording that came in a bundle, which has its files with it. */
static struct error *create_for_bundle(
	struct name_settings *names, const char *folder, struct symbols_settings **ret)
{
	size_t count = names->bundle_count;
	void *grown = realloc((void *)names->for_bundles, (count + 1) * sizeof(*ret));
	if (!grown)
		return error_no_memory();
	names->for_bundles = grown;
	struct error *error = symbols_settings_create_for(names->settings, folder, ret);
	if (!error)
		names->for_bundles[names->bundle_count++] = *ret;
	return error;
}

struct error *name_settings_apply(
	struct query_context *context, struct name_settings *names, struct model *model)
{
	struct error *error = name_settings_ready(context, names);
	if (error)
		return error;
	struct symbols_settings *settings = names->settings;
	const char *folder = bundle_folder(context, model_recording(model)->path);
	if (folder)
		error = create_for_bundle(names, folder, &settings);
	if (!error)
		model_set_names_from(model, settings);
	return error;
}
