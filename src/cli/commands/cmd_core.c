/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise core: the heap of a core dump. */
#include "cli/heap/heap_command.h"
#include "cli/heap/heap_verbs.h"

static const struct option_spec option_specs[] = {
	{HEAP_OPT_EXE, "exe", "FILE", "the program that dumped core, if it is not at its path"},
	HEAP_SPECS{0},
};

static bool take_core(struct heap_look *look, const char *word)
{
	look->heap.core = word;
	return true;
}

static int cmd_core_run(const struct command *command, int argc, char **argv)
{
	return heap_command_run(command, argc, argv, take_core);
}

const struct command command_core = {
	.name = "core",
	.synopsis = "CORE [--exe FILE] [--sysroot DIR] [--html[=FILE]] [OPTION…] [VERB…]",
	.what = "Inspects the heap in a core dump; no recording needed.",
	.about = "Shows each block's type, what references it, and what is leaked. Verbs (default: "
		 "summary;\n"
		 "'--help VERB' shows a verb's options):\n",
	.describe = heap_verbs_describe,
	.examples = "  heapwise core core.1234\n"
		    "  heapwise core --json core.1234 > heap.json\n"
		    "  heapwise core --html core.1234      a page: core.1234.html\n"
		    "  heapwise core --sysroot /srv/target core leaks\n",
	.options = option_specs,
	.run = cmd_core_run,
};
