/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/inputs.h"

#include <stdlib.h>
#include <sys/stat.h>

struct input_file {
	dev_t device;
	ino_t inode;
	struct input_file *next;
};

/* For good: a command reads few files. */
static struct input_file *inputs;

static bool is_noted(const struct stat *status)
{
	for (const struct input_file *input = inputs; input; input = input->next)
		if (input->inode == status->st_ino && input->device == status->st_dev)
			return true;
	return false;
}

void inputs_note(const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || is_noted(&status))
		return;
	struct input_file *input = malloc(sizeof(*input));
	if (!input)
		return;
	*input = (struct input_file){status.st_dev, status.st_ino, inputs};
	inputs = input;
}

struct error *inputs_check(const struct output_file *output)
{
	if (!output->exists || !is_noted(&output->there))
		return NULL;
	return error_create(ERROR_USAGE,
		"%s is a file that this command reads; another name is needed for what it writes",
		output->path);
}
