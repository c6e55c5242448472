/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise maps: the memory of processes by mappings, and what grows. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "cli/maps/maps_watch.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/moments.h"
#include "sources/look_file.h"

enum {
	OPT_EVERY = 256,
	OPT_FOR,
	OPT_TREND,
	OPT_EXPLAIN,
	OPT_CHANGED,
	OPT_NUMA,
	OPT_ALL,
	OPT_LIMIT,
	OPT_SOURCE,
	OPT_JSON,
	OPT_CSV,
};

static const struct option_spec option_specs[] = {
	{OPT_EVERY, "every", "TIME",
		"look again and again: 500ms, 10s, 5min (default with the next four: 1s)"},
	{OPT_FOR, "for", "TIME", "for how long (default: 10s; with --every until ^C)"},
	{OPT_TREND, "trend", NULL, "show resident memory at each look"},
	{OPT_EXPLAIN, "explain", NULL,
		"show what is in the new pages of the mappings that grew most"},
	{OPT_CHANGED, "changed", NULL,
		"compare pages at the first and the last look: how much was written to"},
	{OPT_NUMA, "numa", NULL, "show on which NUMA nodes memory is, at each look"},
	{OPT_ALL, "all", NULL, "show mappings that did not change, too"},
	{OPT_LIMIT, "limit", "N", "show at most N mappings (default: 30 that changed)"},
	{OPT_SOURCE, "source", "auto|scan|smaps",
		"where resident bytes of a series are from: page tables (Linux 6.7) or smaps "
		"(default: "
		"auto)"},
	{OPT_JSON, "json", NULL, "write JSON, schema heapwise.maps/1"},
	{OPT_CSV, "csv", NULL, "write the table of mappings as CSV"}, {0}};

struct request {
	struct maps_plan plan;
	struct maps_options shown;
};

#define EVERY_USUAL_NS 1000000000ull
#define FOR_USUAL_NS 10000000000ull
#define EVERY_LEAST_NS 1000000ull

static bool take_time(const struct options *options, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *minutes = NULL;
	const char *word = options->argument;
	size_t len = strlen(word);
	/* "10m", as sleep(1) has it. */
	if (len > 1 && word[len - 1] == 'm' && asprintf(&minutes, "%sin", word) > 0)
		word = minutes;
	if (duration_parse(word, ret) && *ret >= EVERY_LEAST_NS)
		return true;
	options_wrong(options->command,
		"invalid --%s '%s': expected a time from 1ms on with a unit, like 500ms, 10s or "
		"5min",
		name, options->argument);
	return false;
}

static bool take_source(const struct options *options, enum live_look_way *ret)
{
	static const char *const names[] = {
		[LIVE_LOOK_ANY] = "auto", [LIVE_LOOK_SCAN] = "scan", [LIVE_LOOK_SMAPS] = "smaps"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(options->argument, names[i])) {
			*ret = i;
			return true;
		}
	}
	options_wrong(options->command, "invalid --source '%s': expected auto, scan or smaps",
		options->argument);
	return false;
}

static bool cmd_maps_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	uint64_t limit;
	switch (id) {
	case OPT_EVERY:
		return take_time(options, "every", &request->plan.every_ns);
	case OPT_FOR:
		return take_time(options, "for", &request->plan.for_ns);
	case OPT_SOURCE:
		return take_source(options, &request->plan.way);
	case OPT_LIMIT:
		if (!options_number(options, options->argument, "limit", &limit))
			return false;
		request->shown.limit = limit;
		return true;
	case OPT_TREND:
		request->shown.trend = true;
		return true;
	case OPT_EXPLAIN:
		request->plan.explains = true;
		return true;
	case OPT_CHANGED:
		request->plan.compares = true;
		return true;
	case OPT_NUMA:
		request->plan.reads_nodes = true;
		return true;
	case OPT_ALL:
		request->shown.all = true;
		return true;
	case OPT_JSON:
		request->shown.json = true;
		return true;
	case OPT_CSV:
		request->shown.csv = true;
		return true;
	default:
		return options_untaken(options, id);
	}
}

