/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise watch: allocations of a process that runs, seen from the kernel (BCC's memleak). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "capture/watch.h"
#include "cli/options/options.h"
#include "cli/options/symbol_options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "cli/watch/growth_run.h"
#include "cli/watch/watch_json.h"
#include "cli/watch/watch_record.h"
#include "cli/watch/watch_words.h"
#include "query/moments.h"

#define TOP_USUAL 10u
#define OLDER_USUAL_MS 500u
#define INTERVAL_USUAL_S 5u
#define POLL_NS 100000000ull
#define NS_PER_SECOND 1000000000ull

enum {
	OPT_WATCH_ALL = 256,
	OPT_WATCH_MEAN,
	OPT_WATCH_JSON,
	OPT_WATCH_OUTPUT,
	OPT_WATCH_FOR,
	OPT_WATCH_VERIFY,
	OPT_WATCH_GROWTH,
	OPT_WATCH_PROBES,
	OPT_WATCH_KERNEL,
	OPT_WATCH_PERCPU,
};

static const struct option_spec option_specs[] = {
	{'p', "pid", "PID", "watch this process (as the operand PID does)"},
	{'c', "command", "COMMAND",
		"start COMMAND (words and quotes) and watch it from its first allocation"},
	{OPT_WATCH_KERNEL, "kernel", NULL,
		"watch the kernel's own allocations, of the whole machine (also without PID and "
		"COMMAND)"},
	{OPT_WATCH_PERCPU, "percpu", NULL,
		"of the kernel's, those of memory that each processor has its own of, alone"},
	{OPT_WATCH_GROWTH, "growth", NULL,
		"show which stacks touched the memory that is new, by page faults; allocations "
		"cost nothing"},
	{OPT_WATCH_ALL, "all", NULL, "follow all allocations; figures are exact"},
	{OPT_WATCH_MEAN, "sample-bytes", "SIZE",
		"sample once every SIZE allocated bytes on average (default: 512K)"},
	{'s', "sample-rate", "N", "follow one of N allocations instead, by chance; 1: all"},
	{'T', "top", "N", "show the N stacks with the most outstanding bytes (default: 10)"},
	{'o', "older", "MS|FILE",
		"a number: leave out blocks that are younger than MS ms (default: 500); a name: as "
		"--output"},
	{OPT_WATCH_OUTPUT, "output", "FILE",
		"print nothing, write a recording to FILE, for all views (%n program, %p PID, %h "
		"host)"},
	{'f', "force", NULL, "replace FILE if it exists"},
	{OPT_WATCH_FOR, "for", "TIME", "end the recording after TIME (300ms, 60s, 5min)"},
	{'q', "quiet", NULL, "of a recording, print only what is wrong"},
	{'z', "min-size", "BYTES", "follow only blocks of at least this size"},
	{'Z', "max-size", "BYTES", "follow only blocks of at most this size"},
	{'a', "show-allocs", NULL, "show address and size of each outstanding block"},
	{'C', "combined-only", NULL, "show sums of stacks only; all ages"},
	{OPT_WATCH_VERIFY, "verify", NULL,
		"search a copy of the process: which outstanding blocks are leaked, which are "
		"still "
		"referenced (it stands still for the copy)"},
	{'t', "trace", NULL, "print each allocation and free as it happens"},
	{'O', "obj", "FILE", "probe only the allocator in this file (\"c\": libc.so.6)"},
	{OPT_WATCH_PROBES, "probes", "auto|multi|perf",
		"how functions are probed: many at once (Linux 6.6), or each by perf, which takes "
		"CAP_SYS_ADMIN; auto: the first that the kernel has"},
	{OPT_WATCH_JSON, "json", NULL,
		"write JSON, schema heapwise.watch/1 (--growth: heapwise.growth/1)"},
	SYMBOL_SPECS{0}};

/* Which allocations are followed: one of these ways. */
enum sampling_way { WAY_ALL = 1, WAY_MEAN = 2, WAY_RATE = 4 };

struct watch_request {
	struct watch_options watch;
	struct watch_shown shown;
	struct watch_names names;
	uint64_t pid, interval_s, count;
	const char *command;
	bool all, traces, writes_json;
	struct watch_record record; /* with a file: a recording is made */
	bool verifies;
	struct watch_verify verify; /* if so */
	const char *shows; /* an option of what is printed, which a recording has no use for */
	unsigned ways;     /* bits of enum sampling_way that were asked for */
	struct json *json; /* open while it is written */
	int signals;       /* a descriptor of those that ask to end */
	bool growth;
	bool has_block_option;      /* one that is about allocations */
	const char *process_option; /* one that means nothing to the kernel's allocations */
	struct sink sink;
};

static bool take_count(const struct options *options, const char *name, uint64_t *ret)
{
	return options_number(options, options->argument, name, ret);
}

static bool take_bytes(const struct options *options, const char *name, uint64_t *ret)
{
	if (!strcmp(options->argument, "0") || options_size(options->argument, ret))
		return true;
	options_wrong(options->command, "invalid --%s '%s': expected a size (4096, 64K, 1M)", name,
		options->argument);
	return false;
}

/* memleak's -o is an age, that of other commands a file. */
static bool take_older_or_file(const struct options *options, struct watch_request *request)
{
	const char *word = options->argument;
	if (word[strspn(word, "0123456789")] || !*word) {
		request->record.recording.file = word;
		request->process_option = "-o FILE";
		return true;
	}
	request->shows = "-o OLDER";
	request->shown.older_ms = 0;
	return !strcmp(word, "0") || take_count(options, "older", &request->shown.older_ms);
}

static bool take_time(const struct options *options, uint64_t *ret)
{
	if (duration_parse(options->argument, ret) && *ret)
		return true;
	options_wrong(options->command, "invalid --for '%s': expected a time (300ms, 60s, 5min)",
		options->argument);
	return false;
}

static bool take_rate(const struct options *options, struct watch_request *request)
{
	uint64_t rate;
	if (!take_count(options, "sample-rate", &rate))
		return false;
	request->all = true;
	request->ways |= WAY_RATE;
	request->watch.every = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
	return true;
}

static bool take_probes(const struct options *options, struct watch_request *request)
{
	static const char *const ways[] = {[WATCH_PROBES_AUTO] = "auto",
		[WATCH_PROBES_MULTI] = "multi",
		[WATCH_PROBES_PERF] = "perf"};
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(options->argument, ways[i]) != 0)
			continue;
		request->watch.probes = (enum watch_probes)i;
		return true;
	}
	options_wrong(options->command, "invalid --probes '%s': expected auto, multi or perf",
		options->argument);
	return false;
}

