/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of the environment are reachable: those of putenv, which are the program's own, and what
 * setenv copies. The same for a pointer that is laid over an argument of main. */
#include "leaks.h"

LEAK_ROLE(put_string)
LEAK_ROLE(replaced_string)
LEAK_ROLE(in_arguments)

TRUTH_FRAME static void put(void *string, const char *name, size_t bytes)
{
	snprintf((char *)string, bytes, "%s=%0*d", name, 50, 7);
	truth_need(!putenv((char *)string), "putenv");
}

TRUTH_FRAME static void story(char **arguments)
{
	put(put_string(216), "HEAPWISE_TARGET_ONE", 216);
	put(replaced_string(232), "HEAPWISE_TARGET_TWO", 232);
	put(put_string(248), "HEAPWISE_TARGET_TWO", 248);
	leak_put(arguments, 0, in_arguments(264));
}

int main(int argc, char **argv)
{
	(void)argc;
	leak_libc_allocates = 1;
	story(argv);
	LEAKS_ARE(LEAK_REACHABLE, put_string);
	LEAKS_ARE(LEAK_DEFINITE, replaced_string);
	LEAKS_ARE(LEAK_REACHABLE, in_arguments);
	leaks_with("--run-libc-freeres=no");
	LEAKS_ARE(LEAK_REACHABLE, put_string);
	LEAKS_ARE(LEAK_DEFINITE, replaced_string);
	LEAKS_ARE(LEAK_REACHABLE, in_arguments);
	leaks_end();
	return 0;
}
