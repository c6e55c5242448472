/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands `core` and `heap` share: options, and verbs behind what is looked at. */
#ifndef CLI_HEAP_COMMAND_H
#define CLI_HEAP_COMMAND_H

#include "cli/heap/heap_look.h"
#include "cli/options/options.h"
#include "cli/options/view_options.h"

enum heap_option {
	HEAP_OPT_EXE = 256,
	HEAP_OPT_JSON,
	HEAP_OPT_CSV,
	HEAP_OPT_LIMIT,
	HEAP_OPT_POINTERS,
	HEAP_OPT_RECORDING,
	HEAP_OPT_AS,
	HEAP_OPT_NO_INFERENCE,
	HEAP_OPT_HEURISTICS,
	HEAP_OPT_HTML
};

#define HEAP_SPECS                                                                                 \
	{HEAP_OPT_JSON, "json", "[=1]",                                                            \
		"write JSON (docs/schema); =1: with the schema name of the last release"},         \
		{HEAP_OPT_CSV, "csv", NULL, "write the verb's table as CSV"},                      \
		{HEAP_OPT_HTML, "html", "[=FILE]",                                                 \
			"write a page for browsers: types, sizes, names and no contents of "       \
			"memory (default: named after CORE or PID, in the "                        \
			"current directory)"},                                                     \
		{HEAP_OPT_LIMIT, "limit", "N", "show at most N rows of tables"},                   \
		{HEAP_OPT_POINTERS, "pointers", "RULE",                                            \
			"which words count as references: aligned (multiples of 8), tagged (with " \
			"tags in the last three bits), start (only to the start of a block)"},     \
		{HEAP_OPT_RECORDING, "recording", "FILE",                                          \
			"a recording (*.hpw) of the same process, for the call stacks of blocks "  \
			"(default: one that is found; none: no recording)"},                       \
		{HEAP_OPT_AS, "as", "TYPE", "the type that `show` assumes for blocks"},            \
		{HEAP_OPT_NO_INFERENCE, "no-inference", NULL,                                      \
			"do not infer types from debug information, which takes seconds for huge " \
			"programs"},                                                               \
		{HEAP_OPT_HEURISTICS, "leak-check-heuristics", "LIST",                             \
			"interior pointers that count as references: all (default), none, or a "   \
			"list of stdstring, length64, newarray, multipleinheritance"},             \
		HEAP_SELECTION_SPECS SYMBOL_SPECS VIEW_SPECS_TERMINAL

/* Takes options, then the operand by `take_operand` (which says what is wrong), then the verb. */
int heap_command_run(const struct command *command, int argc, char **argv,
	bool (*take_operand)(struct heap_look *look, const char *word));

/* A line of the prompt: a verb, and options of those that say how it is shown. They stay in the
 * session, which is that of the one answer. Returns the exit code. */
int heap_command_line(struct heap_look *look, char **words, size_t count);

#endif
