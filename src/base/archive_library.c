/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/archive_library.h"

#include <assert.h>

#include "base/util.h"

static const char *const names[] = {ARCHIVE_FUNCTIONS(LIBRARY_NAME)};

static_assert(sizeof(struct archive_library) == sizeof(names), "one pointer a name");

struct error *archive_library_load(struct archive_library *ret)
{
	const struct library library = {.file = "libarchive.so.13",
		.package = "libarchive13",
		.names = names,
		.len = ARRAY_SIZE(names)};
	return library_load(&library, ret);
}
