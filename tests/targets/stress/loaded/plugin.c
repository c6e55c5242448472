/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stress targets' plugin: allocates in its constructor, by a function, and gives all back in
 * its destructor.
 */
#include <stdlib.h>

void *stress_plugin_make(size_t bytes);
void stress_plugin_call(void (*callback)(void *), void *argument);

static void *volatile kept;

__attribute__((constructor)) static void begin(void)
{
	kept = malloc(77);
}

__attribute__((destructor)) static void end(void)
{
	free(kept);
}

void *stress_plugin_make(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}

void stress_plugin_call(void (*callback)(void *), void *argument)
{
	callback(argument);
	__asm__ volatile("" ::: "memory");
}
