/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap_operand.h"
#include "cli/context.h"
#include "query/spool.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/heap_session.h"
#include "cli/options.h"
#include "process/core_file.h"
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

/* 0: it names no process. */
static pid_t process_of(const char *text)
{
	static const char prefix[] = "process:";
	uint64_t number;
	bool named = !strncmp(text, prefix, strlen(prefix));
	if (!options_whole(named ? text + strlen(prefix) : text, &number) || number > INT_MAX)
		return 0;
	return named || access(text, F_OK) ? (pid_t)number : 0;
}

static bool is_core(const char *path)
{
	char head[64];
	const char *file = path;
	/* What is wrong with it, who opens it says. */
	error_destroy(spool_path(cli_context(), path, &file));
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd >= 0 ? pread(fd, head, sizeof(head), 0) : -1;
	return len > 0 && core_file_is(head, (size_t)len);
}

bool heap_operand_is(const char *text)
{
	return process_of(text) || is_core(text);
}

static struct error *make(struct heap_session *s, enum heap_by by, struct model **ret)
{
	struct error *error = heap_session_open(s);
	if (!error && by == HEAP_BY_OWNER) {
		error = heap_session_survey(s);
		return error ? error
			     : heap_model_make_owners(&s->survey, s->core ? s->core : s->name, ret);
	}
	if (!error)
		error = heap_session_judge(s);
	if (!error && by == HEAP_BY_STACK && !s->recording.joined.recording)
		return error_create(ERROR_INPUT,
			"%s has no recording that says where its blocks were allocated: compare "
			"it by type or owner (--by), with another core or process",
			s->core ? s->core : s->name);
	if (!error) {
		/* The names' settings are the session's. */
		model_set_names_from(s->model, NULL);
		*ret = steal_ptr(s->model);
	}
	return error;
}

struct error *heap_operand_open(const char *text, enum heap_by by, struct model **ret)
{
	_cleanup_(heap_session_close) struct heap_session session;
	heap_session_init(&session);
	session.pid = process_of(text);
	session.core = session.pid ? NULL : text;
	session.no_recording = by == HEAP_BY_TYPE || by == HEAP_BY_OWNER;
	return make(&session, by, ret);
}
