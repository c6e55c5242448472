/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a search for leaks has found, of a recording or of the heap of a core or process.
 *
 *	struct leak_answer answer = {.resolver = NULL};
 *	error = leak_search_open(&context, &names, "app.hpw", false, &model);
 *	if (!error)
 *		error = leak_search_suppressions(&context, files, count, model, true, &known);
 *	if (!error)
 *		error = leak_answer_build(model, &options, &answer);
 *	… answer.leaks.rows, answer.leaks.sums …
 *	leak_answer_deinit(&answer);
 */
#ifndef QUERY_LEAK_SEARCH_H
#define QUERY_LEAK_SEARCH_H

#include "analysis/leaks.h"
#include "analysis/suppress.h"
#include "query/name_settings.h"

/*
 * Opens what was searched: a recording, or a core or process (heap_operand.h), whose heap is
 * searched now. `living`: the process of the recording goes on, so that it has no end. Names are
 * found as `names` says, which must outlive the model. What is missing from it recording_warn()
 * notes.
 */
struct error *leak_search_open(struct query_context *context, struct name_settings *names,
	const char *path, bool living, struct model **ret) must_check_;

/* Adds the suppressions of a file to a set. ERROR_INPUT: it can't be read, or has a mistake. */
struct error *leak_search_add_file(
	struct query_context *context, const char *path, struct suppressions *set) must_check_;

/*
 * The suppressions of some files, and the built-in ones if they are wanted, unless another tool has
 * found the model's leaks, with suppressions of its own (model NULL: no built-in ones). The caller
 * destroys them.
 */
struct error *leak_search_suppressions(struct query_context *context, const char *const *files,
	size_t count, const struct model *model, bool built_in,
	struct suppressions **ret) must_check_;

/* Leaks by kind and call stack. */
struct leak_answer {
	struct resolver *resolver;
	struct leaks leaks;
	bool is_built;
};

/* `ret` is all 0 before; leak_answer_deinit() in either case. The model and the suppressions must
 * outlive it. */
struct error *leak_answer_build(const struct model *model, const struct leaks_options *options,
	struct leak_answer *ret) must_check_;
void leak_answer_deinit(struct leak_answer *answer);

#endif
