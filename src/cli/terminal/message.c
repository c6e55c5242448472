/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/terminal/progress.h"

/* Names in it are from outside: nothing of them but its own ends of lines moves a terminal. */
static bool add_lines(struct text *text, char *words)
{
	for (char *line = words, *end; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		text_add_shown(text, line, SIZE_MAX);
		text_add_char(text, '\n');
	}
	return !text->failed;
}

void message_v(const char *format, va_list args)
{
	_cleanup_(text_deinit) struct text text;
	_cleanup_free_ char *words = NULL;
	va_list again;
	va_copy(again, args);
	text_init(&text);
	if (vasprintf(&words, format, args) < 0)
		words = NULL;
	bool ready = words && add_lines(&text, words);
	progress_hide();
	flockfile(stderr);
	if (ready) { /* in one piece: a recorded program may write, too */
		fprintf(stderr, "heapwise: %s", text.data);
	} else { /* there is no memory left */
		fputs("heapwise: ", stderr);
		vfprintf(stderr, format, again);
		fputc('\n', stderr);
	}
	funlockfile(stderr);
	va_end(again);
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
