/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C: a chain of inlined functions, blocks, a nested scope, an exported and a static function. */
#include "sample.h"

#include <stdlib.h>

INLINED void innermost(int deep)
{
	/* clang-format off */
	if (deep) { PLACE("innermost", "middle", "outer_function"); }
	/* clang-format on */
}

INLINED void middle(int deep)
{
	for (int i = 0; i < deep; i++) {
		volatile int local = i;
		CALL(innermost(local + 1));
	}
}

KEPT static void outer_function(int deep)
{
	CALL(middle(deep));
	PLACE("outer_function");
}

/* Several addresses in one function, the last in a part that is seldom run. */
KEPT void exported_function(int argc)
{
	PLACE("exported_function");
	if (__builtin_expect(argc > 0, 0))
		PLACE("exported_function");
	PLACE("exported_function");
}

__attribute__((cold)) KEPT static void seldom_run(void)
{
	PLACE("seldom_run");
}

int main(int argc, char **argv)
{
	(void)argv;
	outer_function(argc);
	exported_function(argc);
	seldom_run();
	PLACE("main");
	return EXIT_SUCCESS;
}
