/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion scripts for shells, made of the table of commands and their options. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>

#include "base/text.h"

/* Adds the script for "bash", "zsh" or "fish"; false: it is another shell. */
bool completion_add(const char *shell, struct text *text);

#endif
