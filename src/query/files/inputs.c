/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/inputs.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Few files are read: a list will do. */
struct input_file {
	dev_t device;
	ino_t inode;
	struct input_file *next;
};

static bool is_noted(const struct query_context *context, const struct stat *status)
{
	for (const struct input_file *input = context->inputs; input; input = input->next)
		if (input->inode == status->st_ino && input->device == status->st_dev)
			return true;
	return false;
}

void inputs_note(struct query_context *context, const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || is_noted(context, &status))
		return;
	struct input_file *input = malloc(sizeof(*input));
	if (!input)
		return;
	*input = (struct input_file){status.st_dev, status.st_ino, context->inputs};
	context->inputs = input;
}

struct error *inputs_check(const struct query_context *context, const struct output_file *output)
{
	if (!output->exists || !is_noted(context, &output->there))
		return NULL;
	return error_create(ERROR_USAGE, "%s is an input of this command and can't be its output",
		output->path);
}

void inputs_forget(struct query_context *context)
{
	for (struct input_file *input = context->inputs, *next; input; input = next) {
		next = input->next;
		free(input);
	}
	context->inputs = NULL;
}
