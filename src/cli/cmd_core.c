/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise core: the heap of a core dump. */
#include "cli/heap_command.h"

static const struct option_spec option_specs[] = {
	{HEAP_OPT_EXE, "exe", "FILE", "the program that dumped core, if it is not at its path"},
	HEAP_SPECS{0},
};

static bool take_core(struct heap_session *session, const char *word)
{
	session->core = word;
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
	.about = "Every block with what it is, who points at it, and what is lost. Without VERB: a "
		 "summary.\n"
		 "Verbs:\n"
		 "  summary                  what is in use, free and lost, and the largest types\n"
		 "  types                    what there is, by bytes\n"
		 "  blocks                   every block: address, size, used or free, what it is\n"
		 "  leaks                    what nothing points to any more\n"
		 "  why ADDR|TYPE            who points at it, step by step up to globals and "
		 "stacks\n"
		 "  refs ADDR                what a block points at\n"
		 "  words ADDR               every word of a block, and what it is\n"
		 "  python ADDR              what an object of Python's holds\n"
		 "  dominators               how much memory hangs on which globals, stacks and "
		 "blocks\n"
		 "  fragmentation            free memory of each arena, and what pins its pages\n"
		 "  threads                  the call stack of each thread, and where it is in "
		 "Python\n"
		 "  maps                     all mappings: bytes, of these there, of these not "
		 "zero\n"
		 "  hexdump ADDR [BYTES]     memory as hexdump -C shows it; or ADDR-ADDR\n"
		 "  strings [ADDR [BYTES]]   printable text in memory that the program wrote\n"
		 "  dump ADDR BYTES FILE     memory as it is, into a file; or ADDR-ADDR FILE\n",
	.examples = "  heapwise core core.1234\n"
		    "  heapwise core --json core.1234 > heap.json\n"
		    "  heapwise core --sysroot /srv/target core leaks\n",
	.options = option_specs,
	.run = run,
};
