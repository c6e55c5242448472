/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin of deepbind: whose stress_identity() is called is the question. It allocates on the
 * way.
 */
#include <stdlib.h>

int stress_identity(void);
int stress_ask(void);

int stress_identity(void)
{
	return 2;
}

int stress_ask(void)
{
	void *volatile block = malloc(83);
	free(block);
	return stress_identity();
}