static bool take_symbol_option(const struct options *options, int id, struct watch_request *request)
{
	bool is_taken;
	struct error *error =
		symbol_options_take(&request->names.settings, id, options->argument, &is_taken);
	if (!error)
		return is_taken || options_untaken(options, id);
	options_refuse(options, error);
	error_destroy(error);
	return false;
}

/* The options of a recording. */
static bool take_record_option(const struct options *options, int id, struct watch_request *request)
{
	switch (id) {
	case OPT_WATCH_OUTPUT:
		request->record.recording.file = options->argument;
		return true;
	case 'f':
		request->record.recording.overwrite = true;
		return true;
	case 'q':
		request->record.quiet = true;
		return true;
	case OPT_WATCH_FOR:
		return take_time(options, &request->record.for_ns);
	default:
		return take_symbol_option(options, id, request);
	}
}

/* Options that only a process has a use for. */
static void note_process(int id, struct watch_request *request)
{
	static const struct {
		int id;
		const char *name;
	} names[] = {{OPT_WATCH_MEAN, "--sample-bytes"}, {OPT_WATCH_OUTPUT, "--output"},
		{OPT_WATCH_FOR, "--for"}, {OPT_WATCH_VERIFY, "--verify"},
		{OPT_WATCH_GROWTH, "--growth"}, {OPT_WATCH_PROBES, "--probes"}, {'t', "-t"},
		{'O', "-O"}, {'f', "-f"}, {'q', "-q"}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].id == id)
			request->process_option = names[i].name;
	}
}

/* Options that say what is printed, or which calls are left out: no recording is made with them. */
static void note_shows(int id, struct watch_request *request)
{
	static const struct {
		int id;
		const char *name;
	} shows[] = {{OPT_WATCH_JSON, "--json"}, {OPT_WATCH_VERIFY, "--verify"}, {'s', "-s"},
		{'T', "-T"}, {'z', "-z"}, {'Z', "-Z"}, {'a', "-a"}, {'C', "-C"}, {'t', "-t"}};
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++) {
		if (shows[i].id == id)
			request->shows = shows[i].name;
	}
}

