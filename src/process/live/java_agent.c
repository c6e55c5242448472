/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/java_agent.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

#define REPLY_MAX 8192u
/* A JVM listens before it lets agents work; with a slow start that takes seconds. */
#define READY_WAIT_MS 60000
#define READY_LOOK_MS 20

static const struct {
	const char *name;
	size_t offset;
	bool is_flag, is_optional;
} members[] = {
	{"recording", offsetof(struct java_agent_state, is_recording), true, false},
	{"started", offsetof(struct java_agent_state, has_recorded), true, false},
	{"follows_live", offsetof(struct java_agent_state, follows_live), true, false},
	{"id", offsetof(struct java_agent_state, id), false, true},
	{"interval", offsetof(struct java_agent_state, interval), false, false},
	{"depth", offsetof(struct java_agent_state, depth), false, false},
	{"samples", offsetof(struct java_agent_state, samples), false, false},
	{"lost", offsetof(struct java_agent_state, lost), false, false},
	{"cut", offsetof(struct java_agent_state, cut), false, false},
	{"collections", offsetof(struct java_agent_state, collections), false, false},
	{"live", offsetof(struct java_agent_state, live), false, false},
	{"memory", offsetof(struct java_agent_state, memory), false, false},
	{"recorded_ns", offsetof(struct java_agent_state, recorded_ns), false, false},
	{"early", offsetof(struct java_agent_state, early), false, true},
	{"early_bytes", offsetof(struct java_agent_state, early_bytes), false, true},
	{"all_bytes", offsetof(struct java_agent_state, all_bytes), false, true},
	{"waiting", offsetof(struct java_agent_state, waiting), false, true},
	{"waiting_bytes", offsetof(struct java_agent_state, waiting_bytes), false, true},
	{"young_bytes", offsetof(struct java_agent_state, young_bytes), false, true},
};

/* The number of a line "name=123"; false: there is none. */
static bool member_read(const char *text, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) != 0 || line[len] != '=')
			continue;
		char *end;
		errno = 0;
		unsigned long long value = strtoull(line + len + 1, &end, 10);
		bool is_number = line[len + 1] >= '0' && line[len + 1] <= '9' && !errno;
		*ret = value;
		return is_number && (!*end || *end == '\n');
	}
	return false;
}

bool java_agent_is_later(const char *text)
{
	return !strncmp(text, "later\n", 6);
}

struct error *java_agent_parse(const char *text, struct java_agent_state *ret)
{
	struct java_agent_state state = {.is_recording = false};
	if (!strncmp(text, "error\n", 6) || java_agent_is_later(text))
		return error_create(ERROR_ENVIRONMENT, "%.*s",
			(int)min(strcspn(text + 6, "\n"), (size_t)500), text + 6);
	if (strncmp(text, "ok\n", 3) != 0)
		return error_create(ERROR_ENVIRONMENT, "the agent's answer can't be understood");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		uint64_t value = 0;
		char *member = (char *)&state + members[i].offset;
		if (!member_read(text + 3, members[i].name, &value) && !members[i].is_optional)
			return error_create(ERROR_ENVIRONMENT,
				"the agent's answer has no '%s': it is of another version of "
				"heapwise; restart the JVM to use this one",
				members[i].name);
		if (members[i].is_flag)
			*(bool *)member = value != 0;
		else
			memcpy(member, &value, sizeof(value));
	}
	*ret = state;
	return NULL;
}

/* The file "reply", with a NUL after it. */
static struct error *reply_read(const struct java_exchange *exchange, char ret[REPLY_MAX + 1])
{
	size_t len = 0;
	_cleanup_close_ int fd = -1;
	struct error *error = java_exchange_read(exchange, "reply", &fd);
	if (error)
		return error;
	for (ssize_t n; len < REPLY_MAX && (n = read(fd, ret + len, REPLY_MAX - len)) > 0;)
		len += (size_t)n;
	ret[len] = '\0';
	return NULL;
}

/* The JVM's answer to `load`: "return code: 0" (9 and later), or 0 alone. */
static bool is_loaded(const char *answer)
{
	const char *code = strstr(answer, "return code: ");
	return code ? !strncmp(code + 13, "0", 1) : !strcmp(answer, "0\n");
}

/* Has the JVM load the agent, once more if it has it: each time it obeys the words. */
static struct error *agent_load(const struct java_vm *vm, const char *place, const char *words)
{
	_cleanup_free_ char *answer = NULL;
	const char *const request[4] = {"load", place, "true", words};
	size_t len;
	struct error *error = java_vm_ask(vm, request, 1u << 20, &answer, &len);
	if (error || is_loaded(answer))
		return error;
	return error_create(ERROR_ENVIRONMENT, "the JVM %d can't load the agent %s: %.*s",
		(int)vm->pid, place, (int)min(strcspn(answer, "\n"), (size_t)300), answer);
}

/* Asks until the JVM is ready, or was for too long not. */
static struct error *agent_await(const struct java_vm *vm, const struct java_exchange *exchange,
	const char *place, const char *words, struct java_agent_state *ret)
{
	const struct timespec pause = {.tv_nsec = READY_LOOK_MS * 1000000L};
	for (int waited = 0;; waited += READY_LOOK_MS) {
		char text[REPLY_MAX + 1];
		unlinkat(exchange->fd, "reply", 0);
		struct error *error = agent_load(vm, place, words);
		if (!error)
			error = reply_read(exchange, text);
		if (error)
			return error;
		if (!java_agent_is_later(text) || waited >= READY_WAIT_MS)
			return error_prefix(java_agent_parse(text, ret), "JVM %d", (int)vm->pid);
		nanosleep(&pause, NULL);
	}
}

struct error *java_agent_ask(const struct java_vm *vm, const char *library,
	const struct java_exchange *exchange, const char *options, struct java_agent_state *ret)
{
	_cleanup_free_ char *place = NULL, *words = NULL;
	struct error *error = java_library_place(vm, library, &place);
	if (error)
		return error;
	if (asprintf(&words, "%s,reply=%s/reply", options, exchange->inner) < 0) {
		words = NULL;
		return error_no_memory();
	}
	return agent_await(vm, exchange, place, words, ret);
}
