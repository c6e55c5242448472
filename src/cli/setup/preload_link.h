/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path without blanks and colons for a library whose own path has some: ld.so(8) ends the entries
 * of LD_PRELOAD at both, and knows no way to quote them.
 *
 * It is a symbolic link to the library's folder, in a folder of this user's below /tmp: programs
 * find it by its path alone, so that it holds across fork, exec and a change of user, and for as
 * long as they run, as the library's own path would. A folder of the session would end before the
 * last program that has the variable, whose children ld.so would then warn; $XDG_RUNTIME_DIR ends
 * with the login; a path below /proc ends with a process.
 */
#ifndef CLI_PRELOAD_LINK_H
#define CLI_PRELOAD_LINK_H

#include <stdbool.h>

#include "base/error.h"

/* Whether LD_PRELOAD can name the library by this path. */
bool preload_can_name(const char *path);

/*
 * Makes the link, or finds it if it was made before; links of this user's that lead nowhere any
 * more are removed. `library` is an absolute path without links in it. *ret: the library's path
 * through the link, which the caller frees. ERROR_ENVIRONMENT: there is no place for it.
 */
struct error *preload_link(const char *library, char **ret) must_check_;

#endif
