/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of exit handlers are reachable when the process ends without calling them, the first of
 * them in libc's data, the others in blocks that libc allocates. */
#include "leaks.h"

LEAK_ROLE(argument)

enum { HANDLERS = 70, AT_ONCE = 32, BOOK = 1040 };

static void handler(int status, void *unused)
{
	(void)status;
	(void)unused;
}

TRUTH_FRAME static void story(void)
{
	for (size_t i = 0; i < HANDLERS; i++)
		truth_need(!on_exit(handler, argument(216)), "on_exit|__on_exit");
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, argument);
	size_t books = (HANDLERS + 1) / AT_ONCE;
	leak_tell_kept(LEAK_REACHABLE, "on_exit|__on_exit", books, books * BOOK);
	leaks_end();
	_exit(0);
}