static bool take_option(const struct options *options, int id, void *ctx)
{
	struct watch_request *request = ctx;
	note_shows(id, request);
	note_process(id, request);
	if (id == OPT_WATCH_ALL || id == OPT_WATCH_MEAN || id == OPT_WATCH_OUTPUT ||
		id == OPT_WATCH_FOR || id == OPT_WATCH_VERIFY || id == OPT_WATCH_PROBES ||
		(id < 256 && strchr("sozZaCtOfq", id)))
		request->has_block_option = true;
	switch (id) {
	case OPT_WATCH_PROBES:
		return take_probes(options, request);
	case OPT_WATCH_GROWTH:
		request->growth = true;
		return true;
	case OPT_WATCH_PERCPU:
		request->watch.is_percpu = true;
		request->watch.is_kernel = true;
		return true;
	case OPT_WATCH_KERNEL:
		request->watch.is_kernel = true;
		return true;
	case 'p':
		return take_count(options, "pid", &request->pid);
	case OPT_WATCH_JSON:
		request->writes_json = true;
		return true;
	case 'c':
		request->command = options->argument;
		return true;
	case OPT_WATCH_ALL:
		request->all = true;
		request->ways |= WAY_ALL;
		return true;
	case OPT_WATCH_MEAN:
		request->ways |= WAY_MEAN;
		return take_bytes(options, "sample-bytes", &request->watch.mean_bytes);
	case 's':
		return take_rate(options, request);
	case 'T':
		return take_count(options, "top", &request->shown.top);
	case 'o':
		return take_older_or_file(options, request);
	case 'z':
		return take_bytes(options, "min-size", &request->watch.min_size);
	case 'Z':
		return take_bytes(options, "max-size", &request->watch.max_size);
	case 'a':
		request->shown.shows_blocks = true;
		return true;
	case 'C':
		request->shown.combined = true;
		return true;
	case OPT_WATCH_VERIFY:
		request->verifies = true;
		return true;
	case 't':
		request->traces = true;
		return true;
	case 'O':
		request->watch.object = options->argument;
		return true;
	default:
		return take_record_option(options, id, request);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Waits for the kernel, at most until a time. *ret_over: a signal asks to end. */
static void kernel_await(const struct watch *watch, int signals, uint64_t until_ns, bool *ret_over)
{
	uint64_t now = now_ns(), left = until_ns > now ? until_ns - now : 0;
	const struct timespec wait = {(time_t)(left / NS_PER_SECOND), (long)(left % NS_PER_SECOND)};
	struct pollfd waited[] = {
		{.fd = watch_fd(watch), .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	if (ppoll(waited, ARRAY_SIZE(waited), &wait, NULL) > 0 && waited[1].revents)
		*ret_over = true;
}

/* Until the next interval. *ret_over: it was the last one; *ret_ended: as the process has ended. */
static struct error *interval_wait(
	struct watch *watch, int signals, uint64_t due_ns, bool *ret_over, bool *ret_ended)
{
	struct error *error = NULL;
	*ret_ended = false;
	while (!error && !*ret_over && now_ns() < due_ns) {
		uint64_t until = now_ns() + POLL_NS;
		kernel_await(watch, signals, until < due_ns ? until : due_ns, ret_over);
		error = watch_poll(watch, ret_ended);
		*ret_over |= *ret_ended;
	}
	return error;
}

static struct error *interval_print(const struct watch *watch, struct watch_request *request,
	struct watch_before *before, bool *ret_over)
{
	_cleanup_(text_deinit) struct text text;
	char at[16];
	time_t now = time(NULL);
	struct tm day;
	text_init(&text);
	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&now, &day));
	struct error *error =
		watch_text_add(&text, watch, &request->names, &request->shown, before, at);
	if (!error && text.failed)
		error = error_no_memory();
	if (!error)
		*ret_over |= !request->sink.write(request->sink.ctx, text.data, text.len);
	return error;
}

static struct error *interval_show(struct watch *watch, struct watch_request *request,
	struct watch_before *before, bool *ret_over)
{
	uint64_t older_ns = request->shown.older_ms * 1000000u;
	struct error *error = request->verifies ? watch_verify_look(&request->verify, watch,
							  (pid_t)request->pid, older_ns)
						: watch_look(watch, older_ns);
	if (!error && request->watch.is_kernel)
		error = watch_names_read_kernel(&request->names);
	if (error)
		return error;
	if (!request->json)
		return interval_print(watch, request, before, ret_over);
	error = watch_json_add(request->json, watch, &request->names, &request->shown, before,
		(uint64_t)time(NULL));
	*ret_over |= request->json->failed;
	return error;
}

static struct error *intervals_run(struct watch *watch, struct watch_request *request)
{
	struct watch_before before = {0};
	bool is_over = false, has_ended = false;
	struct error *error = NULL;
	uint64_t due = now_ns();
	while (!error && !is_over) {
		due += request->interval_s * NS_PER_SECOND;
		error = interval_wait(watch, request->signals, due, &is_over, &has_ended);
		if (!error)
			error = interval_show(watch, request, &before, &is_over);
		is_over |= request->count && before.looks >= request->count;
	}
	if (!error && has_ended)
		message("process %" PRIu64 " has ended: the last figures are what was left then",
			request->pid);
	if (request->json)
		(void)watch_json_end(request->json);
	stack_bytes_deinit(&before.first);
	stack_bytes_deinit(&before.last);
	return error;
}

/* Signals that ask to end are read from a descriptor from now on: one that comes early is not lost.
 */
static struct error *signals_open(struct watch_request *request)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	request->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	return request->signals < 0
		       ? error_errno(ERROR_ENVIRONMENT, errno, "can't wait for signals")
		       : NULL;
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
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	probes_say(request, watch);
	if (request->writes_json) {
		json_init(request->json, request->sink.write, request->sink.ctx);
		watch_json_begin(request->json, watch, request->pid, &request->shown);
		return NULL;
	}
	if (request->watch.is_kernel)
		text_add(&text, "Attaching to kernel allocators, Ctrl+C to quit.\n");
	else
		text_printf(&text, "Attaching to pid %" PRIu64 ", Ctrl+C to quit.\n", request->pid);
	if (text.failed)
		return error_no_memory();
	(void)request->sink.write(request->sink.ctx, text.data, text.len);
	return NULL;
}

static void trace_print(void *context, const struct watch_news *news)
{
	struct watch_request *request = context;
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
		(void)request->sink.write(request->sink.ctx, text.data, text.len);
}

static void settings_complete(struct watch_request *request)
{
	if (request->all || request->watch.is_kernel)
		request->watch.mean_bytes = 0;
	request->shown.mean_bytes = request->watch.mean_bytes;
	request->shown.is_sampled = request->watch.mean_bytes || request->watch.every > 1;
	if (request->traces) {
		request->watch.on_event = trace_print;
		request->watch.context = request;
	}
}

static struct error *growth_follow(struct watch_request *request, bool is_ours)
{
	const struct growth_request wanted = {.pid = (pid_t)request->pid,
		.interval_s = request->interval_s,
		.count = request->count,
		.top = request->shown.top,
		.writes_json = request->writes_json,
		.is_spawned = is_ours,
		.signals = request->signals,
		.names = &request->names,
		.sink = request->sink};
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
	return error ? error : intervals_run(watch, request);
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
	request->json = json;
	if (request->writes_json && !json)
		return error_no_memory();
	struct error *error = watch_names_open(&request->names);
	if (!error)
		error = signals_open(request);
	if (error)
		return error;
	return request->command ? command_watch_it(request) : process_watch(request, false);
}

/* Returns -1, or the exit status of a wrong use. */
static int ways_check(const struct command *command, const struct watch_request *request)
{
	bool is_one = !(request->ways & (request->ways - 1));
	return is_one ? -1
		      : options_wrong(command, "--all, --sample-bytes and -s are three ways to "
					       "choose allocations: "
					       "expected one");
}

/* Without a process it is the kernel, as it is for memleak. Returns -1, or the exit status of a
 * wrong use. */
static int kernel_check(const struct command *command, struct watch_request *request, int count)
{
	bool has_process = request->pid || request->command;
	if (request->watch.is_kernel && has_process)
		return options_wrong(command,
			"%s is of the kernel's own allocations, of the whole machine: -p and -c "
			"can't go with it",
			request->watch.is_percpu ? "--percpu" : "--kernel");
	if (request->watch.is_kernel && request->process_option)
		return options_wrong(command,
			"%s is of processes: the kernel's own allocations are watched without it",
			request->process_option);
	if (has_process || count || request->watch.is_kernel)
		return -1;
	if (request->process_option)
		return options_wrong(command, "missing PID");
	request->watch.is_kernel = true;
	return -1;
}

/* PID unless -p, INTERVAL, COUNT. Returns -1, or the exit status of a wrong use. */
static int operands_take(
	const struct command *command, struct watch_request *request, char **words, int count)
{
	uint64_t *const numbers[] = {&request->pid, &request->interval_s, &request->count};
	int code = kernel_check(command, request, count);
	int first = request->pid || request->command || request->watch.is_kernel ? 1 : 0;
	if (code >= 0)
		return code;
	if (request->traces && request->writes_json)
		return options_wrong(command, "-t and --json are two forms: expected one");
	if (request->verifies && request->shown.combined)
		return options_wrong(
			command, "-C shows sums alone: --verify has blocks to judge without it");
	if (request->growth && request->has_block_option)
		return options_wrong(command,
			"--growth follows pages, and options of allocations mean nothing to it: "
			"expected -p, -c, -T, --json");
	if (request->pid && request->command)
		return options_wrong(command, "-p and -c are two processes: expected one");
	if (request->watch.max_size && request->watch.min_size > request->watch.max_size)
		return options_wrong(command, "-z is above -Z: no block would be followed");
	if (request->record.recording.file && (request->shows || first + count > 1))
		return options_wrong(command,
			"a recording has all calls and moments: %s can't go with it (--for ends "
			"it)",
			request->shows ? request->shows : "INTERVAL");
	if (!request->record.recording.file &&
		(request->record.for_ns || request->record.recording.overwrite))
		return options_wrong(
			command, "--for and -f are of a recording: -o FILE is missing");
	for (int i = 0; i < count; i++) {
		if (first + i >= 3)
			return options_wrong(command, "unexpected '%s'", words[i]);
		if (!number_whole(words[i], numbers[first + i]) || *numbers[first + i] > INT_MAX)
			return options_wrong(command, "'%s' is no %s", words[i],
				first + i == 0   ? "PID"
				: first + i == 1 ? "interval in seconds"
						 : "count");
	}
	return request->pid > INT_MAX
		       ? options_wrong(command, "%" PRIu64 " is no PID", request->pid)
		       : -1;
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

/* Returns the exit status. */
static int request_run(struct watch_request *request)
{
	struct output output;
	if (request->record.recording.file)
		return request_record(request);
	request->sink = output_sink(&output);
	struct error *error = watch_run(request);
	int code = output_end(&output);
	return error ? message_error(error) : code;
}

static int cmd_watch(const struct command *command, int argc, char **argv)
{
	struct watch_request request = {.watch = {.mean_bytes = WATCH_MEAN_BYTES},
		.shown = {.top = TOP_USUAL, .older_ms = OLDER_USUAL_MS},
		.interval_s = INTERVAL_USUAL_S};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	bool is_taken = options_each(&options, take_option, &request, &code);
	if (is_taken)
		code = ways_check(command, &request);
	if (is_taken && code < 0)
		code = operands_take(
			command, &request, argv + options.operand, argc - options.operand);
	if (is_taken && code < 0)
		code = request_run(&request);
	watch_names_close(&request.names);
	watch_verify_deinit(&request.verify);
	return code;
}

const struct command command_watch = {
	.name = "watch",
	.synopsis = "PID|-c COMMAND|--kernel [INTERVAL [COUNT]] [OPTION…]",
	.what = "Shows which stacks of a process that runs hold memory, seen from the kernel.",
	.about = "What BCC's memleak does: the functions of the process's allocator are probed by "
		 "eBPF programs, and\n"
		 "every INTERVAL seconds (default: 5) the stacks with the most outstanding bytes "
		 "are "
		 "printed, with what\n"
		 "they grew by since the last time and since the start. heapwise writes nothing to "
		 "the process and never\n"
		 "stops it (but for --verify); the kernel has breakpoints in its code for as long "
		 "as it is watched. "
		 "What "
		 "it had allocated\n"
		 "before is not known.\n"
		 "\nWith -o FILE (a name; a number is memleak's -o OLDER) nothing is printed: all "
		 "calls go to a recording,\n"
		 "on which 'heapwise report' and all other views work.\n"
		 "\nWith --kernel, or without PID and COMMAND, the kernel's own allocations are "
		 "watched, of the whole machine\n"
		 "(its objects and pages, or with --percpu memory that each processor has its own "
		 "of). This takes root.\n"
		 "\nFigures are estimates from samples unless --all is given. It takes CAP_BPF and "
		 "CAP_PERFMON (or root)\n"
		 "and Linux 6.6 (5.17: root); neither compiler nor kernel headers are needed. "
		 "'heapwise attach' "
		 "costs the process\n"
		 "less, but changes it.\n",
	.examples = "  heapwise watch $(pidof redis-server)\n"
		    "  heapwise watch 4711 10 6 --all        six times, every ten seconds\n"
		    "  heapwise watch -c './app --port 80' --all\n"
		    "  heapwise watch --kernel 10 6          six times, every ten seconds\n"
		    "  heapwise watch 4711 -o app.hpw --for 60s && heapwise report app.hpw\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_watch,
};
