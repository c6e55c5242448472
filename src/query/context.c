/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "query/bundles.h"
#include "query/inputs.h"
#include "query/spool.h"

struct error *query_context_set_program(struct query_context *context, const char *program)
{
	struct stat st;
	if (program && (stat(program, &st) || !S_ISREG(st.st_mode) || access(program, R_OK)))
		return error_create(ERROR_USAGE, "%s: no file that can be read", program);
	context->program = program;
	return NULL;
}

void query_context_init(struct query_context *context, const struct query_listener *listener)
{
	*context = (struct query_context){.task = NULL};
	if (listener)
		context->listener = *listener;
}

void query_context_deinit(struct query_context *context)
{
	bundles_forget(context);
	spool_forget(context);
	inputs_forget(context);
}

struct error *query_context_check(const struct query_context *context)
{
	const volatile sig_atomic_t *stop = context->listener.stop;
	return stop && *stop ? error_create(ERROR_ENVIRONMENT,
				       "interrupted by SIG%s: nothing is shown; the process runs "
				       "on as before",
				       sigabbrev_np(*stop))
			     : NULL;
}

void query_note(struct query_context *context, const char *format, ...)
{
	const struct query_listener *listener = &context->listener;
	_cleanup_free_ char *text = NULL;
	va_list args;
	if (!listener->note)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	listener->note(listener->ctx, text ? text : "a note is missing: out of memory");
}

static void show_progress(const struct query_context *context)
{
	const struct query_listener *listener = &context->listener;
	if (listener->progress)
		listener->progress(listener->ctx, context->task ? context->task->what : NULL);
}

void query_task_begin(
	struct query_context *context, struct query_task *task, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	/* A long name is cut off. */
	(void)vsnprintf(task->what, sizeof(task->what), format, args);
	va_end(args);
	task->outer = context->task;
	context->task = task;
	show_progress(context);
}

void query_task_end(struct query_context *context, struct query_task *task)
{
	context->task = task->outer;
	show_progress(context);
}
