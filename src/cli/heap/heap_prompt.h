/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A prompt for the heap of a core or a process: one verb after the other. The heap is read once;
 * each answer comes from a copy of this process, so that ^C, and what goes wrong, ends it alone.
 */
#ifndef CLI_HEAP_PROMPT_H
#define CLI_HEAP_PROMPT_H

#include "cli/heap/heap_look.h"

/* Reads lines until there are no more, or one says quit. Returns the exit code. */
int heap_prompt_run(struct heap_look *look);

#endif
