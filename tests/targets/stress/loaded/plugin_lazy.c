/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin of lazy_binding_race: each of its functions is bound when it is first called.
 */
#include <malloc.h>
#include <stdlib.h>

void *stress_plugin_lazy(size_t bytes);

void *stress_plugin_lazy(size_t bytes)
{
	void *volatile first = malloc(bytes);
	void *volatile second = calloc(bytes, 3);
	void *volatile third = memalign(64, bytes);
	first = realloc(first, bytes * 5);
	free(second);
	free(third);
	return first;
}
