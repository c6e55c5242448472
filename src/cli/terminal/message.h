/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tool says on stderr: lines that begin with "heapwise: ". */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <stdarg.h>

#include "base/error.h"

void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_v(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Says what went wrong, destroys the error and returns its exit code. */
int message_error(struct error *error);

#endif
