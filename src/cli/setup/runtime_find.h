/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libheapwise-rt.so is. The libraries of --as stand beside it: cli/options/shims.h. */
#ifndef CLI_RUNTIME_FIND_H
#define CLI_RUNTIME_FIND_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Finds the library, which stands in a fixed place relative to the command, built or installed.
 * *ret is a path that LD_PRELOAD can carry, through a link if its own has blanks or colons
 * (preload_link.h). The caller frees it. ERROR_ENVIRONMENT: it is not there, or no link to it can
 * be made.
 */
struct error *runtime_find(char **ret) must_check_;

/* Whether the path is one through such a link. */
bool runtime_is_linked(const char *path);

#endif
