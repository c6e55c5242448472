/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that queries have read: none of them may be where an answer is written. */
#ifndef QUERY_INPUTS_H
#define QUERY_INPUTS_H

#include "base/output_file.h"
#include "query/context.h"

/* Remembers the file at `path`, if there is one, under whatever name it is given again. */
void inputs_note(struct query_context *context, const char *path);

/* NULL, or that `output` would replace one of them. */
struct error *inputs_check(
	const struct query_context *context, const struct output_file *output) must_check_;

void inputs_forget(struct query_context *context);

#endif
