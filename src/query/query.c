/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/model.h"
#include "query/bundles.h"
#include "query/main_program.h"
#include "query/recordings.h"
#include "sources/anonymize.h"
#include "sources/merge.h"

void query_deinit(struct query *query)
{
	moments_deinit(&query->moments);
	filter_deinit(&query->filter);
	name_settings_deinit(&query->names);
	anonymizer_destroy(query->anonymizer);
	free(query->opened);
	query->anonymizer = NULL;
	query->opened = NULL;
}

const struct source_blocks *query_blocks(const struct query *query)
{
	const struct source_blocks *blocks = &query->blocks;
	return source_blocks_are_all(blocks) && blocks->temporary_within <= 1 ? NULL : blocks;
}

struct error *query_names(struct query *query, struct model *model)
{
	return name_settings_apply(query->context, &query->names, model);
}

/* The series that is wanted, in `storage`; NULL: none. */
static const struct source_series *series_of(
	const struct query *query, struct source_series *storage)
{
	*storage = query->series;
	storage->with_sites = true;
	return storage->rows ? storage : NULL;
}

static struct error *open_one(
	const struct query *query, const char *path, unsigned flags, struct model **ret)
{
	const struct source_query *moments = moments_query(&query->moments);
	struct source_query wanted = {.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}};
	struct source_series series;
	if (moments)
		wanted = *moments;
	wanted.series = series_of(query, &series);
	wanted.blocks = query_blocks(query);
	wanted.class = query->class;
	struct error *error = recording_open(query->context, path, flags, &wanted, ret);
	if (error && wanted.series && query->series_if_known && error->code == ERROR_INPUT) {
		error_destroy(error);
		wanted.series = NULL;
		error = recording_open(query->context, path, flags, &wanted, ret);
	}
	if (!error && !query->again)
		recording_warn(query->context, *ret, path);
	return error;
}

/* Replaces a model by the sum of it and all others; it is gone if that fails. */
static struct error *add_up(const struct query *query, unsigned flags, struct model **model)
{
	_cleanup_free_ struct model **models =
		calloc(query->more_count + 1, sizeof(struct model *));
	size_t count = 1;
	struct error *error = models ? NULL : error_no_memory();
	if (error)
		return error;
	models[0] = *model;
	for (; count <= query->more_count && !error; count++)
		error = open_one(query, query->more[count - 1], flags, &models[count]);
	*model = NULL;
	if (!error)
		error = merge_models((const struct model *const *)models, count, model);
	for (size_t i = 0; i < count; i++)
		model_destroy(models[i]);
	return error;
}

/* That a difference can't be combined with anything; NULL: nobody wants that. */
static struct error *refuse_difference(const struct query *query, const struct model *model)
{
	bool combined = query->base || query->more_count;
	return combined && model_subtracted(model)
		       ? error_create(ERROR_INPUT,
				 "%s is a difference of two states, which can't be %s; give the "
				 "two states instead",
				 model_recording(model)->path,
				 query->base ? "compared" : "added up")
		       : NULL;
}

/* Names that options could choose by are gone when they are asked for. */
static struct error *check_anonymous(const struct query *query)
{
	const char *wrong = query->base                           ? "--base"
			    : filter_has_patterns(&query->filter) ? "--focus and similar filters"
								  : NULL;
	return query->anonymize && wrong ? error_create(ERROR_USAGE,
						   "--anonymize replaces names before filters "
						   "apply: it can't be used with %s",
						   wrong)
					 : NULL;
}

static struct error *query_anonymize(struct query *query, struct model *model)
{
	struct query_task task;
	query_task_begin(query->context, &task, "looking up names");
	struct error *error = query->anonymizer ? NULL : anonymizer_create(&query->anonymizer);
	if (!error)
		error = anonymizer_model(query->anonymizer, model);
	query_task_end(query->context, &task);
	return error;
}

/* The first recording of a run may be of what only started the program: notes where that is. */
static void point_to_main_program(const struct query *query, const char *path)
{
	_cleanup_(main_program_deinit) struct main_program program = {.path = NULL};
	struct error *error = main_program_find(path, &program);
	if (error) /* the file itself will say it */
		error_destroy(error);
	else if (program.count > 1 && strcmp(program.path, path) != 0)
		query_note(query->context,
			"%s is one of %zu recordings of a run; the one with the largest peak is "
			"%s%s%s%s",
			path, program.count, program.path, query->anonymize ? "" : " (",
			query->anonymize ? "" : program.command, query->anonymize ? "" : ")");
}

/* The file that is meant, in `newest` if it had to be found. */
static struct error *query_find_file(const struct query *query, const char **path, char **newest)
{
	if (*path && !query->again && !query->more_count && main_program_is_first(*path))
		point_to_main_program(query, *path);
	if (*path)
		return NULL;
	struct error *error = main_program_newest(
		query->context, query->anonymize ? NULL : MAIN_PROGRAM_ALL, newest);
	*path = *newest;
	return error;
}

static struct error *open_all(
	const struct query *query, const char *path, unsigned flags, struct model **ret)
{
	struct query_task task;
	query_task_begin(query->context, &task, "reading %s", path);
	struct error *error = open_one(query, path, flags, ret);
	if (!error)
		error = refuse_difference(query, *ret);
	if (!error && query->more_count)
		error = add_up(query, flags, ret);
	query_task_end(query->context, &task);
	return error;
}

struct error *query_open(struct query *query, const char *path, unsigned flags, struct model **ret)
{
	_cleanup_free_ char *newest = NULL;
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct error *error = check_anonymous(query);
	if (!error)
		error = query_find_file(query, &path, &newest);
	if (!error)
		error = open_all(query, path, flags, &model);
	if (error)
		return error;
	free(query->opened);
	query->opened = strdup(path);
	if (!query->opened)
		return error_no_memory();
	query->opened_what = model_recording(model)->what;
	error = query_names(query, model);
	if (!error && query->anonymize)
		error = query_anonymize(query, model);
	if (!error)
		*ret = steal_ptr(model);
	return error;
}

struct error *query_open_base(struct query *query, unsigned flags, struct operand *ret)
{
	struct source_series series;
	const struct operand_wanted wanted = {
		.flags = flags,
		.blocks = query_blocks(query),
		.class = query->class,
		.series = series_of(query, &series),
		.by = query->base_by,
		.again = query->again,
	};
	struct error *error = ret->text ? NULL : operand_parse(query->base, ret);
	if (error)
		return error;
	struct query_task task;
	query_task_begin(query->context, &task, "reading %s", query->base);
	error = operand_open(query->context, &wanted, ret);
	query_task_end(query->context, &task);
	const struct recording opened = {.path = query->opened, .what = query->opened_what};
	if (!error && opened.path)
		error = operand_check_class(&opened, model_recording(ret->model));
	return error ? error : query_names(query, ret->model);
}
