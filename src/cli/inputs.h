/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that this command reads: none of them may be where it writes. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "base/output_file.h"

/* Remembers the file at `path`, if there is one, under whatever name it is given again. */
void inputs_note(const char *path);

/* NULL, or that `output` would replace one of them. */
struct error *inputs_check(const struct output_file *output) must_check_;

#endif
