/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/operands.h"
#include "cli/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/options.h"
#include "query/bundles.h"
#include "query/recordings.h"

int operand_open(const struct command *command, const char *text,
	const struct operand_wanted *wanted, struct operand *ret)
{
	ret->text = text;
	const char *moment = moment_behind(text);
	ret->path = moment ? strndup(text, (size_t)(moment - text) - 1) : strdup(text);
	if (!ret->path)
		return message_error(error_no_memory());
	_cleanup_error_ struct error *wrong =
		moment ? moments_set(&ret->moments, moment, false) : NULL;
	if (wrong)
		return options_wrong(command, "%s", wrong->message);
	struct stat st;
	if (stat(ret->path, &st) == 0) {
		ret->device = st.st_dev;
		ret->inode = st.st_ino;
	}
	if (!moment && heap_operand_is(text)) {
		struct error *heap_error = heap_operand_open(text, wanted->by, &ret->model);
		return heap_error ? message_error(heap_error) : 0;
	}
	const struct source_query *moments = moments_query(&ret->moments);
	struct source_query query = {.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}};
	if (moments)
		query = *moments;
	query.blocks = wanted->blocks;
	query.series = wanted->series;
	struct error *error =
		recording_open(cli_context(), ret->path, wanted->flags, &query, &ret->model);
	if (error)
		return message_error(error);
	recording_warn(cli_context(), ret->model, ret->path);
	if (!model_subtracted(ret->model))
		return 0;
	message("%s is a difference of two states already: 'heapwise report' shows it", ret->path);
	return ERROR_INPUT;
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
