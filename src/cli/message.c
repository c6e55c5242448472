/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/message.h"

#include <stdio.h>

#include "cli/progress.h"

void message_v(const char *format, va_list args)
{
	progress_hide();
	flockfile(stderr);
	fputs("heapwise: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void message(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	message_v(format, args);
	va_end(args);
}

int message_error(struct error *error)
{
	int code = error->code;
	message("%s", error->message);
	error_destroy(error);
	return code;
}
