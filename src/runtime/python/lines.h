/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: Python code runs while functions are traced (`run --line-rss`); with the interpreter's
 * lock. May touch: the interpreter, by its public functions; /proc/self/status; events.
 *
 * Reads the resident size of the process before and after each line of chosen functions. A trace
 * function in C is installed for the main thread, and for each thread that Python's `threading`
 * starts. In frames of other functions it asks for no lines. A program that installs a trace
 * function of its own (sys.settrace: debuggers, coverage) replaces it.
 */
#ifndef RUNTIME_PYTHON_LINES_H
#define RUNTIME_PYTHON_LINES_H

#include "runtime/python/python.h"

/* Looks for what it needs of the interpreter, which is this object. */
void rt_python_lines_prepare(const struct link_map *object);

/* Begins, in the pending call, in which frames have proved to be read right. Returns false if the
 * interpreter does not allow it. `none`: its None. */
bool rt_python_lines_begin(void *none);

#endif
