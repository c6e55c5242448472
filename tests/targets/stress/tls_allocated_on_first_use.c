/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scylladb/seastar#2247, async-profiler/async-profiler#1162: the first use of a loaded library's
 * thread-local variables allocates, in __tls_get_addr, and a hook that has such variables comes
 * round to itself.
 */
#include "stress.h"
static char *(*touch)(void);

static void *body(void *argument)
{
	char *space = touch();
	for (size_t i = 0; i < 60000; i += 4096)
		space[i] = 1;
	free(malloc(53));
	return argument;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		void *library = stress_open("libstress_plugin_tls_dynamic.so", RTLD_NOW);
		touch = (char *(*)(void))stress_symbol(library, "stress_plugin_tls_dynamic");
		stress_threads(6, body, NULL);
		truth_need(!dlclose(library), "dlclose");
	}
	truth_say("# end");
	return 0;
}
