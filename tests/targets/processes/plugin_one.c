/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugin one of dlopen_loop: one function that allocates. */
#include <stdlib.h>

void *plugin_one_site(size_t bytes);

void *plugin_one_site(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}
