/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: finds the command by its name in a table and hands over. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/setup/fetch.h"
#include "cli/terminal/message.h"
#include "query/urls.h"

const struct command *const commands[] = {
	&command_run,
	&command_check,
	&command_attach,
	&command_detach,
	&command_env,
	&command_report,
	&command_tree,
	&command_timeline,
	&command_flame,
	&command_html,
	&command_serve,
	&command_list,
	&command_symbols,
	&command_peek,
	&command_graph,
	&command_export,
	&command_bundle,
	&command_diff,
	&command_budget,
	&command_leaks,
	&command_core,
	&command_heap,
	&command_maps,
	&command_node,
	&command_watch,
	&command_java,
	&command_prompt,
	&command_dump,
	&command_http_answer,
	&command_ctl,
	&command_mark,
	&command_doctor,
	&command_help,
	&command_version,
	&command_collect,
	NULL,
};

/* What people type by habit. */
static const struct alias {
	const char *word, *name;
} aliases[] = {
	{"--help", "help"},
	{"-h", "help"},
	{"--version", "version"},
	{"-V", "version"},
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static const char *command_name(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (strcmp(aliases[i].word, word) == 0)
			return aliases[i].name;
	return word;
}

static bool is_file(const char *word)
{
	struct stat st;
	return stat(word, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file alone: on a terminal a prompt, else the report. */
static int main_look_at(char **argv)
{
	bool on_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	const struct command *command = on_terminal ? &command_prompt : &command_report;
	char *words[] = {(char *)command->name, argv[1], NULL};
	return command->run(command, 2, words);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		message("missing command; 'heapwise help' lists all commands");
		return ERROR_USAGE;
	}
	const struct command *command = command_find(command_name(argv[1]));
	bool alone = !command && argc == 2 && (is_file(argv[1]) || url_is(argv[1]));
	int code = 0;
	if (alone || (command && !command->no_files))
		code = fetch_words(argc, argv);
	if (code)
		return code;
	if (command)
		return command->run(command, argc - 1, argv + 1);
	if (alone)
		return main_look_at(argv);
	message("unknown command '%s'; 'heapwise help' lists all commands", argv[1]);
	return ERROR_USAGE;
}

#ifdef __SANITIZE_ADDRESS__
/* A C++ allocator that is preloaded, as tests do it, keeps what it gets of the sanitizer's operator
 * new, which is in the command because one of its libraries needs it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:MallocExtension::Register\n";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
#endif
