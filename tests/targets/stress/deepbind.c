/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heaptrack takes RTLD_DEEPBIND away from dlopen: the library then calls the program's function
 * instead of its own.
 */
#include "stress.h"
int stress_identity(void);

__attribute__((visibility("default"))) int stress_identity(void)
{
	return 1;
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		int flags = RTLD_NOW | (i ? RTLD_DEEPBIND : 0);
		void *library = stress_open("libstress_plugin_deep.so", flags);
		int (*ask)(void) = (int (*)(void))stress_symbol(library, "stress_ask");
		truth_say("%s: %d", i ? "deep" : "plain", ask());
		truth_need(!dlclose(library), "dlclose");
	}
	truth_say("# end");
	return 0;
}
