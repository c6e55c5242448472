/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What takes more than a second says so, on stderr if that is a terminal, in a line that is taken
 * back:
 *
 *	progress_begin("reading %s", path);
 *	…
 *	progress_end();
 *
 * One thing at a time. Messages may come between.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

/* Whether something goes on, on a terminal. */
bool progress_goes_on(void);

/* Takes the line back, if it stands there, before something else is written to stderr. It may come
 * again a second later. */
void progress_hide(void);

#endif
