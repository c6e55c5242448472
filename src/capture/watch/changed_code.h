/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of a process that are not as their file has them: `heapwise attach`, or another tool,
 * has put a jump there. The kernel takes the instruction of a probe from the file, executes that,
 * and goes on after it: in the middle of the jump. That ends the process.
 */
#ifndef CAPTURE_CHANGED_CODE_H
#define CAPTURE_CHANGED_CODE_H

#include "capture/watch/watch_modules.h"

/*
 * Compares what a probe in each of a file's functions would rest on with the process. Breakpoints
 * don't count: the kernel knows its own. ERROR_INPUT: one is changed, so none may be put there.
 */
struct error *changed_code_refuse(const struct module_table *table, size_t file) must_check_;

#endif
