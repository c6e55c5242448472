/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings, and bundles of them (docs/symbols.md). A bundle is unpacked into a folder of its own
 * when it is first opened, which is removed when the command ends, or, if that was killed, by the
 * next one that opens a bundle.
 */
#ifndef CLI_BUNDLES_H
#define CLI_BUNDLES_H

#include "base/error.h"
#include "sources/source.h"

/* As source_open_query(), of bundles too. */
struct error *recording_open(const char *path, unsigned flags, const struct source_query *query,
	struct model **ret) must_check_;
/* As source_events(). */
struct error *recording_events(const char *path, const struct source_query *query,
	const struct event_sink *sink) must_check_;

/* The file that is read for one of that name, after unpacking it if it is a bundle. */
struct error *recording_place(const char *path, struct source_place *ret) must_check_;

/* Where the files of a bundle lie that was opened by that name; NULL: it was none. */
const char *bundle_folder(const char *path);
/* The file that is read for one that was opened by that name. */
const char *bundle_recording(const char *path);

#endif
