/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/growth_run.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/terminal/message.h"
#include "cli/watch/growth_json.h"
#include "cli/watch/watch_json.h"

#define POLL_NS 100000000ull
#define NS_PER_SECOND 1000000000ull

struct growth_running {
	const struct growth_request *request;
	struct growth *growth;
	struct json *json; /* open while it is written */
	struct growth_before before;
	bool is_over, has_ended;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Waits for the kernel or a signal, at most until a time. */
static void kernel_await(struct growth_running *running, uint64_t until_ns)
{
	uint64_t now = now_ns(), left = until_ns > now ? until_ns - now : 0;
	const struct timespec wait = {(time_t)(left / NS_PER_SECOND), (long)(left % NS_PER_SECOND)};
	struct pollfd waited[] = {{.fd = growth_fd(running->growth), .events = POLLIN},
		{.fd = running->request->signals, .events = POLLIN}};
	if (ppoll(waited, ARRAY_SIZE(waited), &wait, NULL) > 0 && waited[1].revents)
		running->is_over = true;
}

static struct error *interval_wait(struct growth_running *running, uint64_t due_ns)
{
	struct error *error = NULL;
	while (!error && !running->is_over && now_ns() < due_ns) {
		uint64_t until = now_ns() + POLL_NS;
		kernel_await(running, min(until, due_ns));
		error = growth_poll(running->growth, &running->has_ended);
		running->is_over |= running->has_ended;
	}
	return error;
}

static struct error *interval_print(struct growth_running *running)
{
	const struct growth_request *request = running->request;
	_cleanup_(text_deinit) struct text text;
	char at[16];
	time_t now = time(NULL);
	struct tm day;
	text_init(&text);
	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&now, &day));
	struct error *error = growth_text_add(
		&text, running->growth, request->names, request->top, &running->before, at);
	if (!error && text.failed)
		error = error_no_memory();
	if (!error)
		running->is_over |= !request->sink.write(request->sink.ctx, text.data, text.len);
	return error;
}

static struct error *interval_show(struct growth_running *running)
{
	struct error *error = growth_look(running->growth);
	if (error)
		return error;
	if (!running->json)
		return interval_print(running);
	error = growth_json_add(running->json, running->growth, running->request->names,
		running->request->top, &running->before, (uint64_t)time(NULL));
	running->is_over |= running->json->failed;
	return error;
}

static void start_say(struct growth_running *running)
{
	const struct growth_request *request = running->request;
	message("process %d: page faults and changes of mappings are followed", (int)request->pid);
	if (!running->json)
		return;
	json_init(running->json, request->sink.write, request->sink.ctx);
	growth_json_begin(running->json, (uint64_t)request->pid);
}

static struct error *intervals_run(struct growth_running *running)
{
	const struct growth_request *request = running->request;
	struct error *error = NULL;
	uint64_t due = now_ns();
	while (!error && !running->is_over) {
		due += request->interval_s * NS_PER_SECOND;
		error = interval_wait(running, due);
		if (!error)
			error = interval_show(running);
		running->is_over |= request->count && running->before.looks >= request->count;
	}
	if (running->json)
		(void)watch_json_end(running->json);
	return error;
}

static struct error *process_begin(struct growth_running *running)
{
	const struct growth_request *request = running->request;
	struct error *error = growth_open(request->pid, &running->growth);
	if (!error)
		start_say(running);
	if (!error && request->is_spawned)
		error = watch_release(request->pid);
	if (error && request->is_spawned)
		watch_spawn_drop(request->pid);
	return error;
}

struct error *growth_run(const struct growth_request *request)
{
	_cleanup_free_ struct json *json = request->writes_json ? malloc(sizeof(*json)) : NULL;
	struct growth_running running = {.request = request, .json = json};
	if (request->writes_json && !json)
		return error_no_memory();
	struct error *error = process_begin(&running);
	if (!error)
		error = intervals_run(&running);
	growth_before_deinit(&running.before);
	growth_close(running.growth);
	return error;
}
