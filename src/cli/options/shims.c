/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/shims.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/commands/mtrace_log.h"
#include "cli/options/gperftools_options.h"
#include "cli/options/jemalloc_options.h"
#include "cli/options/lsan_options.h"

static struct error *prepare_lsan(struct launch_options *launch)
{
	launch->leak_check.as_lsan = true;
	return NULL;
}

const struct shim shims[] = {
	{.name = "lsan",
		.library = "libheapwise-lsan.so",
		.what = "LeakSanitizer",
		.prepare = prepare_lsan,
		.warn = lsan_options_warn},
	{.name = "gperftools",
		.library = "libheapwise-gperftools.so",
		.what = "gperftools",
		.prepare = gperftools_options_prepare,
		.warn = gperftools_options_warn,
		.variables = {"HEAPPROFILE", "HEAPCHECK"}},
	{.name = "jemalloc",
		.library = "libheapwise-jemalloc.so",
		.what = "jemalloc",
		.prepare = jemalloc_options_prepare,
		.examine = jemalloc_options_examine,
		.variables = {"MALLOC_CONF"},
		.wanted = {"prof:true", "prof_leak:true"}},
	{.name = "mtrace",
		.library = "libheapwise-mtrace.so",
		.what = "mtrace",
		.prepare = mtrace_log_prepare,
		.conclude = mtrace_log_write,
		.variables = {"MALLOC_TRACE"}},
	{.name = NULL},
};

const struct shim *shim_find(const char *name)
{
	for (const struct shim *shim = shims; shim->name; shim++)
		if (!strcmp(shim->name, name))
			return shim;
	return NULL;
}

void shims_add_names(struct text *text)
{
	for (const struct shim *shim = shims; shim->name; shim++) {
		if (shim > shims)
			text_add(text, shim[1].name ? ", " : " or ");
		text_add(text, shim->name);
	}
}

bool shim_add_library(const struct shim *shim, const char *runtime, struct text *list)
{
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_add_n(&path, runtime, (size_t)(strrchr(runtime, '/') + 1 - runtime));
	text_add(&path, shim->library);
	if (path.failed || access(path.data, R_OK))
		return false;
	text_printf(list, "%s%s", list->len ? ":" : "", path.data);
	return true;
}

struct error *shim_missing(const struct shim *shim)
{
	return error_create(ERROR_ENVIRONMENT,
		"can't find %s, which --as=%s needs, next to libheapwise-rt.so; build or install "
		"heapwise again",
		shim->library, shim->name);
}

static bool value_asks(const struct shim *shim, const char *value)
{
	bool asks = !shim->wanted[0];
	for (size_t i = 0; i < ARRAY_SIZE(shim->wanted) && shim->wanted[i]; i++)
		asks |= strstr(value, shim->wanted[i]) != NULL;
	return asks && *value;
}

const char *shim_find_asked(const struct shim **ret_shim)
{
	for (const struct shim *shim = shims; shim->name; shim++) {
		for (size_t i = 0; i < ARRAY_SIZE(shim->variables) && shim->variables[i]; i++) {
			const char *value = getenv(shim->variables[i]);
			if (!value || !value_asks(shim, value))
				continue;
			*ret_shim = shim;
			return shim->variables[i];
		}
	}
	return NULL;
}

bool shim_conclude(const struct shim *shim, const struct shim_run *run)
{
	return !shim || !shim->conclude || shim->conclude(run);
}
