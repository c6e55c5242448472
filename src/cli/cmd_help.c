/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"
#include "cli/output.h"

static int print_commands(void)
{
	struct text text;
	text_init(&text);
	text_add(&text,
		"Usage: heapwise COMMAND [ARGUMENT…]\n\n"
		"Records where every byte of a program's heap came from, and says where it went.\n"
		"\nCommands\n");
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			text_printf(&text, "  %-10s  %s\n", commands[i]->name, commands[i]->what);
	text_add(&text, "\n'heapwise COMMAND --help' tells more.\n");
	return output_text(&text);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	if (options_next(&options) < 0)
		return options.exit_code;
	if (options.operand >= argc)
		return print_commands();
	const char *name = argv[options.operand];
	const struct command *about = command_find(name);
	if (!about)
		return options_wrong(command, "there is no command '%s'", name);
	return command_print_help(about);
}

const struct command command_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.what = "Lists the commands, or tells about one.",
	.no_files = true,
	.run = run,
};
