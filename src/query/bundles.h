/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings, and bundles of them (docs/symbols.md). A bundle is unpacked into a folder of its own
 * when it is first opened, which is removed with the context, or, if its process was killed, by the
 * next one that opens a bundle.
 */
#ifndef QUERY_BUNDLES_H
#define QUERY_BUNDLES_H

#include "query/context.h"
#include "sources/source.h"

/* As source_open_query(), of bundles too. */
struct error *recording_open(struct query_context *context, const char *path, unsigned flags,
	const struct source_query *query, struct model **ret) must_check_;
/* As source_events(). */
struct error *recording_events(struct query_context *context, const char *path,
	const struct source_query *query, const struct event_sink *sink) must_check_;

/* The file that is read for one of that name, after unpacking it if it is a bundle. */
struct error *recording_place(
	struct query_context *context, const char *path, struct source_place *ret) must_check_;

/* Where the files of a bundle lie that was opened by that name; NULL: it was none. */
const char *bundle_folder(const struct query_context *context, const char *path);
/* The file that is read for one that was opened by that name. */
const char *bundle_recording(const struct query_context *context, const char *path);

/* Removes what was unpacked. */
void bundles_forget(struct query_context *context);

#endif
