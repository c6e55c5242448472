/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/leak_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "query/bundles.h"
#include "query/heap_operand.h"
#include "query/inputs.h"
#include "query/recordings.h"
#include "query/spool.h"

struct error *leak_search_open(struct query_context *context, struct name_settings *names,
	const char *path, bool living, struct model **ret)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	unsigned flags = SOURCE_WITH_LEAK_TIMES | (living ? SOURCE_OF_RUNNING : 0u);
	struct error *error = !living && heap_operand_is(context, path)
				      ? heap_operand_open(context, path, HEAP_BY_BEST, &model)
				      : recording_open(context, path, flags, NULL, &model);
	if (!error)
		error = name_settings_apply(context, names, model);
	if (error)
		return error;
	recording_warn(context, model, path);
	*ret = steal_ptr(model);
	return NULL;
}

struct error *leak_search_add_file(
	struct query_context *context, const char *path, struct suppressions *set)
{
	_cleanup_free_ uint8_t *text = NULL;
	size_t len;
	const char *file;
	struct error *error = spool_path(context, path, &file);
	if (error)
		return error;
	inputs_note(context, file);
	error = read_stored_file(file, SUPPRESS_TEXT_BYTES_MAX, &text, &len);
	return error ? error : suppressions_parse(set, path, (const char *)text, len);
}

struct error *leak_search_suppressions(struct query_context *context, const char *const *files,
	size_t count, const struct model *model, bool built_in, struct suppressions **ret)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	struct error *error = suppressions_create(&set);
	for (size_t i = 0; i < count && !error; i++)
		error = leak_search_add_file(context, files[i], set);
	if (!error && built_in && model && strcmp(model_recording(model)->source, "recording") == 0)
		error = suppressions_add_built_in(set);
	if (!error)
		*ret = steal_ptr(set);
	return error;
}

struct error *leak_answer_build(
	const struct model *model, const struct leaks_options *options, struct leak_answer *ret)
{
	leaks_init(&ret->leaks);
	ret->is_built = true;
	struct error *error = resolver_create(model, true, &ret->resolver);
	return error ? error : leaks_build(model, ret->resolver, options, &ret->leaks);
}

void leak_answer_deinit(struct leak_answer *answer)
{
	if (answer->is_built)
		leaks_deinit(&answer->leaks);
	resolver_destroy(answer->resolver);
	*answer = (struct leak_answer){.resolver = NULL};
}
