/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does what `heapwise watch` was asked for: prints at intervals, or records. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "cli/watch/growth_run.h"
#include "cli/watch/watch_json.h"
#include "cli/watch/watch_request.h"
#include "cli/watch/watch_words.h"

/* Allocations as a kind of watching, of a process or of the kernel. */
struct blocks_running {
	struct watch_request *request;
	struct watch *watch;
	struct watch_before before;
};

static int running_fd(void *subject)
{
	const struct blocks_running *running = subject;
	return watch_fd(running->watch);
}

static struct error *running_poll(void *subject, bool *ret_ended)
{
	struct blocks_running *running = subject;
	return watch_poll(running->watch, ret_ended);
}

static struct error *running_look(void *subject)
{
	struct blocks_running *running = subject;
	struct watch_request *request = running->request;
	uint64_t older_ns = request->shown.older_ms * 1000000u;
	struct error *error = request->verifies
				      ? watch_verify_look(&request->verify, running->watch,
						(pid_t)request->pid, older_ns)
				      : watch_look(running->watch, older_ns);
	if (!error && request->watch.is_kernel)
		error = watch_names_read_kernel(&request->names);
	return error;
}

static struct error *running_add_text(void *subject, struct text *text, const char *time_of_day)
{
	struct blocks_running *running = subject;
	return watch_text_add(text, running->watch, &running->request->names,
		&running->request->shown, &running->before, time_of_day);
}

static struct error *running_add_json(void *subject, struct json *json, uint64_t wall_seconds)
{
	struct blocks_running *running = subject;
	return watch_json_add(json, running->watch, &running->request->names,
		&running->request->shown, &running->before, wall_seconds);
}

static const struct watch_kind blocks_kind = {.fd = running_fd,
	.poll = running_poll,
	.look = running_look,
	.add_text = running_add_text,
	.add_json = running_add_json};

static struct error *blocks_run(struct watch_request *request, struct watch *watch)
{
	struct blocks_running running = {.request = request, .watch = watch};
	bool has_ended;
	struct error *error =
		watch_intervals_run(&request->intervals, &blocks_kind, &running, &has_ended);
	if (!error && has_ended)
		message("process %" PRIu64 " has ended: the last figures are what was left then",
			request->pid);
	stack_bytes_deinit(&running.before.first);
	stack_bytes_deinit(&running.before.last);
	return error;
}

/* Says so if frames have no names. */
static struct error *kernel_names_say(struct watch_request *request)
{
	struct error *error = watch_names_read_kernel(&request->names);
	if (!error && kernel_symbols_are_hidden(request->names.kernel))
		message("the kernel shows no addresses of its functions to this process "
			"(/proc/kallsyms; it takes CAP_SYSLOG, or sysctl kernel.kptr_restrict=0 "
			"and kernel.perf_event_paranoid of at most 1): frames are addresses");
	return error;
}

static void probes_say(const struct watch_request *request, const struct watch *watch)
{
	_cleanup_(text_deinit) struct text text;
	size_t functions, files;
	text_init(&text);
	watch_probes(watch, &functions, &files);
	if (request->watch.is_kernel) {
		message("the kernel's %s: %zu tracepoints are followed, on the whole machine",
			request->watch.is_percpu ? "per-CPU memory" : "objects and pages",
			functions);
		return;
	}
	text_add_counted(&text, functions, "function", "functions");
	text_add(&text, " in ");
	text_add_counted(&text, files, "file", "files");
	message("process %" PRIu64 ": %s probed (%s)", request->pid,
		text.failed ? "functions" : text.data, watch_way_name(watch));
}

static struct error *start_say(struct watch_request *request, const struct watch *watch)
{
	const struct watch_intervals *intervals = &request->intervals;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	probes_say(request, watch);
	if (intervals->json) {
		json_init(intervals->json, intervals->sink.write, intervals->sink.ctx);
		watch_json_begin(intervals->json, watch, request->pid, &request->shown);
		return NULL;
	}
	if (request->watch.is_kernel)
		text_add(&text, "Attaching to kernel allocators, Ctrl+C to quit.\n");
	else
		text_printf(&text, "Attaching to pid %" PRIu64 ", Ctrl+C to quit.\n", request->pid);
	if (text.failed)
		return error_no_memory();
	(void)intervals->sink.write(intervals->sink.ctx, text.data, text.len);
	return NULL;
}

