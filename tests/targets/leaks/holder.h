/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library holder_module.so beside the program, which is loaded. */
#ifndef TARGETS_LEAKS_HOLDER_H
#define TARGETS_LEAKS_HOLDER_H

#include "leaks.h"
#include <dlfcn.h>
#include <limits.h>

TRUTH_FRAME static void *holder_open(void)
{
	char path[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
	truth_need(length > 0, "/proc/self/exe");
	path[length] = 0;
	strcpy(strrchr(path, '/') + 1, "holder_module.so");
	void *library = dlopen(path, RTLD_NOW);
	truth_need(library != NULL, "holder_module.so");
	leak_loader_allocates = 1;
	return library;
}

/* Has a function of the library hold a block. */
TRUTH_FRAME static void holder_give(void *library, const char *function, void *block)
{
	void (*give)(void *) = (void (*)(void *))dlsym(library, function);
	truth_need(give != NULL, function);
	give(block);
}

#endif
