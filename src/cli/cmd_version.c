/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"
#include "cli/output.h"

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	if (options_next(&options) < 0)
		return options.exit_code;
	if (options.operand < argc)
		return options_wrong(command, "version takes no argument");
	struct text text;
	text_init(&text);
	text_add(&text, "heapwise " HW_VERSION "\n");
	return output_text(&text);
}

const struct command command_version = {
	.name = "version",
	.synopsis = "",
	.what = "Shows the version.",
	.no_files = true,
	.run = run,
};
