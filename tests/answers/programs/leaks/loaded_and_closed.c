/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads two libraries and unloads them: the loader keeps books of its own, which it points into.
 *
 * Truth: the program leaks nothing.
 */
#include <dlfcn.h>
#include <stddef.h>

int main(void)
{
	void *z = dlopen("libz.so.1", RTLD_NOW), *m = dlopen("libm.so.6", RTLD_NOW);
	if (!m)
		return 1;
	if (z)
		dlclose(z);
	dlclose(m);
	return 0;
}
