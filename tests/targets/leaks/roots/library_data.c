/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that variables of a library hold which was loaded on the way are reachable, those of its
 * initialised and of its zeroed data. */
#include "holder.h"

LEAK_ROLE(in_data)
LEAK_ROLE(in_bss)
LEAK_ROLE(held_inside)
LEAK_ROLE(behind_library)

TRUTH_FRAME static void story(void)
{
	void *library = holder_open(), *block = in_data(216);
	leak_put(block, 9, behind_library(56));
	holder_give(library, "hold_in_data", block);
	holder_give(library, "hold_in_bss", in_bss(232));
	holder_give(library, "hold_inside", held_inside(248));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_data);
	LEAKS_ARE(LEAK_REACHABLE, in_bss);
	LEAKS_ARE(LEAK_REACHABLE, behind_library);
	LEAKS_ARE(LEAK_POSSIBLE, held_inside);
	leaks_end();
	return 0;
}
