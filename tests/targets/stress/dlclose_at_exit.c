/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heaptrack ("dlclose tends to crash" is why its library stays): libraries are closed by exit
 * handlers, and their destructors allocate after most of the process is gone.
 */
#include "stress.h"
TRUTH_SITE(site_at_exit)

static void *library;

static void late(void)
{
	for (size_t i = 0; i < 10; i++)
		truth_free(site_at_exit(19 + i));
	truth_need(!dlclose(library), "dlclose");
	truth_end(TRUTH_PLAIN);
}

int main(void)
{
	library = stress_open("libstress_plugin_outer.so", RTLD_NOW);
	atexit(late);
	return 5;
}
