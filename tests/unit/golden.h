/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts beside the files in tests/data/golden that hold what they should be. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "lib/tap.h"

/* name: of the file, in tests/data/golden. With HEAPWISE_GOLDEN=update it is rewritten instead. */
static inline void check_golden(const char *name, const char *is)
{
	const char *root = getenv("HW_SOURCE_DIR");
	char path[4096];
	snprintf(path, sizeof(path), "%s/tests/data/golden/%s", root ? root : ".", name);
	const char *golden = getenv("HEAPWISE_GOLDEN");
	if (golden && strcmp(golden, "update") == 0) {
		_cleanup_fclose_ FILE *file = fopen(path, "w");
		CHECK(file && fputs(is, file) >= 0);
		return;
	}
	_cleanup_free_ uint8_t *expected = NULL;
	size_t len;
	CHECK_OK(read_file(path, 1 << 20, &expected, &len));
	if (strcmp((const char *)expected, is) != 0)
		tap_fail("%s differs (HEAPWISE_GOLDEN=update rewrites it); it is now:\n%s", path,
			is);
}

#endif
