/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/completion.h"

#include <string.h>

#include "base/util.h"
#include "cli/heap/heap_verbs.h"
#include "cli/options/options.h"

/* What an option's argument can be completed with. */
enum value_kind {
	VALUE_NONE,  /* it takes none */
	VALUE_FILE,  /* a file or a folder */
	VALUE_WORDS, /* one of a few words: "yes|no" */
	VALUE_OTHER, /* something that is not to be guessed */
};

static bool is_optional(const struct option_spec *spec)
{
	return spec->argument && spec->argument[0] == '[';
}

static enum value_kind value_kind_of(const struct option_spec *spec)
{
	static const char *const files[] = {"FILE", "DIR", "FOLDER", "OLD", "OUT"};
	if (!spec->argument)
		return VALUE_NONE;
	if (!spec->argument[strspn(spec->argument, "abcdefghijklmnopqrstuvwxyz-|")])
		return VALUE_WORDS;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strncmp(spec->argument, files[i], strlen(files[i])))
			return VALUE_FILE;
	return VALUE_OTHER;
}

/* Adds the words of VALUE_WORDS with blanks between. */
static void add_values(struct text *text, const struct option_spec *spec)
{
	for (const char *p = spec->argument; *p; p++) {
		if (*p == '|')
			text_add_char(text, ' ');
		else
			text_add_char(text, *p);
	}
}

/* Calls `add` for each option of the command, --help last. */
static void each_option(const struct command *command, struct text *text,
	void (*add)(
		const struct command *command, const struct option_spec *spec, struct text *text))
{
	for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
		add(command, spec, text);
	add(command, &option_help, text);
}

static void each_command(
	struct text *text, void (*add)(const struct command *command, struct text *text))
{
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			add(commands[i], text);
}

/* Whether words that follow its operand are verbs. */
static bool has_verbs(const struct command *command)
{
	return command->describe == heap_verbs_describe;
}

static void add_verbs(struct text *text)
{
	for (const struct heap_verb *verb = heap_verbs; verb->name; verb++)
		text_printf(text, " %s", verb->name);
}

static void add_command_name(const struct command *command, struct text *text)
{
	text_printf(text, " %s", command->name);
}

/* --- bash ----------------------------------------------------------------------------------- */

static const char bash_head[] =
	"# bash completion for heapwise; made by 'heapwise help --completion=bash'.\n"
	"\n"
	"# Sets options, those of the command, and of one of them kind and values: file, words or\n"
	"# other; attached, if its value may only follow a '='; empty, if it takes none.\n"
	"_heapwise_options()\n"
	"{\n"
	"\toptions='' kind='' values=''\n"
	"\tcase $1 in\n";

