/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools/gperftools#1210, libunwind/libunwind#16: modules come and go under stacks that are
 * being unwound. Shows a crash in a table of a module that is gone, or a wait for the loader's
 * lock.
 */
#include "stress.h"
TRUTH_SITE(site_through_plugin)

static void callback(void *argument)
{
	for (size_t i = 0; i < 3; i++)
		truth_free(site_through_plugin(51 + i));
	(void)argument;
}

static void *body(void *argument)
{
	for (int i = 0; i < 40; i++) {
		void *library = stress_open("libstress_plugin.so", i % 2 ? RTLD_NOW : RTLD_LAZY);
		void (*call)(void (*)(void *), void *) = (void (*)(
			void (*)(void *), void *))stress_symbol(library, "stress_plugin_call");
		void *(*make)(size_t) =
			(void *(*)(size_t))stress_symbol(library, "stress_plugin_make");
		call(callback, NULL);
		free(make(61));
		truth_need(!dlclose(library), "dlclose");
	}
	return argument;
}

int main(void)
{
	stress_threads(4, body, NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
