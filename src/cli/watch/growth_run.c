/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/growth_run.h"

#include "cli/terminal/message.h"
#include "cli/watch/growth_json.h"

struct growth_running {
	const struct growth_request *request;
	struct growth *growth;
	struct growth_before before;
};

static int running_fd(void *subject)
{
	const struct growth_running *running = subject;
	return growth_fd(running->growth);
}

static struct error *running_poll(void *subject, bool *ret_ended)
{
	struct growth_running *running = subject;
	return growth_poll(running->growth, ret_ended);
}

static struct error *running_look(void *subject)
{
	struct growth_running *running = subject;
	return growth_look(running->growth);
}

static struct error *running_add_text(void *subject, struct text *text, const char *time_of_day)
{
	struct growth_running *running = subject;
	return growth_text_add(text, running->growth, running->request->names,
		running->request->top, &running->before, time_of_day);
}

static struct error *running_add_json(void *subject, struct json *json, uint64_t wall_seconds)
{
	struct growth_running *running = subject;
	return growth_json_add(json, running->growth, running->request->names,
		running->request->top, &running->before, wall_seconds);
}

static const struct watch_kind growth_kind = {.fd = running_fd,
	.poll = running_poll,
	.look = running_look,
	.add_text = running_add_text,
	.add_json = running_add_json};

static void start_say(const struct growth_request *request)
{
	const struct watch_intervals *intervals = &request->intervals;
	message("process %d: page faults and changes of mappings are followed", (int)request->pid);
	if (!intervals->json)
		return;
	json_init(intervals->json, intervals->sink.write, intervals->sink.ctx);
	growth_json_begin(intervals->json, (uint64_t)request->pid);
}

static struct error *process_begin(struct growth_running *running)
{
	const struct growth_request *request = running->request;
	struct error *error = growth_open(request->pid, &running->growth);
	if (!error)
		start_say(request);
	if (!error && request->is_spawned)
		error = watch_release(request->pid);
	if (error && request->is_spawned)
		watch_spawn_drop(request->pid);
	return error;
}

struct error *growth_run(const struct growth_request *request)
{
	struct growth_running running = {.request = request};
	bool has_ended;
	struct error *error = process_begin(&running);
	if (!error)
		error = watch_intervals_run(
			&request->intervals, &growth_kind, &running, &has_ended);
	growth_before_deinit(&running.before);
	growth_close(running.growth);
	return error;
}
