/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memray and bytehound assume one libc: here a second one is loaded into a namespace of its own
 * (dlmopen), with a malloc of its own that none of the first sees.
 */
#include "stress.h"
TRUTH_SITE(site_in_first)

int main(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 128);
	truth_need(length > 0, "exe");
	path[length] = 0;
	strcpy(strrchr(path, '/') + 1, "libstress_plugin.so");
	for (int i = 0; i < 3; i++) {
		void *library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
		truth_need(library != NULL, "dlmopen");
		void *(*make)(size_t) =
			(void *(*)(size_t))stress_symbol(library, "stress_plugin_make");
		truth_need(make(71) != NULL, "make");
		truth_free(site_in_first(71));
		truth_need(!dlclose(library), "dlclose");
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
