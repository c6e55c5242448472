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

static int run(const struct command *command, int argc, char **argv)
{
	return heap_command_run(command, argc, argv, take_core);
}

const struct command command_core = {
	.name = "core",
	.synopsis = "CORE [--exe FILE] [--sysroot DIR] [OPTION…] [VERB…]",
	.what = "Says what is in the heap of a core dump, of a program that was never recorded.",
	.about = "Every block with what it is, who points at it, and what is lost. Verbs (without "
		 "one: a summary; --help VERB tells its options):\n",
	.describe = heap_verbs_describe,
	.examples = "  heapwise core core.1234\n"
		    "  heapwise core --json core.1234 > heap.json\n"
		    "  heapwise core --sysroot /srv/target core leaks\n",
	.options = option_specs,
	.run = run,
};
