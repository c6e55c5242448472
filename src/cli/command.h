/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of the tool: one file cmd_NAME.c that defines `const struct command command_NAME`, and
 * one line in the table of main.c. Exit codes are those of enum error_code, 0 for success; `run`
 * has its own (docs of that command).
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* One option; a table of them ends with an empty row. */
struct option_spec {
	int id; /* what options_next gives: the short letter, or a number above 255 without one */
	const char *name; /* long, without dashes */
	/* What stands for its argument in the help, "[=WORD]" if it may be left out; NULL: takes
	 * none. */
	const char *argument;
	const char *help; /* one line */
};

/* A heading of the help, in front of the option with that id; a table of them ends with NULL. */
struct option_heading {
	int id;
	const char *text;
};

struct command {
	const char *name;
	const char *synopsis;                /* what follows the name: "[FILE] [OPTION…]" */
	const char *what;                    /* one line for the list of commands */
	const char *about;                   /* further lines of its own help; may be NULL */
	void (*describe)(struct text *text); /* adds more of these; may be NULL */
	const char *examples; /* whole lines, each indented by two spaces; may be NULL */
	const struct option_spec *options;
	const struct option_heading *headings; /* NULL: none */
	bool stops_at_operand; /* options after the first operand belong to somebody else */
	bool hidden;           /* not in the list of commands */
	bool no_files;         /* its words are no files that are looked at: URLs stay */
	/* argv[0] is the command's name. Returns the exit code. */
	int (*run)(const struct command *command, int argc, char **argv);
};

/* One line that says what the tool does. In cmd_help.c. */
extern const char tool_what[];

/* All commands, ended by NULL. In main.c. */
extern const struct command *const commands[];
const struct command *command_find(const char *name);

extern const struct command command_attach;
extern const struct command command_budget;
extern const struct command command_check;
extern const struct command command_collect;
extern const struct command command_core;
extern const struct command command_detach;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_env;
extern const struct command command_export;
extern const struct command command_bundle;
extern const struct command command_flame;
extern const struct command command_graph;
extern const struct command command_heap;
extern const struct command command_help;
extern const struct command command_html;
extern const struct command command_http_answer;
extern const struct command command_java;
extern const struct command command_leaks;
extern const struct command command_list;
extern const struct command command_maps;
extern const struct command command_symbols;
extern const struct command command_ctl;
extern const struct command command_dump;
extern const struct command command_node;
extern const struct command command_mark;
extern const struct command command_peek;
extern const struct command command_prompt;
extern const struct command command_report;
extern const struct command command_run;
extern const struct command command_serve;
extern const struct command command_timeline;
extern const struct command command_tree;
extern const struct command command_version;
extern const struct command command_watch;

#endif