static const char bash_tail[] =
	"\tesac\n"
	"}\n"
	"\n"
	"# Adds what compgen prints to COMPREPLY, a line an answer.\n"
	"_heapwise_reply()\n"
	"{\n"
	"\tlocal line\n"
	"\twhile IFS='' read -r line; do\n"
	"\t\tCOMPREPLY+=(\"$line\")\n"
	"\tdone < <(compgen \"$@\")\n"
	"}\n"
	"\n"
	"# The index of the program that follows the options, or nothing.\n"
	"_heapwise_program()\n"
	"{\n"
	"\tlocal i options kind values\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t--) echo $((i + 1)); return ;;\n"
	"\t\t-*) ;;\n"
	"\t\t*) echo $i; return ;;\n"
	"\t\tesac\n"
	"\t\t_heapwise_options \"${COMP_WORDS[1]}\" \"${COMP_WORDS[i]}\"\n"
	"\t\tif [[ ${COMP_WORDS[i + 1]-} == = ]]; then\n"
	"\t\t\t((i += 2))\n"
	"\t\telif [[ $kind && $kind != attached ]]; then\n"
	"\t\t\t((i++))\n"
	"\t\tfi\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_heapwise()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command=${COMP_WORDS[1]} equals='' options kind values program=''\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_heapwise_reply -W \"$_heapwise_commands\" -- \"$cur\"\n"
	"\t\tif ((${#COMPREPLY[@]} == 0)); then\n"
	"\t\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\t\t_heapwise_reply -f -- \"$cur\"\n"
	"\t\tfi\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t# Of --option=value bash makes three words.\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur='' equals=1\n"
	"\telif [[ $prev == = ]]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]} equals=1\n"
	"\tfi\n"
	"\t[[ \" $_heapwise_starters \" != *\" $command \"* ]] || program=$(_heapwise_program)\n"
	"\tif [[ $program ]] && ((program < COMP_CWORD)) && declare -F _command_offset >/dev/null; "
	"then\n"
	"\t\t_command_offset \"$program\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_heapwise_options \"$command\" \"$prev\"\n"
	"\tif [[ ! $program && $kind && ( $equals || $kind != attached ) ]]; then\n"
	"\t\tcase $kind in\n"
	"\t\twords) _heapwise_reply -W \"$values\" -- \"$cur\" ;;\n"
	"\t\tfile)\n"
	"\t\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\t\t_heapwise_reply -f -- \"$cur\"\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\telif [[ ! $program && $cur == -* ]]; then\n"
	"\t\t_heapwise_reply -W \"$options\" -- \"$cur\"\n"
	"\telif [[ $command == help ]]; then\n"
	"\t\t_heapwise_reply -W \"$_heapwise_commands\" -- \"$cur\"\n"
	"\telse\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\t_heapwise_reply -f -- \"$cur\"\n"
	"\t\tif [[ \" $_heapwise_askers \" == *\" $command \"* ]]; then\n"
	"\t\t\t_heapwise_reply -W \"$_heapwise_verbs\" -- \"$cur\"\n"
	"\t\tfi\n"
	"\t\tif [[ \" $_heapwise_starters \" == *\" $command \"* && ( ! $program || $program == "
	"\"$COMP_CWORD\" ) ]]; then\n"
	"\t\t\t_heapwise_reply -c -- \"$cur\"\n"
	"\t\tfi\n"
	"\tfi\n"
	"}\n"
	"\n"
	"complete -F _heapwise heapwise\n";

static void bash_add_word(
	const struct command *command, const struct option_spec *spec, struct text *text)
{
	(void)command;
	text_printf(text, " --%s", spec->name);
	if (spec->id <= OPTION_LETTER_MAX)
		text_printf(text, " -%c", spec->id);
}

static void bash_add_value(
	const struct command *command, const struct option_spec *spec, struct text *text)
{
	(void)command;
	static const char *const kinds[] = {
		[VALUE_FILE] = "file", [VALUE_WORDS] = "words", [VALUE_OTHER] = "other"};
	enum value_kind kind = value_kind_of(spec);
	if (kind == VALUE_NONE)
		return;
	text_printf(text, "\t\t--%s", spec->name);
	if (spec->id <= OPTION_LETTER_MAX)
		text_printf(text, " | -%c", spec->id);
	text_printf(text, ") kind=%s", is_optional(spec) ? "attached" : kinds[kind]);
	if (kind == VALUE_WORDS) {
		text_add(text, " values='");
		add_values(text, spec);
		text_add_char(text, '\'');
	}
	text_add(text, " ;;\n");
}

static void bash_add_command(const struct command *command, struct text *text)
{
	text_printf(text, "\t%s)\n\t\toptions='", command->name);
	each_option(command, text, bash_add_word);
	text_add(text, "'\n\t\tcase $2 in\n");
	each_option(command, text, bash_add_value);
	text_add(text, "\t\tesac\n\t\t;;\n");
}

static void bash_add_asker(const struct command *command, struct text *text)
{
	if (has_verbs(command))
		add_command_name(command, text);
}

static void bash_add_starter(const struct command *command, struct text *text)
{
	if (command->stops_at_operand)
		add_command_name(command, text);
}

