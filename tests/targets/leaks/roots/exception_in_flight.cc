// SPDX-License-Identifier: GPL-2.0-or-later
/* exit() in a catch clause: the exception that is being handled lives, with what it holds.
 * libstdc++ allocates it and holds it in the middle, behind a part of its own, so it is possible.
 */
#include "leaks.h"
#include <cxxabi.h>

LEAK_ROLE(held_by_exception)
LEAK_ROLE(held_by_frame)

struct trouble {
	void *volatile block;
	long payload[20];
};

/* The library's part before what is thrown. */
enum { HEAD = 128 };

static void (*volatile end)(int) = exit;

TRUTH_FRAME static void raise_trouble()
{
	throw trouble{held_by_exception(216), {}};
}

TRUTH_FRAME static void story()
{
	void *volatile mine = held_by_frame(232);
	try {
		raise_trouble();
	} catch (...) {
		LEAKS_ARE(LEAK_POSSIBLE, held_by_exception);
		LEAKS_ARE(LEAK_REACHABLE, held_by_frame);
		leak_tell_kept(
			LEAK_POSSIBLE, "__cxa_allocate_exception", 1, HEAD + sizeof(trouble));
		leaks_end();
		end(0);
	}
	(void)mine;
}

int main()
{
	story();
	return 1;
}
