/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stdout is, and what it can show. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* "auto", "always", "never"; false: none of them. */
bool colour_when_parse(const char *text, enum colour_when *ret);

/* AUTO: on a terminal that is not dumb, unless NO_COLOR is set (https://no-color.org). */
bool terminal_has_colour(enum colour_when when);

/* Whether stdout is one. */
bool terminal_is_output(void);

/* Columns of the terminal, else COLUMNS, else 100. */
size_t terminal_width(void);

/* Whether the locale's characters are UTF-8, by LC_ALL, LC_CTYPE and LANG. */
bool terminal_is_utf8(void);

#endif
