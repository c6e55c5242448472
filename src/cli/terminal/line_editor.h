/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines for a prompt: edited, completed and remembered on a terminal, plain from elsewhere. */
#ifndef CLI_LINE_EDITOR_H
#define CLI_LINE_EDITOR_H

#include "base/error.h"
#include <stddef.h>

struct line_editor;

/* What TAB may make of a word: the n-th one, from 0, of all that could stand in the line at
 * `start`, whatever the word begins with; NULL: there are no more. */
struct line_completion {
	void *context;
	const char *(*candidate)(void *context, const char *line, size_t start, size_t n);
};

/* `completion` must outlive it. There is one at a time. ERROR_ENVIRONMENT: on a terminal it needs
 * libedit, which can't be loaded. */
struct error *line_editor_create(
	const struct line_completion *completion, struct line_editor **ret) must_check_;
/* Keeps the history. */
void line_editor_destroy(struct line_editor *editor);

/* The next line without its end, which the caller frees; NULL: there are no more. */
char *line_editor_read(struct line_editor *editor);

#endif
