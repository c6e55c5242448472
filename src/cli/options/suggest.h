/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may have been meant by an option that there is not. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "base/text.h"
#include "cli/command.h"

/*
 * Adds what is wrong with `word` ("--sampel=3"): of which options it is the beginning, which are
 * near it, whose help has it, or which other command has it; that it takes no value. Nothing is
 * near: only that it is unknown.
 */
void suggest_option(const struct command *command, const char *word, struct text *text);

#endif
