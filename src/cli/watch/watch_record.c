/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_record.h"

#include <signal.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/setup/recording_end.h"
#include "cli/terminal/message.h"
#include "cli/watch/watch_intervals.h"
#include "process/clock.h"

static void start_say(const struct watch_record *record, struct watch_recording *recording)
{
	_cleanup_(text_deinit) struct text text;
	const struct watch *watch = watch_recording_watch(recording);
	size_t functions, files;
	text_init(&text);
	if (record->quiet)
		return;
	if (record->why)
		message("route ebpf, since %s", record->why);
	watch_probes(watch, &functions, &files);
	text_printf(&text, "process %d is recorded to %s from now on: ", (int)record->recording.pid,
		recording_short_name(watch_recording_file(recording)));
	text_add_counted(&text, functions, "function", "functions");
	text_add(&text, " in ");
	text_add_counted(&text, files, "file", "files");
	text_printf(&text, " probed (%s)", watch_way_name(watch));
	message("%s", text.failed ? "recorded" : text.data);
	if (!record->for_ns)
		message("^C ends the recording; the process goes on");
}

static struct error *calls_record(
	const struct watch_record *record, struct watch_recording *recording, int signals)
{
	const struct watch *watch = watch_recording_watch(recording);
	bool has_ended = false, is_asked = false;
	uint64_t wait_ns, began = clock_now_ns();
	while (!has_ended && !is_asked) {
		struct error *error = watch_recording_step(recording, &wait_ns, &has_ended);
		uint64_t passed = clock_now_ns() - began;
		if (error)
			return error;
		if (record->for_ns && passed >= record->for_ns)
			return NULL;
		if (record->for_ns)
			wait_ns = min(wait_ns, record->for_ns - passed);
		if (!has_ended)
			is_asked = watch_await(watch_fd(watch), signals, wait_ns);
	}
	return NULL;
}

/* Completes the file, also after an error. */
static int recording_end(
	const struct watch_record *record, struct watch_recording *recording, struct error *problem)
{
	const struct dump_plan no_dumps = {.keep = 0};
	struct launch_result result;
	struct error *error = watch_recording_finish(recording, &result);
	int code = problem ? message_error(problem) : 0;
	if (error)
		return message_error(error);
	if (!record->quiet && watch_replaced_ns(watch_recording_watch(recording)))
		message("process %d went on as another program (exec), which is not recorded",
			(int)record->recording.pid);
	const struct collector_recording *first =
		recording_describe_end(&result, &no_dumps, record->quiet);
	if (!code && (!first || first->totals.write_error))
		code = ERROR_ENVIRONMENT;
	launch_result_deinit(&result);
	return code;
}

int watch_record_run(const struct watch_record *record, struct error **ret_refused)
{
	_cleanup_(watch_recording_cleanup) struct watch_recording *recording = NULL;
	_cleanup_close_ int signals = -1;
	bool is_ours = record->recording.from_start;
	signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error like others */
	struct error *error = watch_signals_open(true, &signals);
	if (!error)
		error = watch_recording_open(&record->recording, &recording);
	if (!error)
		start_say(record, recording);
	if (!error && is_ours)
		error = watch_release(record->recording.pid);
	if (error && is_ours)
		watch_spawn_drop(record->recording.pid);
	if (error && !recording) {
		*ret_refused = error;
		return error->code;
	}
	if (!error)
		error = calls_record(record, recording, signals);
	return recording_end(record, recording, error);
}
