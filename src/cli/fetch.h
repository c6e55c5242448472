/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles that a program hands out over HTTP, as Go's net/http/pprof does. */
#ifndef CLI_FETCH_H
#define CLI_FETCH_H

#include <stdbool.h>

/* "http://…" or "https://…" */
bool fetch_is_url(const char *word);

/*
 * Replaces URLs among the words by files that they were fetched to, in $XDG_STATE_HOME/heapwise/
 * profiles, and says which; a name stays valid until the process ends. Returns 0, or the exit code
 * after saying why one cannot be fetched.
 */
int fetch_words(int argc, char **argv);

#endif
