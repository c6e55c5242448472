/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static struct error *not_loaded(const struct library *library)
{
	const char *why = dlerror();
	return error_create(ERROR_ENVIRONMENT, "cannot load %s (package %s): %s", library->file,
		library->package, why ? why : "unknown reason");
}

struct error *library_load(const struct library *library, void *ret_functions)
{
	void *handle = dlopen(library->file, RTLD_NOW);
	if (!handle)
		return not_loaded(library);
	for (size_t i = 0; i < library->len; i++) {
		void *function = dlsym(handle, library->names[i]);
		if (!function)
			return not_loaded(library);
		/* POSIX wants pointers to functions and to objects to be alike. */
		memcpy((char *)ret_functions + i * sizeof(function), &function, sizeof(function));
	}
	return NULL;
}
