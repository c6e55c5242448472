/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of a recording: which one, of which moments and blocks, with which stacks, under
 * which names, compared with what. Opening it gives a model, which analysis answers questions to;
 * stacks.h has the rows of stacks, leak_search.h leaks, heap_session.h heaps that nobody recorded.
 *
 *	struct query query = {.context = &context};
 *	struct model *model;
 *	error = moments_set(&query.moments, "peak", false);
 *	if (!error)
 *		error = filter_set(&query.filter, FILTER_FOCUS, "^parse_");
 *	if (!error)
 *		error = query_open(&query, "app.hpw", 0, &model);
 *	…
 *	model_destroy(model);
 *	query_deinit(&query);
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "analysis/filter.h"
#include "query/moments.h"
#include "query/name_settings.h"
#include "query/operands.h"
#include "sources/source.h"

struct anonymizer;

/* All 0 but the context: everything of one recording. Texts are borrowed. */
struct query {
	struct query_context *context;
	struct moments moments;
	struct filter filter;
	struct name_settings names;
	enum source_class class;     /* all 0: the heap, or what there is */
	struct source_blocks blocks; /* all 0: all */
	/* Which moments of a series are wanted; rows 0: none. Those that are come with their sites.
	 */
	struct source_series series;
	bool series_if_known; /* a source without them is opened too, and has no series then */
	const char *base;     /* FILE or FILE@MOMENT that it is compared with; NULL: nothing */
	enum heap_by base_by; /* by what that is compared if it is a core or process */
	char *const *more;    /* files that are added up with the one that is opened */
	size_t more_count;
	bool anonymize; /* names are replaced by tokens */
	bool again;     /* it was opened before: what is noted then is not noted anew */

	/* Set by query_open(). */
	struct anonymizer *anonymizer;  /* of `anonymize`; knows all tokens */
	char *opened;                   /* the file that was opened; NULL: none yet */
	enum recorded_what opened_what; /* what its figures are of */
};

void query_deinit(struct query *query);

/* Which blocks are chosen; NULL: all. */
const struct source_blocks *query_blocks(const struct query *query);

/*
 * Opens the recording at `path` (NULL: the newest one in the current folder, and notes which), of
 * the moments and blocks that are asked for, with those that are added up with it; the caller
 * destroys the model before the query. flags: enum source_flag. Notes what is missing from it.
 * ERROR_INPUT: it can't be read, has no such moment, or is a difference that can't be combined.
 * ERROR_USAGE: what is asked for excludes itself.
 */
struct error *query_open(
	struct query *query, const char *path, unsigned flags, struct model **ret) must_check_;

/*
 * Opens what query->base names, of the same blocks and series. `ret` is all 0 before, or was parsed
 * by operand_parse(); operand_deinit() in either case. ERROR_USAGE: it has no such moment.
 */
struct error *query_open_base(struct query *query, unsigned flags, struct operand *ret) must_check_;

/* Has names found as the query says, in a model that was opened otherwise. */
struct error *query_names(struct query *query, struct model *model) must_check_;

#endif
