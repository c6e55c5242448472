/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc/jemalloc#2025 (dlopen deadlocks while profiling): a constructor run by dlopen, so under
 * the loader's lock, starts a thread that allocates, and waits for it.
 */
#include "stress.h"
int main(void)
{
	for (int i = 0; i < 20; i++) {
		void *library = stress_open("libstress_plugin_thread.so", RTLD_NOW);
		unsigned long (*made)(void) =
			(unsigned long (*)(void))stress_symbol(library, "stress_plugin_made");
		truth_need(made() == 100, "made");
		truth_need(!dlclose(library), "dlclose");
	}
	truth_say("20 times 100");
	truth_end(TRUTH_PLAIN);
	return 0;
}
