/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a heap: what its verbs write as JSON, and who retains what, as one HTML file. */
#ifndef CLI_HEAP_HTML_H
#define CLI_HEAP_HTML_H

#include "cli/heap/heap_look.h"

struct heap_html {
	const char *output;  /* as the user named it; NULL: made of the heap's name; "-": stdout */
	bool force;          /* it may replace what is no page */
	const char *ways;    /* what to do if it may not, in words */
	uint64_t most_bytes; /* of what is written; 0: as page_write() chooses */
	bool container;      /* the data alone, to stdout unless `output` names a file */
};

/* Reads the heap and writes the page. Returns 0, or the exit code after saying why; that is
 * ERROR_INPUT also of a page that only says that no heap was found. */
int heap_html_write(struct heap_look *look, const struct heap_html *wanted);

#endif
