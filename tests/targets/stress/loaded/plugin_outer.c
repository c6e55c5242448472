/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin of constructors_nested: loads another in its constructor, closes it in its destructor.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *inner;
static void *volatile kept;

__attribute__((constructor)) static void begin(void)
{
	Dl_info self;
	char path[4096];
	kept = malloc(91);
	if (!dladdr((void *)(size_t)begin, &self) || strlen(self.dli_fname) > 4000)
		abort();
	strcpy(path, self.dli_fname);
	strcpy(strrchr(path, '/') + 1, "libstress_plugin.so");
	inner = dlopen(path, RTLD_NOW);
	if (!inner)
		abort();
}

__attribute__((destructor)) static void end(void)
{
	dlclose(inner);
	free(kept);
}
