/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the stress targets share: threads that start together, plugins beside the executable.
 * truth.h keeps the figures.
 */
#ifndef TARGETS_STRESS_H
#define TARGETS_STRESS_H

#include "truth.h"
#include <dlfcn.h>
#include <pthread.h>

enum { STRESS_THREADS_MAX = 64 };

/* Runs `count` threads of `body` side by side, to their end. */
TRUTH_UNUSED static void stress_threads(size_t count, void *(*body)(void *), void *argument)
{
	pthread_t threads[STRESS_THREADS_MAX];
	truth_need(count <= STRESS_THREADS_MAX, "threads");
	for (size_t i = 0; i < count; i++)
		truth_need(!pthread_create(&threads[i], NULL, body, argument), "pthread_create");
	for (size_t i = 0; i < count; i++)
		truth_need(!pthread_join(threads[i], NULL), "pthread_join");
}

/* dlopen of a file in the executable's folder; NULL if that fails. */
TRUTH_UNUSED static void *stress_try_open(const char *file, int flags)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 128);
	truth_need(length > 0, "exe");
	path[length] = 0;
	strcpy(strrchr(path, '/') + 1, file);
	return dlopen(path, flags);
}

TRUTH_UNUSED static void *stress_open(const char *file, int flags)
{
	void *library = stress_try_open(file, flags);
	truth_need(library != NULL, "dlopen");
	return library;
}

TRUTH_UNUSED static void *stress_symbol(void *library, const char *name)
{
	void *symbol = dlsym(library, name);
	truth_need(symbol != NULL, "dlsym");
	return symbol;
}

#endif
