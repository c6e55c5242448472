/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc/jemalloc#585: many threads bind the allocation functions of a library for the first time
 * at once, inside the dynamic linker.
 */
#include "stress.h"
static pthread_barrier_t barrier;
static void *(*make)(size_t);

static void *body(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (size_t i = 1; i < 20; i++)
		free(make(i));
	return argument;
}

int main(void)
{
	for (int i = 0; i < 8; i++) {
		void *library = stress_open("libstress_plugin_lazy.so", RTLD_LAZY);
		make = (void *(*)(size_t))stress_symbol(library, "stress_plugin_lazy");
		pthread_barrier_init(&barrier, NULL, 6);
		stress_threads(6, body, NULL);
		dlclose(library);
	}
	truth_say("# end");
	return 0;
}
