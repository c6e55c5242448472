/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How names of functions are found and shown: options of all commands that show stacks. They are in
 * VIEW_SPECS_* and LEAK_OPTIONS, or SYMBOL_SPECS stands in a command's own table.
 */
#ifndef CLI_SYMBOL_OPTIONS_H
#define CLI_SYMBOL_OPTIONS_H

#include "query/name_settings.h"

enum symbol_option {
	SYMBOL_OPT_FIRST = 800, /* beyond those of all that take them */
	SYMBOL_OPT_SYSROOT,
	SYMBOL_OPT_PATH,
	SYMBOL_OPT_DEBUG_FOLDERS,
	SYMBOL_OPT_DEBUGINFOD,
	SYMBOL_OPT_NAMES,
	SYMBOL_OPT_NO_CACHE,
	SYMBOL_OPT_EXE,
	SYMBOL_OPT_LAST,
};

#define SYMBOL_SPECS                                                                               \
	{SYMBOL_OPT_SYSROOT, "sysroot", "DIR", "look up the recorded machine's paths below DIR"},  \
		{SYMBOL_OPT_PATH, "symbol-path", "DIR[:DIR]",                                      \
			"search there for programs, libraries and debug files, by build-id"},      \
		{SYMBOL_OPT_DEBUG_FOLDERS, "debug-file-directory", "DIR[:DIR]",                    \
			"search there instead of in /usr/lib/debug"},                              \
		{SYMBOL_OPT_DEBUGINFOD, "debuginfod", "[=SECONDS]",                                \
			"download debug files from the servers in $DEBUGINFOD_URLS (default: for " \
			"120 seconds in all; also with HEAPWISE_DEBUGINFOD=1)"},                   \
		{SYMBOL_OPT_NAMES, "names", "FORM",                                                \
			"function names: short (default), full (with parameters) or raw (the "     \
			"linker's names)"},                                                        \
		{SYMBOL_OPT_NO_CACHE, "no-symbol-cache", NULL,                                     \
			"neither use nor fill the cache of names (also with "                      \
			"HEAPWISE_SYMBOL_CACHE=0)"},

/* Of commands that read files of other tools. */
#define SYMBOL_SPEC_EXE                                                                            \
	{SYMBOL_OPT_EXE, "exe", "FILE",                                                            \
		"of mtrace logs: the program, if it is not where the log says"},

/* Takes an option if it is one of these; *ret_taken says whether. The error is one sentence. */
struct error *symbol_options_take(
	struct name_settings *names, int id, const char *argument, bool *ret_taken) must_check_;

/* Shows what is fetched, and why no more is. */
extern const struct fetch_listener symbol_fetch_listener;

#endif
