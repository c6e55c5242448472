/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/error_document.h"

#include <stdlib.h>

#include "analysis/errors_settle.h"
#include "analysis/evidence.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/setup/context.h"
#include "query/bundles.h"
#include "query/leak_search.h"
#include "sources/merge.h"
#include "views/views.h"

struct document_models {
	struct model **data;
	size_t count;
	const char *doubt; /* of the first one that has some; NULL: none has */
};

static void document_models_deinit(struct document_models *models)
{
	for (size_t i = 0; i < models->count; i++)
		model_destroy(models->data[i]);
	free(models->data);
}

static struct error *document_open(const struct error_document *document, const char *const *paths,
	size_t count, struct document_models *ret)
{
	struct error *error = NULL;
	ret->data = calloc(count, sizeof(struct model *));
	if (!ret->data)
		return error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		struct model *model = NULL;
		error = recording_open(cli_context(), paths[i], 0, NULL, &model);
		if (error)
			break;
		ret->data[ret->count++] = model;
		if (document->names)
			error = name_settings_apply(cli_context(), document->names, model);
		if (!ret->doubt)
			ret->doubt = evidence_of_checks(model);
	}
	return error;
}

/* Takes out what is known, and makes equal errors one. */
static struct error *document_settle(const struct error_document *document, struct model *model)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	struct error *error = leak_search_suppressions(
		cli_context(), document->known, document->known_count, NULL, false, &set);
	return error ? error : errors_settle(model, set, true);
}

static struct error *document_write_model(
	const struct error_document *document, struct model *model, const char *doubt)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	const struct sink sink = {text_write, &text};
	const struct error_form_options options = {.form = document->form,
		.limit = VIEW_NO_LIMIT,
		.write_suppressions = document->gen_suppressions,
		.doubt = doubt,
		.version = HW_VERSION};
	struct error *error = document_settle(document, model);
	if (!error)
		error = error_form_write(model, &options, &sink);
	if (!error && text.failed)
		error = error_no_memory();
	return error ? error : write_all(document->log, "the errors", text.data, text.len);
}

struct error *error_document_write(
	const struct error_document *document, const char *const *paths, size_t count)
{
	_cleanup_(document_models_deinit) struct document_models models = {.count = 0};
	_cleanup_(model_cleanup) struct model *sum = NULL;
	if (!count)
		return error_create(
			ERROR_INPUT, "there is no document of errors: nothing was checked");
	struct error *error = document_open(document, paths, count, &models);
	if (!error && count > 1)
		error = merge_models((const struct model *const *)models.data, count, &sum);
	if (error)
		return error;
	return document_write_model(document, count > 1 ? sum : models.data[0],
		document->doubt ? document->doubt : models.doubt);
}
