/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugin two of dlopen_loop: one function that allocates. */
#include <stdlib.h>

void *plugin_two_site(size_t bytes);

void *plugin_two_site(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}