static void bash_add_list(struct text *text, const char *name,
	void (*add)(const struct command *command, struct text *text))
{
	text_printf(text, "%s='", name);
	each_command(text, add);
	text_add(text, " '\n");
}

static void bash_add(struct text *text)
{
	text_add(text, bash_head);
	each_command(text, bash_add_command);
	text_add(text, bash_tail);
	bash_add_list(text, "_heapwise_commands", add_command_name);
	bash_add_list(text, "_heapwise_starters", bash_add_starter);
	bash_add_list(text, "_heapwise_askers", bash_add_asker);
	text_add(text, "_heapwise_verbs='");
	add_verbs(text);
	text_add(text, " '\n");
}

/* --- zsh ------------------------------------------------------------------------------------ */

/* Adds words between single quotes that _arguments takes apart at brackets and colons. */
static void zsh_add_quoted(struct text *text, const char *words)
{
	for (const char *p = words; *p; p++) {
		if (*p == '\'')
			text_add(text, "'\\''");
		else if (strchr("[]:\\", *p))
			text_printf(text, "\\%c", *p);
		else
			text_add_char(text, *p);
	}
}

static void zsh_add_argument(struct text *text, const struct option_spec *spec)
{
	enum value_kind kind = value_kind_of(spec);
	if (kind == VALUE_NONE)
		return;
	text_add(text, is_optional(spec) ? "::" : ":");
	if (kind == VALUE_WORDS) {
		text_add(text, "value:(");
		add_values(text, spec);
		text_add_char(text, ')');
		return;
	}
	zsh_add_quoted(text, spec->argument);
	text_add(text, kind == VALUE_FILE ? ":_files" : ": ");
}

/* One form of an option; `ends` marks where its value begins, if it takes one. */
static void zsh_add_form(struct text *text, const struct option_spec *spec, const char *dashes,
	const char *name, const char *ends)
{
	text_printf(text, " \\\n\t\t\t'*%s%s%s[", dashes, name, spec->argument ? ends : "");
	zsh_add_quoted(text, spec->help);
	text_add_char(text, ']');
	zsh_add_argument(text, spec);
	text_add_char(text, '\'');
}

static void zsh_add_option(
	const struct command *command, const struct option_spec *spec, struct text *text)
{
	(void)command;
	char letter[2] = {(char)spec->id, 0};
	zsh_add_form(text, spec, "--", spec->name, is_optional(spec) ? "=-" : "=");
	if (spec->id <= OPTION_LETTER_MAX)
		zsh_add_form(text, spec, "-", letter, is_optional(spec) ? "-" : "+");
}

static void zsh_add_command(const struct command *command, struct text *text)
{
	text_printf(text, "\t\t%s)\n\t\t\t_arguments -s -S", command->name);
	each_option(command, text, zsh_add_option);
	if (command->stops_at_operand)
		text_add(text, " \\\n\t\t\t'(-)1:program:_command_names -e'"
			       " \\\n\t\t\t'*::arguments:_normal'");
	else if (command == &command_help)
		text_add(text, " \\\n\t\t\t'1:command:($names)'");
	else if (has_verbs(command))
		text_add(text, " \\\n\t\t\t'*:verb:{_alternative \"verbs:verb:($verbs)\" "
			       "\"files:file:_files\"}'");
	else
		text_add(text, " \\\n\t\t\t'*:file:_files'");
	text_add(text, "\n\t\t\t;;\n");
}

static void zsh_add_described(const struct command *command, struct text *text)
{
	text_printf(text, "\t\t'%s:", command->name);
	zsh_add_quoted(text, command->what);
	text_add(text, "'\n");
}

