/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin of constructor_starts_thread: its constructor has a thread allocate, and waits for it.
 */
#include <pthread.h>
#include <stdlib.h>

unsigned long stress_plugin_made(void);

static unsigned long made;

static void *body(void *argument)
{
	for (size_t i = 0; i < 100; i++) {
		void *volatile block = malloc(20 + i);
		made += block != NULL;
		free(block);
	}
	return argument;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	if (!pthread_create(&thread, NULL, body, NULL))
		pthread_join(thread, NULL);
}

unsigned long stress_plugin_made(void)
{
	return made;
}