static int subjects_show(
	const struct request *request, const struct maps_subject *subjects, size_t count)
{
	struct output output;
	struct sink sink = output_sink(&output);
	struct error *error = maps_view_write(subjects, count, &request->shown, &sink);
	int code = output_end(&output);
	return error ? message_error(error) : code;
}

/* What a target can't tell, in sentences. */
static void notes_make(const struct maps_target *target, const char *notes[MAPS_NOTES_MAX])
{
	size_t count = 0;
	if (!target->looker.owners_known)
		notes[count++] =
			"Which heaps, blocks and threads' stacks mappings are is not known: the "
			"memory of the process can't be read (CAP_SYS_PTRACE, "
			"/proc/sys/kernel/yama/ptrace_scope)";
	if (target->looker.owners_cut)
		notes[count++] =
			"Some heaps may be called anonymous: the tables of allocators take too "
			"long to read; 'heapwise heap PID maps' reads them whole";
	if (target->looker.left_out)
		notes[count++] =
			"Some lines of /proc/PID/smaps could not be understood: their mappings are "
			"missing";
	if (target->looker.nodes_failed)
		notes[count++] =
			"NUMA nodes are not known of all looks: /proc/PID/numa_maps could not be "
			"read or understood";
	if (target->series.gone + target->series.brief)
		notes[count++] = "Some mappings came and went again and have no row";
}

static void target_subject(
	const struct maps_target *target, bool compares, struct maps_subject *ret)
{
	*ret = (struct maps_subject){.pid = (uint64_t)target->looker.pid,
		.name = target->command,
		.source = target->looker.scans ? "PAGEMAP_SCAN" : "smaps",
		.end = target->end,
		.is_running = !target->has_ended,
		.times_known = true,
		.series = &target->series,
		.pages = (const struct maps_pages *const *)target->pages,
		.page_count = target->page_count,
		.changes = compares ? &target->written.changes : NULL,
		.nodes = target->look.nodes_known ? &target->look.nodes : NULL};
	notes_make(target, ret->notes);
}

static int processes_show(struct request *request, char **words, size_t count)
{
	struct maps_target *targets = calloc(count, sizeof(*targets));
	struct maps_subject *subjects = calloc(count, sizeof(*subjects));
	struct error *error = targets && subjects ? NULL : error_no_memory();
	int code = 0;
	for (size_t i = 0; !error && i < count; i++)
		targets[i].looker.pid = (pid_t)strtol(words[i], NULL, 10);
	if (!error)
		error = maps_watch(&request->plan, targets, count);
	if (error) {
		code = message_error(error);
	} else {
		for (size_t i = 0; i < count; i++)
			target_subject(&targets[i], request->plan.compares, &subjects[i]);
		code = subjects_show(request, subjects, count);
	}
	for (size_t i = 0; targets && i < count; i++)
		maps_target_deinit(&targets[i]);
	free(targets);
	free(subjects);
	return code;
}

/* Adds what a file has to the series, as a look. */
static struct error *file_add(
	struct mapping_series *series, const char *path, double seconds, struct look_file *ret)
{
	struct memory_look look;
	memory_look_init(&look);
	struct error *error = look_file_read(path, &look, ret);
	if (!error)
		error = mapping_series_add(series, &look, seconds);
	memory_look_deinit(&look);
	return error;
}

static void file_notes(const struct look_file *files, size_t count, struct maps_subject *ret)
{
	size_t notes = 0;
	bool left_out = files[0].left_out || files[count - 1].left_out;
	if (left_out)
		ret->notes[notes++] =
			"Some lines could not be understood: their mappings are missing";
	if (count == 2 && strcmp(files[0].form, files[1].form) != 0)
		ret->notes[notes++] = "The files are of different forms: names may differ";
	if (!strcmp(files[count - 1].form, "maps"))
		ret->notes[notes++] = "The file has no resident bytes: /proc/PID/smaps has them";
}

