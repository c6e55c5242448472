/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libunwind/libunwind#16, async-profiler/async-profiler#1151, google/tcmalloc#120: a callback of
 * dl_iterate_phdr allocates under the loader's lock while others load and allocate. A recorder that
 * walks modules in its hook deadlocks.
 */
#include "stress.h"
#include <link.h>

TRUTH_SITE(site_in_callback)
TRUTH_SITE(site_beside)

static int callback(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size, (void)data;
	truth_free(site_in_callback(41));
	return 0;
}

static void *walk(void *argument)
{
	for (int i = 0; i < 60; i++)
		dl_iterate_phdr(callback, NULL);
	return argument;
}

static void *load(void *argument)
{
	for (int i = 0; i < 30; i++)
		dlclose(stress_open("libstress_plugin.so", RTLD_NOW));
	return argument;
}

static void *allocate(void *argument)
{
	for (size_t i = 0; i < 1500; i++)
		truth_free(site_beside(33 + i % 7));
	return argument;
}

static void *all(void *argument)
{
	stress_threads(1, load, NULL);
	return argument;
}

int main(void)
{
	pthread_t loader;
	truth_need(!pthread_create(&loader, NULL, all, NULL), "pthread_create");
	stress_threads(2, walk, NULL);
	stress_threads(2, allocate, NULL);
	pthread_join(loader, NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
