/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles that a program hands out over HTTP, as Go's net/http/pprof does. */
#ifndef QUERY_URLS_H
#define QUERY_URLS_H

#include "query/context.h"

/* "http://…" or "https://…" */
bool url_is(const char *word);

/* Fetches it to a file in $XDG_STATE_HOME/heapwise/profiles, which stays; the caller frees the
 * path. ERROR_INPUT: it can't be fetched, or is too large; ERROR_ENVIRONMENT: there is no room for
 * it. */
struct error *url_fetch(struct query_context *context, const char *url, char **ret) must_check_;

#endif
