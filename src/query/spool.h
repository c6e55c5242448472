/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that can be read once: standard input ("-"), pipes, `<(…)` of shells. Readers want to go
 * back and forth, and queries look at a file more than once; so its bytes are copied to a file
 * that has no name, once, for as long as the context lives.
 */
#ifndef QUERY_SPOOL_H
#define QUERY_SPOOL_H

#include "query/context.h"

/*
 * The path at which the bytes of `path` can be read: itself, unless it is one of these. *ret lives
 * as long as the context, or as `path`. ERROR_INPUT: "-" is a terminal, or reading fails;
 * ERROR_ENVIRONMENT: there is no room for a copy.
 */
struct error *spool_path(
	struct query_context *context, const char *path, const char **ret) must_check_;

/* Gives all copies back. */
void spool_forget(struct query_context *context);

#endif
