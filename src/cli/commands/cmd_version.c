/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/options.h"
#include "cli/setup/build_facts.h"
#include "cli/terminal/output.h"

static const struct option_spec option_specs[] = {
	{'v', "verbose", NULL,
		"also show the commit, compiler, libraries, paths and kernel, for bug reports"},
	{0},
};

static int cmd_version_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	bool verbose = false;
	int id;
	while ((id = options_next(&options)) > 0)
		verbose = true;
	if (id < 0)
		return options.exit_code;
	if (options.operand < argc)
		return options_wrong(command, "unexpected argument");
	struct text text;
	text_init(&text);
	text_add(&text, "heapwise " HW_VERSION "\n");
	if (verbose)
		build_facts_add(&text);
	return output_text(&text);
}

const struct command command_version = {
	.name = "version",
	.synopsis = "[--verbose]",
	.what = "Shows the version.",
	.options = option_specs,
	.no_files = true,
	.run = cmd_version_run,
};
