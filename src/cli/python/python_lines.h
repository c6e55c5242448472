/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `report` and `diff` write with --format tracemalloc. */
#ifndef CLI_PYTHON_LINES_H
#define CLI_PYTHON_LINES_H

#include "cli/options/tracemalloc_options.h"
#include "cli/options/view_options.h"

/*
 * Write the statistics of a recording, or how they changed from an older one, which the request
 * has opened; its filter, limit and pager are heeded. What the format has no place for is said
 * beside: blocks without a frame of Python, estimates, sources that changed. Return 0, or the exit
 * code after saying why.
 */
int python_lines_show(struct view_request *request, const struct tracemalloc_options *options,
	const struct model *model);
int python_lines_compare(struct view_request *request, const struct tracemalloc_options *options,
	const struct model *older, const struct model *newer);

#endif
