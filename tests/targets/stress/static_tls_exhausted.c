/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc/jemalloc#937, #1237, #1249, microsoft/mimalloc#147: what a preload takes of the space
 * for thread-local variables is missing when the program loads a library that needs it.
 */
#include "stress.h"
int main(void)
{
	static const char *const files[] = {"libstress_plugin_tls_128.so",
		"libstress_plugin_tls_384.so", "libstress_plugin_tls_640.so",
		"libstress_plugin_tls_1200.so"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		void *library = stress_try_open(files[i], RTLD_NOW);
		truth_say("%s: %s", files[i], library ? "loaded" : "refused");
		if (library) {
			char *(*touch)(void) =
				(char *(*)(void))stress_symbol(library, "stress_plugin_tls");
			*touch() = 1;
		}
	}
	truth_say("# end");
	return 0;
}
