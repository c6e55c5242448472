/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The preload of preload_wraps_system_calls: open and mmap, with an allocation in each.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned calls;

static void *find(const char *name)
{
	char count[16];
	void *volatile block = malloc(99);
	snprintf(count, sizeof count, "%u", ++calls);
	setenv("STRESS_WRAPPED", count, 1);
	free(block);
	return dlsym(RTLD_NEXT, name);
}

int open(const char *path, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
	va_end(rest);
	return ((int (*)(const char *, int, ...))find("open"))(path, flags, mode);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	return ((void *(*)(void *, size_t, int, int, int, off_t))find("mmap"))(
		at, bytes, protection, flags, file, offset);
}
