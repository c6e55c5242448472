/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/options.h"
#include "cli/setup/completion.h"
#include "cli/setup/manual.h"
#include "cli/terminal/output.h"

enum { OPT_MAN = 256, OPT_COMPLETION };

static const struct option_spec option_specs[] = {
	{OPT_MAN, "man", NULL,
		"print the manual page of COMMAND, or of heapwise, as man(7) source"},
	{OPT_COMPLETION, "completion", "bash|zsh|fish", "print the completion script for a shell"},
	{0},
};

const char tool_what[] =
	"Records heap use of programs, finds leaks, and inspects live heaps and core dumps.";

static int print_commands(void)
{
	struct text text;
	text_init(&text);
	text_printf(&text, "Usage: heapwise COMMAND [ARGUMENT…]\n\n%s\n\nCommands\n", tool_what);
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			text_printf(&text, "  %-10s  %s\n", commands[i]->name, commands[i]->what);
	text_add(&text, "\n'heapwise COMMAND --help' shows the help of a command.\n");
	return output_text(&text);
}

static int print_completion(const struct command *command, const char *shell)
{
	struct text text;
	text_init(&text);
	if (completion_add(shell, &text))
		return output_text(&text);
	text_deinit(&text);
	return options_wrong(
		command, "invalid --completion '%s': expected bash, zsh or fish", shell);
}

static int print_manual(const struct command *about)
{
	struct text text;
	text_init(&text);
	if (about)
		manual_add(about, &text);
	else
		manual_add_tool(&text);
	return output_text(&text);
}

static int cmd_help_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	const char *shell = NULL;
	bool man = false;
	int id;
	while ((id = options_next(&options)) > 0) {
		if (id == OPT_COMPLETION)
			shell = options.argument;
		else
			man = true;
	}
	if (id < 0)
		return options.exit_code;
	if (shell)
		return print_completion(command, shell);
	const char *name = options.operand < argc ? argv[options.operand] : NULL;
	const struct command *about = name ? command_find(name) : NULL;
	if (name && !about)
		return options_wrong(command, "unknown command '%s'", name);
	if (man)
		return print_manual(about);
	return about ? command_print_help(about) : print_commands();
}

const struct command command_help = {
	.name = "help",
	.synopsis = "[COMMAND] [--man] [--completion SHELL]",
	.what = "Lists all commands, or shows the help of one.",
	.options = option_specs,
	.no_files = true,
	.run = cmd_help_run,
};
