/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Manual pages, in the macros of man(7), made of what --help prints: the same table of options and
 * the same words, so that they never differ.
 */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "base/text.h"
#include "cli/command.h"

/* Adds the page of `command`, which is heapwise-NAME(1). */
void manual_add(const struct command *command, struct text *text);

/* Adds the page of the tool, heapwise(1): its commands. */
void manual_add_tool(struct text *text);

#endif
