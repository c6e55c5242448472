/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/operands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "query/bundles.h"
#include "query/recordings.h"

struct error *operand_parse(const char *text, struct operand *ret)
{
	ret->text = text;
	const char *moment = moment_after(text);
	ret->path = moment ? strndup(text, (size_t)(moment - text) - 1) : strdup(text);
	if (!ret->path)
		return error_no_memory();
	return moment ? moments_set(&ret->moments, moment, false) : NULL;
}

static struct error *open_recording(
	struct query_context *context, const struct operand_wanted *wanted, struct operand *operand)
{
	const struct source_query *moments = moments_query(&operand->moments);
	struct source_query query = {.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}};
	if (moments)
		query = *moments;
	query.blocks = wanted->blocks;
	query.class = wanted->class;
	query.series = wanted->series;
	struct error *error =
		recording_open(context, operand->path, wanted->flags, &query, &operand->model);
	if (error)
		return error;
	if (!wanted->again)
		recording_warn(context, operand->model, operand->path);
	return model_subtracted(operand->model)
		       ? error_create(ERROR_INPUT,
				 "%s is a difference of two states already: use 'heapwise report'",
				 operand->path)
		       : NULL;
}

struct error *operand_open(
	struct query_context *context, const struct operand_wanted *wanted, struct operand *operand)
{
	struct stat st;
	if (stat(operand->path, &st) == 0) {
		operand->device = st.st_dev;
		operand->inode = st.st_ino;
	}
	return !operand->moments.given && heap_operand_is(context, operand->text)
		       ? heap_operand_open(context, operand->text, wanted->by, &operand->model)
		       : open_recording(context, wanted, operand);
}

struct error *operand_check_class(const struct recording *a, const struct recording *b)
{
	if (a->what == b->what)
		return NULL;
	const struct recording *mapped = a->what == RECORDED_HEAP ? b : a;
	return error_create(ERROR_INPUT,
		"%s contains what the program mapped (run --mmap=only), %s contains a heap: they "
		"can't be compared; --class mapping compares mappings, if both have them",
		mapped->path, (mapped == a ? b : a)->path);
}

void operand_deinit(struct operand *operand)
{
	model_destroy(operand->model);
	moments_deinit(&operand->moments);
	free(operand->path);
	*operand = (struct operand){.model = NULL};
}

bool operand_same_file(const struct operand *a, const struct operand *b)
{
	return a->inode && a->inode == b->inode && a->device == b->device;
}

bool operand_is_of(const struct operand *operand, const struct model *model)
{
	const struct recording *recording = model_recording(model);
	struct stat st;
	return operand->inode && !recording->merged && stat(recording->path, &st) == 0 &&
	       st.st_ino == operand->inode && st.st_dev == operand->device;
}
