/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/heap_operand.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "process/core_file.h"
#include "query/heap_session.h"
#include "query/spool.h"
#include "sources/heap_model.h"

bool heap_by_parse(const char *text, enum heap_by *ret)
{
	static const char *const names[] = {"type", "owner", "stack"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum heap_by)i;
			return true;
		}
	}
	return false;
}

pid_t heap_operand_process(const char *text)
{
	static const char prefix[] = "process:";
	uint64_t number;
	bool named = !strncmp(text, prefix, strlen(prefix));
	if (!number_whole(named ? text + strlen(prefix) : text, &number) || number > INT_MAX)
		return 0;
	return named || access(text, F_OK) ? (pid_t)number : 0;
}

static bool is_core(struct query_context *context, const char *path)
{
	char head[64];
	const char *file = path;
	/* What is wrong with it, who opens it says. */
	error_destroy(spool_path(context, path, &file));
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd >= 0 ? pread(fd, head, sizeof(head), 0) : -1;
	return len > 0 && core_file_is(head, (size_t)len);
}

bool heap_operand_is(struct query_context *context, const char *text)
{
	return heap_operand_process(text) || is_core(context, text);
}

static struct error *heap_operand_make(struct heap_session *s, enum heap_by by, struct model **ret)
{
	struct error *error = heap_session_open(s);
	if (!error && by == HEAP_BY_OWNER) {
		error = heap_session_scan(s);
		return error ? error : heap_model_make_owners(&s->scan, heap_session_name(s), ret);
	}
	if (!error)
		error = heap_session_find_leaks(s);
	if (!error && by == HEAP_BY_STACK && !s->recording.joined.recording)
		return error_create(ERROR_INPUT,
			"%s has no recording with the call stacks of its blocks: compare it by "
			"type or owner (--by), with another core or process",
			heap_session_name(s));
	if (!error) {
		/* The names' settings are the session's. */
		model_set_names_from(s->model, NULL);
		*ret = steal_ptr(s->model);
	}
	return error;
}

struct error *heap_operand_open(
	struct query_context *context, const char *text, enum heap_by by, struct model **ret)
{
	_cleanup_(heap_session_close) struct heap_session session;
	heap_session_init(&session, context);
	session.pid = heap_operand_process(text);
	session.core = session.pid ? NULL : text;
	session.no_recording = by == HEAP_BY_TYPE || by == HEAP_BY_OWNER;
	return heap_operand_make(&session, by, ret);
}
