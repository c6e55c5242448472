/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that a page is written to: its name, unless the user says one; and what it may replace.
 */
#ifndef CLI_PAGE_OUTPUT_H
#define CLI_PAGE_OUTPUT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sink.h"

struct page_output {
	const char *path; /* as the user gave it; NULL: made of `of`; "-": stdout */
	const char *of;   /* what the page is of: "/tmp/app.hpw" */
	bool keeps_end;   /* the name is "app.hpw.html", not "app.html" */
	bool compared;    /* it is of a comparison: "app.diff.html" */
	bool force;       /* it may replace what is no page */
	bool quiet;       /* nothing is said when it is written */
	const char *ways; /* what else the user can do: "use -f to replace it" */
};

/* Returns whether the page may be written to `path`: that is stdout, a page, empty, no regular
 * file, or not there; or the page replaces anything. False, after saying so: it may not. */
bool page_output_may_write(const struct page_output *file, const char *path);

/* Has `write` write the page to the file, and says which one was made unless the user named it.
 * Returns 0, or the exit code after saying why. */
int page_output_write(const struct page_output *file,
	struct error *(*write)(void *ctx, const struct sink *sink), void *ctx);

#endif
