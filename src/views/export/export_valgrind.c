/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a search for leaks found, of all kinds, as memcheck's XML: see leaks_valgrind.c. */
#include "views/export.h"
#include "views/leaks_view.h"

struct error *export_valgrind(const struct exported *from, const struct sink *sink)
{
	const struct model *model = from->profile->model;
	const unsigned all = (1u << LEAK_KINDS) - 1;
	const unsigned errors = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE;
	const struct leaks_view_options options = {.form = LEAKS_VALGRIND,
		.detail = LEAKS_FULL,
		.show_kinds = all,
		.error_kinds = errors};
	struct leaks_outcome unused;
	if (!model_leak_search(model))
		return error_create(ERROR_INPUT,
			"%s: memcheck's XML contains leaks, and this process was not searched for "
			"leaks; use 'heapwise run --leak-check'",
			model_recording(model)->path);
	struct error *error = leaks_view_write(model, &options, sink, &unused);
	if (!error)
		text_add(from->lost,
			"memcheck's XML contains only leaks, without references; suppressions are "
			"not applied: see 'heapwise leaks --format valgrind'.\n");
	return error;
}
