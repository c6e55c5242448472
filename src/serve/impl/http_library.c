/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/impl/http_library.h"

#include <assert.h>

#include "base/util.h"

static const char *const names[] = {HTTP_FUNCTIONS(LIBRARY_NAME)};

static_assert(sizeof(struct http_library) == sizeof(names), "one pointer a name");

struct error *http_library_load(struct http_library *ret)
{
	const struct library library = {.file = "libmicrohttpd.so.12",
		.package = "libmicrohttpd12",
		.names = names,
		.len = ARRAY_SIZE(names)};
	return library_load(&library, ret);
}
