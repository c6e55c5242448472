/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines for the prompt: edited, completed and remembered on a terminal, plain from elsewhere. */
#ifndef CLI_LINE_EDITOR_H
#define CLI_LINE_EDITOR_H

#include "cli/prompt_state.h"

struct line_editor;

/* `state` must outlive it. NULL: no memory. There is one at a time. */
struct line_editor *line_editor_create(const struct prompt_state *state);
/* Keeps the history. */
void line_editor_destroy(struct line_editor *editor);

/* The next line without its end, which the caller frees; NULL: there are no more. */
char *line_editor_read(struct line_editor *editor);

#endif
