/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise node: heaps of JavaScript, by snapshots of V8, and profiles of node while it runs. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "cli/node/node_live.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/moments.h"
#include "sources/managed_heap_file.h"
#include "views/managed_heap_view.h"

enum { OPT_FOR = 256, OPT_INTERVAL, OPT_SNAPSHOT, OPT_WHY, OPT_BASE, OPT_LIMIT, OPT_JSON, OPT_CSV };

#define FOR_USUAL_NS 10000000000ull
#define FOR_LEAST_NS 1000000ull
#define FOR_MOST_NS (30ull * 24 * 3600 * 1000000000)
#define INTERVAL_USUAL 32768u

static const struct option_spec option_specs[] = {
	{OPT_FOR, "for", "TIME",
		"of a PID: profile what it allocates for so long: 500ms, 10s, 5min (default: 10s, "
		"or until ^C)"},
	{OPT_INTERVAL, "interval", "BYTES",
		"of a PID: mean distance of samples (default: 32K, as Chrome's DevTools)"},
	{OPT_SNAPSHOT, "snapshot", NULL,
		"of a PID: write a heap snapshot instead; the process waits for it"},
	{'o', "output", "FILE",
		"of a PID: where the profile or snapshot goes (default: node-PID.heapprofile, "
		"node-PID.heapsnapshot)"},
	{OPT_WHY, "why", "CONSTRUCTOR", "show how objects of this constructor are held"},
	{OPT_BASE, "base", "OLDER", "show what is new and deleted since this snapshot"},
	{OPT_LIMIT, "limit", "N", "show at most N rows (default: 30; of --why 10)"},
	{OPT_JSON, "json", NULL, "write JSON, schema heapwise.node-classes/1 and others"},
	{OPT_CSV, "csv", NULL, "write the table as CSV"}, {0}};

struct request {
	const char *why, *base, *file;
	uint64_t limit;
	bool json, csv;
	const char *output;
	uint64_t for_ns, interval;
	bool snapshot;
};

static bool take_time(const struct options *options, uint64_t *ret)
{
	if (duration_parse(options->argument, ret) && *ret >= FOR_LEAST_NS && *ret <= FOR_MOST_NS)
		return true;
	options_wrong(options->command,
		"invalid --for '%s': expected a time from 1ms to 30 days with a unit, like 10s",
		options->argument);
	return false;
}

static bool take_interval(const struct options *options, uint64_t *ret)
{
	if (options_size(options->argument, ret) && *ret && *ret <= INT_MAX)
		return true;
	options_wrong(options->command, "invalid --interval '%s': expected bytes, like 32K or 1M",
		options->argument);
	return false;
}

static bool cmd_node_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case OPT_FOR:
		return take_time(options, &request->for_ns);
	case OPT_INTERVAL:
		return take_interval(options, &request->interval);
	case OPT_SNAPSHOT:
		request->snapshot = true;
		return true;
	case 'o':
		request->output = options->argument;
		return true;
	case OPT_WHY:
		request->why = options->argument;
		return true;
	case OPT_BASE:
		request->base = options->argument;
		return true;
	case OPT_LIMIT:
		return options_number(options, options->argument, "limit", &request->limit);
	case OPT_JSON:
		request->json = true;
		return true;
	case OPT_CSV:
		request->csv = true;
		return true;
	default:
		return options_untaken(options, id);
	}
}

/* The constructor that is nearest to what was asked for, in an error. */
static struct error *no_class(const struct request *request, const struct managed_heap *heap)
{
	const struct managed_class *best = NULL;
	for (size_t i = 0; i < heap->classes.len; i++) {
		const struct managed_class *class = &heap->classes.data[i];
		if (strcasestr(class->name, request->why) && (!best || class->bytes > best->bytes))
			best = class;
	}
	return error_create(ERROR_INPUT, "%s: has no objects of a constructor '%s'%s%s%s",
		request->file, request->why, best ? "; there is '" : "",
		best ? best->name : "; 'heapwise node FILE' lists them", best ? "'" : "");
}

static struct error *answer_why(
	const struct request *request, const struct managed_page *page, struct answer *answer)
{
	const struct managed_class *class = managed_heap_class(page->heap, request->why);
	struct managed_ways ways;
	if (!class)
		return no_class(request, page->heap);
	struct error *error = managed_heap_ways(page->heap, class, &ways);
	if (error)
		return error;
	error = managed_heap_why_answer(page, class, &ways, answer);
	managed_ways_deinit(&ways);
	return error;
}

static struct error *answer_changes(const struct managed_page *page, struct answer *answer)
{
	struct managed_heap *older = NULL;
	struct managed_changes changes;
	struct error *error = managed_heap_file_read(page->base_path, &older);
	if (!error)
		error = managed_heap_compare(older, page->heap, &changes);
	if (!error) {
		error = managed_heap_changes_answer(page, &changes, answer);
		managed_changes_deinit(&changes);
	}
	managed_heap_destroy(older);
	return error;
}

