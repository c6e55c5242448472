/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files a bundle of a recording has: those that a report of it is made from. */
#ifndef QUERY_BUNDLE_FILES_H
#define QUERY_BUNDLE_FILES_H

#include "analysis/symbol_files.h"
#include "bundle/manifest.h"
#include "query/context.h"

/* Adds the recording that was opened by that name, and those of the processes that it was forked
 * from. */
struct error *bundle_add_recording(struct query_context *context, struct bundle_manifest *manifest,
	const struct model *model) must_check_;

/* Adds programs, libraries and debug files that stacks go through, or in whose data leaks are held.
 */
struct error *bundle_add_symbols(
	struct bundle_manifest *manifest, const struct symbol_files *files) must_check_;

/* Where sources are looked for besides their own place. */
struct bundle_folders {
	char *const *folders;
	size_t count;
};

/* Adds sources of all frames. */
struct error *bundle_add_sources(struct query_context *context, struct bundle_manifest *manifest,
	const struct model *model, const struct symbol_files *files,
	const struct bundle_folders *where) must_check_;

#endif