static int files_show(const struct request *request, char **paths, size_t count)
{
	struct mapping_series series;
	struct look_file files[2];
	struct error *error = NULL;
	mapping_series_init(&series);
	for (size_t i = 0; !error && i < count; i++)
		error = file_add(&series, paths[i], (double)i, &files[i]);
	if (!error)
		error = mapping_series_finish(&series);
	int code = 0;
	if (error) {
		code = message_error(error);
	} else {
		struct maps_subject subject = {.name = paths[count - 1],
			.base = count == 2 ? paths[0] : NULL,
			.source = files[count - 1].form,
			.series = &series};
		file_notes(files, count, &subject);
		code = subjects_show(request, &subject, 1);
	}
	mapping_series_deinit(&series);
	return code;
}

static bool is_pid(const char *word)
{
	uint64_t number;
	return number_whole(word, &number) && number <= INT_MAX;
}

/* Returns -1, or the exit status of a wrong use. */
static int words_check(
	const struct command *command, const struct request *request, char **words, size_t count)
{
	size_t pids = 0;
	if (!count)
		return options_wrong(command, "missing PID or FILE");
	for (size_t i = 0; i < count; i++)
		pids += is_pid(words[i]);
	if (pids && pids < count)
		return options_wrong(command,
			"'%s' is a PID, '%s' is not: expected PIDs, or one or two files (a file "
			"that is "
			"called by a number: ./%s)",
			is_pid(words[0]) ? words[0] : words[count - 1],
			is_pid(words[0]) ? words[count - 1] : words[0],
			is_pid(words[0]) ? words[0] : words[count - 1]);
	if (!pids && count > 2)
		return options_wrong(command, "unexpected '%s': two files are compared", words[2]);
	if (!pids && (request->plan.every_ns || request->plan.for_ns || request->plan.explains ||
			     request->plan.compares || request->plan.reads_nodes))
		return options_wrong(command,
			"--every, --for, --explain, --changed and --numa are for processes that "
			"run");
	if (request->plan.every_ns && request->plan.for_ns &&
		request->plan.every_ns > request->plan.for_ns)
		return options_wrong(command, "--every is longer than --for");
	return -1;
}

static void plan_complete(struct request *request, bool is_live)
{
	struct maps_plan *plan = &request->plan;
	bool is_series = plan->every_ns || plan->for_ns || plan->explains || plan->compares ||
			 request->shown.trend;
	if (!is_live || !is_series)
		return;
	if (!plan->for_ns && !plan->every_ns)
		plan->for_ns = FOR_USUAL_NS;
	if (!plan->every_ns)
		plan->every_ns = min((uint64_t)EVERY_USUAL_NS, plan->for_ns);
}

static int cmd_maps_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct request request = {.shown = {.json = false}};
	int code;
	if (!options_each(&options, cmd_maps_take, &request, &code))
		return code;
	char **words = argv + options.operand;
	size_t count = (size_t)(argc - options.operand);
	code = words_check(command, &request, words, count);
	if (code >= 0)
		return code;
	bool is_live = is_pid(words[0]);
	plan_complete(&request, is_live);
	return is_live ? processes_show(&request, words, count)
		       : files_show(&request, words, count);
}

const struct command command_maps = {
	.name = "maps",
	.synopsis = "PID…|FILE [FILE2] [--every TIME] [--for TIME] [--explain] [OPTION…]",
	.what = "Shows the memory of a process by mappings, and which of them grow.",
	.about = "Of one look: what 'pmap -x' shows, with what each mapping is for. Of a series: "
		 "what "
		 "grew, how fast if\n"
		 "it grows steadily, and the command that looks inside. FILE is what 'pmap -x', "
		 "'heapwise maps' (text or\n"
		 "JSON) or /proc/PID/smaps had; two of them are compared. The process is neither "
		 "stopped nor written to.\n"
		 "^C ends a series with what there is.\n",
	.examples = "  heapwise maps $(pidof -s app)\n"
		    "  heapwise maps 4711 --every 10s --for 10m\n"
		    "  heapwise maps 4711 --every 5s --for 1m --explain   what grew, and what is "
		    "in it\n"
		    "  pmap -x 4711 >old; sleep 600; pmap -x 4711 >new; heapwise maps old new\n",
	.options = option_specs,
	.run = cmd_maps_run,
};