static struct error *answer_make(const struct request *request, struct answer *answer)
{
	struct managed_heap *heap = NULL;
	struct error *error = managed_heap_file_read(request->file, &heap);
	const struct managed_page page = {.heap = heap,
		.path = request->file,
		.base_path = request->base,
		.limit = (size_t)request->limit};
	if (!error && request->why)
		error = answer_why(request, &page, answer);
	else if (!error && request->base)
		error = answer_changes(&page, answer);
	else if (!error)
		error = managed_heap_retain(heap);
	if (!error && !request->why && !request->base)
		error = managed_heap_classes_answer(&page, answer);
	managed_heap_destroy(heap);
	return error;
}

static int file_show(const struct request *request)
{
	struct output output;
	struct sink sink = output_sink_paged(&output, !request->json && !request->csv);
	struct answer *answer = request->csv    ? answer_csv_create(&sink)
				: request->json ? answer_json_create(&sink, false)
						: answer_text_create(&sink);
	struct error *error = answer ? answer_make(request, answer) : error_no_memory();
	answer_destroy(answer);
	int code = output_end(&output);
	return error ? message_error(error) : code;
}

/* Shows a profile as every other one. */
static int profile_show(const struct request *request)
{
	char json[] = "--json", csv[] = "--csv";
	char name[] = "report";
	char *file = strdup(request->output);
	char *words[] = {name, file, request->json ? json : request->csv ? csv : NULL, NULL};
	int code = file ? command_report.run(&command_report, words[2] ? 3 : 2, words)
			: message_error(error_no_memory());
	free(file);
	return code;
}

static int process_show(struct request *request, pid_t pid)
{
	char usual[64];
	snprintf(usual, sizeof(usual), "node-%d.%s", (int)pid,
		request->snapshot ? "heapsnapshot" : "heapprofile");
	if (!request->output)
		request->output = usual;
	struct node_live live = {.pid = pid,
		.path = request->output,
		.snapshot = request->snapshot,
		.for_ns = request->for_ns ? request->for_ns : FOR_USUAL_NS,
		.sample_bytes = request->interval ? request->interval : INTERVAL_USUAL};
	struct error *error = node_live_write(&live);
	if (live.stays_open)
		message("the inspector of process %d stays open at 127.0.0.1:%u: it could not be "
			"closed again",
			(int)pid, live.port);
	if (error)
		return message_error(error);
	message("wrote %s", request->output);
	request->file = request->output;
	return request->snapshot ? file_show(request) : profile_show(request);
}

/* Returns -1, or the exit status of a wrong use. */
static int request_check(
	const struct command *command, const struct request *request, bool is_process)
{
	bool of_process =
		request->for_ns || request->interval || request->snapshot || request->output;
	if (request->why && request->base)
		return options_wrong(command, "--why and --base exclude each other");
	if (request->json && request->csv)
		return options_wrong(command, "--json and --csv exclude each other");
	if (!is_process && of_process)
		return options_wrong(command,
			"--for, --interval, --snapshot and --output are for a PID, and '%s' is "
			"none",
			request->file);
	if (request->snapshot && (request->for_ns || request->interval))
		return options_wrong(command, "--snapshot takes neither --for nor --interval");
	if (is_process && !request->snapshot && (request->why || request->base))
		return options_wrong(command, "--why and --base need --snapshot, or a snapshot");
	return -1;
}

static int cmd_node_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct request request = {.why = NULL};
	uint64_t pid = 0;
	int code;
	if (!options_each(&options, cmd_node_take, &request, &code))
		return code;
	if (argc - options.operand != 1)
		return options_wrong(command, argc == options.operand
						      ? "missing PID or FILE.heapsnapshot"
						      : "expected one PID or FILE.heapsnapshot");
	request.file = argv[options.operand];
	bool is_process = number_whole(request.file, &pid) && pid <= INT_MAX;
	code = request_check(command, &request, is_process);
	if (code >= 0)
		return code;
	return is_process ? process_show(&request, (pid_t)pid) : file_show(&request);
}

const struct command command_node = {
	.name = "node",
	.synopsis =
		"PID|FILE.heapsnapshot [--for TIME|--snapshot] [--why CONSTRUCTOR|--base OLDER] "
		"[OPTION…]",
	.what = "Profiles a node process, and shows what heaps of JavaScript consist of.",
	.about = "Of a PID: what it allocated meanwhile and did not free, by call stack; with "
		 "--snapshot its whole heap.\n"
		 "Its inspector is opened for that on 127.0.0.1, and closed again.\n"
		 "FILE is a heap snapshot of V8: v8.writeHeapSnapshot(), node "
		 "--heapsnapshot-signal=SIGUSR2, Chrome's\n"
		 "DevTools. Constructors are shown by what they retain: what would be freed with "
		 "their objects.\n",
	.examples = "  heapwise node 4711 --for 30s\n"
		    "  heapwise node 4711 --snapshot -o app.heapsnapshot\n"
		    "  heapwise node app.heapsnapshot --why Session\n"
		    "  heapwise node later.heapsnapshot --base app.heapsnapshot\n",
	.options = option_specs,
	.run = cmd_node_run,
};
