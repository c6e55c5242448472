/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads current.so of its folder, has its entry() allocate and unloads it, once for each argument:
 * before each time the file of that name is made a link to the argument. With -DPLUGIN it is such a
 * library, whose blocks are of PLUGIN bytes.
 */
#include <stdlib.h>

#ifdef PLUGIN
static void *volatile kept;

void entry(void)
{
	kept = malloc(PLUGIN);
}
#else
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		unlink("current.so");
		if (link(argv[i], "current.so"))
			return 2;
		void *library = dlopen("./current.so", RTLD_NOW);
		void (*entry)(void) = library ? (void (*)(void))dlsym(library, "entry") : NULL;
		if (!entry)
			return 3;
		entry();
		dlclose(library);
	}
	return 0;
}
#endif
