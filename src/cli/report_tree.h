/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings, or a folder of them: the table of processes. Part of heapwise report. */
#ifndef CLI_REPORT_TREE_H
#define CLI_REPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the recordings, and those of folders (*.hpw), says on stderr what can't be read, and writes
 * the table, through a pager if that is wanted. Returns the exit code.
 */
int report_tree(char *const *paths, size_t count, bool json, bool paged);

#endif