static void trace_print(void *context, const struct watch_news *news)
{
	const struct sink *sink = context;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "%.6f thread %u: ", (double)news->time_ns / 1e9, news->thread);
	if (news->is_free)
		text_printf(&text, "free entered, address = %" PRIx64 ", size = %" PRIu64 "\n",
			news->address, news->size);
	else
		text_printf(&text, "alloc exited, size = %" PRIu64 ", result = %" PRIx64 "\n",
			news->size, news->address);
	if (!text.failed)
		(void)sink->write(sink->ctx, text.data, text.len);
}

static void settings_complete(struct watch_request *request)
{
	if (request->all || request->watch.is_kernel)
		request->watch.mean_bytes = 0;
	request->shown.mean_bytes = request->watch.mean_bytes;
	request->shown.is_sampled = request->watch.mean_bytes || request->watch.every > 1;
	if (request->traces) {
		request->watch.on_event = trace_print;
		request->watch.context = &request->intervals.sink;
	}
}

static struct error *growth_follow(struct watch_request *request, bool is_ours)
{
	const struct growth_request wanted = {.pid = (pid_t)request->pid,
		.top = request->shown.top,
		.is_spawned = is_ours,
		.names = &request->names,
		.intervals = request->intervals};
	return growth_run(&wanted);
}

/* `is_ours`: the process waits to be released. */
static struct error *process_watch(struct watch_request *request, bool is_ours)
{
	_cleanup_(watch_cleanup) struct watch *watch = NULL;
	request->watch.pid = (pid_t)request->pid;
	if (request->growth)
		return growth_follow(request, is_ours);
	struct error *error = watch_open(&request->watch, &watch);
	if (error && request->watch.is_kernel)
		error = error_prefix(error,
			"the kernel's own allocations can't be watched ('heapwise watch PID' "
			"watches a process)");
	if (!error && request->shown.shows_blocks)
		watch_keep_blocks(watch);
	if (!error && request->verifies) {
		watch_verify_init(&request->verify, watch);
		request->shown.verify = &request->verify;
	}
	if (!error && request->watch.is_kernel)
		error = kernel_names_say(request);
	if (!error)
		error = start_say(request, watch);
	if (!error && is_ours)
		error = watch_release(request->watch.pid);
	if (error && is_ours)
		watch_spawn_drop(request->watch.pid);
	return error ? error : blocks_run(request, watch);
}

static struct error *command_watch_it(struct watch_request *request)
{
	struct watch_words words;
	pid_t pid;
	struct error *error = watch_words_split(request->command, &words);
	if (!error)
		error = watch_spawn(words.data, &pid);
	watch_words_deinit(&words);
	if (error)
		return error;
	request->pid = (uint64_t)pid;
	return process_watch(request, true);
}

static struct error *watch_run(struct watch_request *request)
{
	_cleanup_free_ struct json *json = request->writes_json ? malloc(sizeof(*json)) : NULL;
	settings_complete(request);
	request->intervals.json = json;
	if (request->writes_json && !json)
		return error_no_memory();
	struct error *error = watch_names_open(&request->names);
	if (!error)
		error = watch_signals_open(false, &request->intervals.signals);
	if (error)
		return error;
	return request->command ? command_watch_it(request) : process_watch(request, false);
}

/* Returns the exit status. */
static int request_record(struct watch_request *request)
{
	struct watch_recording_options *recording = &request->record.recording;
	struct watch_words words = {0};
	bool is_sampled = !request->all && request->watch.mean_bytes;
	recording->mode = (struct mode){.kind = is_sampled ? MODE_SAMPLE : MODE_EXACT,
		.sample_bytes = is_sampled ? request->watch.mean_bytes : 0};
	recording->object = request->watch.object;
	recording->probes = request->watch.probes;
	recording->from_start = request->command != NULL;
	recording->pid = (pid_t)request->pid;
	struct error *error = request->command ? watch_words_split(request->command, &words) : NULL;
	if (!error && request->command)
		error = watch_spawn(words.data, &recording->pid);
	if (request->command)
		watch_words_deinit(&words);
	if (error)
		return message_error(error);
	int code = watch_record_run(&request->record, &error);
	return error ? message_error(error) : code;
}

int watch_request_run(struct watch_request *request)
{
	struct output output;
	if (request->record.recording.file)
		return request_record(request);
	request->intervals.sink = output_sink(&output);
	struct error *error = watch_run(request);
	int code = output_end(&output);
	return error ? message_error(error) : code;
}
