/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of a file that can be opened: moments, parts, choices of blocks, series, events. */
#ifndef FUZZ_CHECK_QUERIES_H
#define FUZZ_CHECK_QUERIES_H

#include "sources/recording/input.h"
#include "sources/source.h"

struct asked {
	struct error *(*open)(const struct input *input, unsigned flags,
		const struct source_query *query, struct model **ret);
	/* NULL: it has no events. */
	struct error *(*tell)(const struct input *input, const struct source_query *query,
		const struct event_sink *sink);
	bool exact; /* the sums of what is told are the model's, however damaged the file is */
};

/* Asks all of it; what the source does not serve it may refuse. Aborts when an answer is invalid,
 * or is another one than the whole's. `whole`: of the input, without a query. */
void check_queries(const struct asked *asked, const struct input *input, const struct model *whole);

#endif