static void zsh_add(struct text *text)
{
	text_add(text, "#compdef heapwise\n"
		       "# zsh completion for heapwise; made by 'heapwise help --completion=zsh'.\n"
		       "\n_heapwise()\n{\n"
		       "\tlocal curcontext=\"$curcontext\" context state state_descr line\n"
		       "\ttypeset -A opt_args\n"
		       "\tlocal -a commands names verbs\n\tcommands=(\n");
	each_command(text, zsh_add_described);
	text_add(text, "\t)\n\tnames=(");
	each_command(text, add_command_name);
	text_add(text, " )\n\tverbs=(");
	add_verbs(text);
	text_add(text, " )\n\t_arguments -C '1: :->command' '*:: :->rest'\n"
		       "\tcase $state in\n"
		       "\tcommand)\n"
		       "\t\t_alternative 'commands:command:{_describe command commands}' "
		       "'files:file:_files'\n"
		       "\t\t;;\n"
		       "\trest)\n"
		       "\t\tcurcontext=\"${curcontext%:*}-$words[1]:\"\n"
		       "\t\tcase $words[1] in\n");
	each_command(text, zsh_add_command);
	text_add(text, "\t\tesac\n\t\t;;\n\tesac\n}\n\n"
		       "if [ \"$funcstack[1]\" = _heapwise ]; then\n\t_heapwise \"$@\"\n"
		       "else\n\tcompdef _heapwise heapwise\nfi\n");
}

/* --- fish ----------------------------------------------------------------------------------- */

/* Adds words between single quotes, as fish reads them. */
static void fish_add_quoted(struct text *text, const char *words)
{
	text_add_char(text, '\'');
	for (const char *p = words; *p; p++) {
		if (*p == '\'' || *p == '\\')
			text_add_char(text, '\\');
		text_add_char(text, *p);
	}
	text_add_char(text, '\'');
}

static void fish_add_option(
	const struct command *command, const struct option_spec *spec, struct text *text)
{
	enum value_kind kind = value_kind_of(spec);
	text_printf(text, "complete -c heapwise -n '__heapwise_is %s' -l %s", command->name,
		spec->name);
	if (spec->id <= OPTION_LETTER_MAX)
		text_printf(text, " -s %c", spec->id);
	if (kind == VALUE_FILE && !is_optional(spec))
		text_add(text, " -r -F");
	else if (kind != VALUE_NONE && !is_optional(spec))
		text_add(text, " -x");
	if (kind == VALUE_WORDS) {
		text_add(text, " -a '");
		add_values(text, spec);
		text_add_char(text, '\'');
	}
	text_add(text, " -d ");
	fish_add_quoted(text, spec->help);
	text_add_char(text, '\n');
}

static void fish_add_command(const struct command *command, struct text *text)
{
	text_printf(text, "complete -c heapwise -n __fish_use_subcommand -a %s -d ", command->name);
	fish_add_quoted(text, command->what);
	text_add_char(text, '\n');
	each_option(command, text, fish_add_option);
	if (command->stops_at_operand)
		text_printf(text,
			"complete -c heapwise -n '__heapwise_is %s' -x "
			"-a '(__fish_complete_subcommand --fcs-skip=2)'\n",
			command->name);
	if (!has_verbs(command))
		return;
	text_printf(text, "complete -c heapwise -n '__heapwise_is %s' -a '", command->name);
	add_verbs(text);
	text_add(text, "'\n");
}

static void fish_add(struct text *text)
{
	text_add(text,
		"# fish completion for heapwise; made by 'heapwise help --completion=fish'.\n"
		"\n"
		"function __heapwise_is\n"
		"\tset -l words (commandline -opc)\n"
		"\ttest (count $words) -gt 1; and test $words[2] = $argv[1]\n"
		"end\n\n");
	each_command(text, fish_add_command);
	text_add(text, "complete -c heapwise -n '__heapwise_is help' -x -a '");
	each_command(text, add_command_name);
	text_add(text, "'\n");
}

bool completion_add(const char *shell, struct text *text)
{
	static const struct {
		const char *name;
		void (*add)(struct text *text);
	} shells[] = {{"bash", bash_add}, {"zsh", zsh_add}, {"fish", fish_add}};
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].add(text);
		return true;
	}
	return false;
}
