/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Never written to: every function here knows it by its address. */
static const struct error no_memory = {ERROR_ENVIRONMENT, (char *)"out of memory"};

struct error *error_no_memory(void)
{
	return (struct error *)(uintptr_t)&no_memory;
}

/* Takes `message`, which may be NULL. */
static struct error *error_wrap(enum error_code code, char *message)
{
	struct error *error = message ? malloc(sizeof(*error)) : NULL;
	if (!error) {
		free(message);
		return error_no_memory();
	}
	error->code = code;
	error->message = message;
	return error;
}

static char *format_message(const char *format, va_list args)
{
	char *message;
	return vasprintf(&message, format, args) < 0 ? NULL : message;
}

/* "HEAD: TAIL". Takes `head`, which may be NULL. */
static char *join_texts(char *head, const char *tail)
{
	char *joined = NULL;
	if (head && asprintf(&joined, "%s: %s", head, tail) < 0)
		joined = NULL;
	free(head);
	return joined;
}

struct error *error_create(enum error_code code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *message = format_message(format, args);
	va_end(args);
	return error_wrap(code, message);
}

struct error *error_errno(enum error_code code, int err, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *message = format_message(format, args);
	va_end(args);
	char reason[128];
	return error_wrap(code, join_texts(message, strerror_r(err, reason, sizeof(reason))));
}

struct error *error_prefix(struct error *error, const char *format, ...)
{
	if (!error || error == &no_memory)
		return error;
	va_list args;
	va_start(args, format);
	char *joined = join_texts(format_message(format, args), error->message);
	va_end(args);
	/* Without memory the shorter message is still the better one. */
	if (joined) {
		free(error->message);
		error->message = joined;
	}
	return error;
}

void error_destroy(struct error *error)
{
	if (!error || error == &no_memory)
		return;
	free(error->message);
	free(error);
}
