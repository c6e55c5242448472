/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that can be read once: standard input ("-"), pipes, `<(…)` of shells. Readers want to go
 * back and forth, and commands look at a file more than once; so its bytes are copied to a file
 * that has no name, once, for as long as the process lives.
 */
#ifndef CLI_SPOOL_H
#define CLI_SPOOL_H

#include "base/error.h"

/*
 * The path at which the bytes of `path` can be read: itself, unless it is one of these. *ret lives
 * as long as the process, or as `path`. ERROR_INPUT: "-" is a terminal, or reading fails;
 * ERROR_ENVIRONMENT: there is no room for a copy.
 */
struct error *spool_path(const char *path, const char **ret) must_check_;

#endif
