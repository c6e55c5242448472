/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How names of functions are found for what is asked: one user's wishes, and what follows from them
 * for recordings that came in bundles. PPROF_BINARY_PATH counts as a folder of --symbol-path does,
 * after those, HEAPWISE_DEBUGINFOD=1 as --debuginfod, and HEAPWISE_SYMBOL_CACHE=0 as
 * --no-symbol-cache.
 */
#ifndef QUERY_NAME_SETTINGS_H
#define QUERY_NAME_SETTINGS_H

#include "query/context.h"
#include "symbols/settings.h"

struct model;

/* How long servers of debug files are waited for in all, unless somebody says how long. */
#define NAME_FETCH_SECONDS 120u

/* All 0 before the first use. */
struct name_settings {
	struct symbols_settings *settings; /* NULL: nothing was said yet */
	bool environment;                  /* it was read */
	bool no_cache; /* names are neither kept nor taken from earlier queries */
	/* The same for what came in bundles, one each. */
	struct symbols_settings **for_bundles;
	size_t bundle_count;
};

void name_settings_deinit(struct name_settings *names);

/* The settings, to add wishes to. They are those of `names`. */
struct error *name_settings_get(
	struct name_settings *names, struct symbols_settings **ret) must_check_;

/* All wishes are known: adds those of the environment, once. */
struct error *name_settings_ready(
	struct query_context *context, struct name_settings *names) must_check_;

/* Has names of a model's code found so; they must outlive its use. */
struct error *name_settings_apply(struct query_context *context, struct name_settings *names,
	struct model *model) must_check_;

#endif
