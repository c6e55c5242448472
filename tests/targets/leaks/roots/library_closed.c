/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With a library that is unloaded goes what its variables held: these blocks are lost. */
#include "holder.h"

LEAK_ROLE(was_in_data)
LEAK_ROLE(was_in_bss)
LEAK_ROLE(behind_data)

TRUTH_FRAME static void story(void)
{
	void *library = holder_open(), *block = was_in_data(216);
	leak_put(block, 9, behind_data(56));
	holder_give(library, "hold_in_data", block);
	holder_give(library, "hold_in_bss", was_in_bss(232));
	truth_need(!dlclose(library), "dlclose");
	truth_need(!dlopen("holder_module.so", RTLD_NOW | RTLD_NOLOAD), "it is still loaded");
}

int main(void)
{
	story();
	LEAKS_HEAD(was_in_data, behind_data);
	LEAKS_ARE(LEAK_DEFINITE, was_in_bss);
	leaks_end();
	return 0;
}
