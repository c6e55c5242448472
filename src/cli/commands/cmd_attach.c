/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise attach: a process that runs already is recorded from now on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/attach.h"
#include "cli/attach/attach_go.h"
#include "cli/attach/attach_route.h"
#include "cli/heap/older_blocks.h"
#include "cli/options/options.h"
#include "cli/options/recording_options.h"
#include "cli/setup/recording_end.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "process/proc_info.h"
#include "process/stop.h"
#include "query/moments.h"

/* All threads are to have stopped by then. */
#define PAUSE_USUAL_MS 50u

enum {
	OPT_ATTACH_FOR = 256,
	OPT_ATTACH_MODE,
	OPT_ATTACH_SEED,
	OPT_ATTACH_DRY_RUN,
	OPT_ATTACH_PAUSE,
	OPT_ATTACH_BEFORE,
	OPT_ATTACH_ROUTE,
	OPT_ATTACH_PATCH_POINTERS,
	OPT_ATTACH_RATE,
	OPT_ATTACH_AT
};

static const struct option_spec option_specs[] = {
	{'o', "output", "FILE",
		"write the recording to FILE (default: heapwise.%n.%p.hpw); %n program, %p PID, %h "
		"host"},
	{'f', "force", NULL, "replace FILE if it exists"},
	{'q', "quiet", NULL, "print only what is wrong"},
	{OPT_ATTACH_FOR, "for", "TIME",
		"let the process go after TIME (300ms, 60s, 5min; default: on ^C)"},
	{OPT_ATTACH_MODE, "mode", "MODE",
		"exact (default): every event; aggregate: only sums, in a small file; "
		"sample[:BYTES]: about one allocation per BYTES allocated (default 512K), "
		"estimates"},
	{OPT_ATTACH_SEED, "seed", "N",
		"random seed of --mode sample (default: another one each time)"},
	{OPT_ATTACH_DRY_RUN, "dry-run", NULL,
		"say what would be changed in the process, or why it can't be recorded; change "
		"nothing"},
	{OPT_ATTACH_PAUSE, "pause", "TIME",
		"change nothing if it takes longer than TIME to stop all threads (default: 50ms)"},
	{OPT_ATTACH_BEFORE, "before", "HOW",
		"what was allocated before: auto (default): list it, from a copy of the process, "
		"if that takes no longer than --pause; snapshot: however long; none"},
	{OPT_ATTACH_ROUTE, "route", "HOW",
		"auto (default): go for a program in Go without C, else inject, or ebpf if that is "
		"refused; inject: change its references; "
		"ebpf: probes in the kernel, as 'heapwise watch'; go: the heap profile of Go's "
		"runtime, written for pprof and all views; without a recording: growth: "
		"which "
		"stacks touch new memory ('watch --growth'), procfs: its mappings ('maps')"},
	{OPT_ATTACH_PATCH_POINTERS, "patch-pointers", NULL,
		"also change words of writable data that hold the address of malloc or the like, "
		"so that calls through them are recorded; DANGEROUS: a word that holds that number "
		"for another purpose is changed too"},
	{OPT_ATTACH_RATE, "memprofilerate", "BYTES",
		"of Go: sample about one allocation per BYTES allocated (default 512K, or as it "
		"does already; 1: all), in the time until it is let go"},
	{OPT_ATTACH_AT, "at", "STATE",
		"of Go: now (default): write what was allocated and freed until now; gc: the state "
		"at the last complete garbage collection, as Go's own profiles have"},
	{0}};

struct attach_request {
	struct launch_options launch;
	struct attach_options attach;
	enum attach_route route;
	const char *for_time; /* as it was written */
	bool quiet, dry_run;
	uint64_t go_rate; /* 0: not given */
	enum go_state go_state;
	bool has_mode, has_pause, has_go_option;
};

/* Returns false, after saying so, if there is an error, which is destroyed. */
static bool take_or_refuse(const struct options *options, struct error *error)
{
	if (!error)
		return true;
	options_refuse(options, error);
	error_destroy(error);
	return false;
}

/* Returns false, after saying so, if `text` is no time. */
static bool take_time(
	const struct options *options, const char *name, const char *text, uint64_t *ret)
{
	if (duration_parse(text, ret) && *ret)
		return true;
	return take_or_refuse(options,
		error_create(ERROR_USAGE, "invalid --%s '%s': expected a time (300ms, 60s, 5min)",
			name, text));
}

static bool take_before(const struct options *options, const char *text, enum attach_before *ret)
{
	static const char *const names[] = {[ATTACH_BEFORE_AUTO] = "auto",
		[ATTACH_BEFORE_SNAPSHOT] = "snapshot",
		[ATTACH_BEFORE_NONE] = "none"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*ret = (enum attach_before)i;
		return true;
	}
	struct error *error = error_create(
		ERROR_USAGE, "invalid --before '%s': expected auto, snapshot or none", text);
	options_refuse(options, error);
	error_destroy(error);
	return false;
}

static bool take_route(const struct options *options, const char *text, enum attach_route *ret)
{
	if (attach_route_parse(text, ret))
		return true;
	return take_or_refuse(options,
		error_create(ERROR_USAGE,
			"invalid --route '%s': expected auto, inject, ebpf, go, growth or procfs",
			text));
}

/* As the flag of `go test`: bytes, here with a unit, too. */
static bool take_rate(const struct options *options, const char *text, uint64_t *ret)
{
	if (options_size(text, ret) && *ret && *ret <= GO_RATE_MOST)
		return true;
	return take_or_refuse(options,
		error_create(ERROR_USAGE,
			"invalid --memprofilerate '%s': expected bytes from 1 on (524288, 512K) up "
			"to 112M: Go's runtime takes larger ones for that",
			text));
}

static bool take_state(const struct options *options, const char *text, enum go_state *ret)
{
	if (attach_go_state_parse(text, ret))
		return true;
	return take_or_refuse(
		options, error_create(ERROR_USAGE, "invalid --at '%s': expected now or gc", text));
}

static bool take_option(const struct options *options, int id, void *ctx)
{
	struct attach_request *request = ctx;
	const char *argument = options->argument;
	switch (id) {
	case 'o':
		request->launch.file = argument;
		return true;
	case 'f':
		request->launch.overwrite = true;
		return true;
	case 'q':
		request->quiet = true;
		return true;
	case OPT_ATTACH_FOR:
		request->for_time = argument;
		return take_time(options, "for", argument, &request->attach.for_ns);
	case OPT_ATTACH_MODE:
		request->has_mode = true;
		return take_or_refuse(
			options, recording_mode_parse(argument, &request->launch.mode));
	case OPT_ATTACH_SEED:
		return take_or_refuse(
			options, recording_seed_parse(argument, &request->launch.mode.seed));
	case OPT_ATTACH_DRY_RUN:
		request->dry_run = true;
		return true;
	case OPT_ATTACH_PAUSE:
		return take_time(options, "pause", argument, &request->attach.budget_ns);
	case OPT_ATTACH_PATCH_POINTERS:
		request->attach.patch_pointers = true;
		return true;
	case OPT_ATTACH_BEFORE:
		return take_before(options, argument, &request->attach.before);
	case OPT_ATTACH_RATE:
		request->has_go_option = true;
		return take_rate(options, argument, &request->go_rate);
	case OPT_ATTACH_AT:
		request->has_go_option = true;
		return take_state(options, argument, &request->go_state);
	case OPT_ATTACH_ROUTE:
		return take_route(options, argument, &request->route);
	default:
		return options_untaken(options, id);
	}
}

/* Why what was allocated before is not listed; NULL: it is. */
static const char *describe_older(enum hpw_older why)
{
	switch (why) {
	case HPW_OLDER_UNKNOWN:
		return NULL;
	case HPW_OLDER_UNWANTED:
		return "is not listed (--before=none)";
	case HPW_OLDER_SAMPLED:
		return "is not listed: samples have no use for it";
	case HPW_OLDER_PAUSE:
		return "is not listed: copying the process would stop it for longer than --pause "
		       "allows (--before=snapshot: do it anyway)";
	case HPW_OLDER_LACKS:
		return "is not listed: a copy of the process would lack some of its memory "
		       "(MADV_DONTFORK, MADV_WIPEONFORK)";
	case HPW_OLDER_REFUSED:
		return "is not listed: the process could not be copied (a limit of processes or "
		       "memory, or a seccomp filter?)";
	default:
		return "is not listed: there is no memory for that";
	}
}

static void add_kept(struct text *text, const struct attach_kept *kept)
{
	if (kept->partial)
		text_add(text, "at least ");
	text_add_counted(text, kept->words, "word holds", "words hold");
	text_add(text, " an address of malloc or the like from before (");
	text_add_shown(text, kept->where ? kept->where : "?", SIZE_MAX);
	text_add(text, ")");
}

static void say_kept(const struct attach_kept *kept)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (!kept->words)
		return;
	add_kept(&text, kept);
	message("%s; calls through them are not recorded", text.failed ? "?" : text.data);
}

/* What leads elsewhere or is apart, and stays as it is. */
static void add_left(struct text *text, size_t other, size_t apart)
{
	if (other) {
		text_add_counted(text, other, "reference leads", "references lead");
		text_add(text, " to other functions than the allocator's (RTLD_DEEPBIND?)");
	}
	text_add(text, other && apart ? ", " : "");
	if (apart) {
		text_add_counted(text, apart, "library is in a namespace of its own",
			"libraries are in namespaces of their own");
		text_add(text, " (dlmopen)");
	}
}

static void say_left(size_t other, size_t apart)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (!other && !apart)
		return;
	add_left(&text, other, apart);
	message("%s: what they call is not recorded", text.failed ? "?" : text.data);
}

static void describe_start(void *context, const struct attach_start *start)
{
	const struct attach_request *request = context;
	if (request->quiet)
		return;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "process %d is recorded to %s from now on: ", (int)request->attach.pid,
		recording_short_name(start->file));
	if (start->functions) {
		text_add_counted(&text, start->functions, "function", "functions");
		text_add(&text, " of its own allocator changed, ");
	}
	text_add_counted(&text, start->slots, "reference", "references");
	text_add(&text, " changed in ");
	text_add_counted(&text, start->objects, "object", "objects");
	if (start->pointers)
		text_printf(
			&text, " (of these %zu kept addresses, --patch-pointers)", start->pointers);
	text_add(&text, ", it stood still for ");
	text_add_duration_ns(&text, start->pause_ns);
	message("%s", text.failed ? "recorded" : text.data);
	say_kept(start->kept);
	if (start->functions_refused)
		message("another allocator in the program is not recorded: %s",
			start->functions_refused);
	say_left(start->other, start->apart);
	if (start->late_threads)
		message("thread %d%s did not return from the kernel meanwhile (dead disk?); its "
			"calls are "
			"recorded as soon as it does",
			(int)start->late_tid, start->late_threads > 1 ? " and others" : "");
	const char *older = describe_older(start->older);
	if (older && start->older != HPW_OLDER_UNWANTED)
		message("what it had allocated before %s", older);
	if (!request->attach.for_ns)
		message("^C, or 'heapwise detach %d', lets it go", (int)request->attach.pid);
}

static struct attach_route_request route_request(const struct attach_request *request)
{
	return (struct attach_route_request){
		.attach = &request->attach, .quiet = request->quiet, .for_time = request->for_time};
}

/* Whether another route is to be tried if a process can't be attached. */
static bool may_probe(const struct attach_request *request, const struct attach_outlook *outlook)
{
	const struct attach_route_request route = route_request(request);
	return request->route == ATTACH_ROUTE_AUTO && !outlook->is_recorded &&
	       !attach_route_lacks(&route);
}

/* The answer to --dry-run. */
static int show_outlook(const struct attach_request *request)
{
	struct attach_outlook outlook;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	struct error *error = attach_examine(&request->attach, &outlook);
	if (error) {
		const struct attach_route_request route = route_request(request);
		bool probes = may_probe(request, &outlook);
		attach_outlook_deinit(&outlook);
		return probes ? attach_route_probe_outlook(&route, error) : message_error(error);
	}
	text_printf(&text, "process        %d, ", (int)request->attach.pid);
	text_add_counted(&text, outlook.threads, "thread", "threads");
	text_add(&text, "\nallocator      ");
	text_add_shown(&text, outlook.allocator, SIZE_MAX);
	text_add(&text, outlook.own_operators ? " (operators new and delete too)" : "");
	text_add(&text, "\nroute          inject: ");
	if (outlook.functions) {
		text_add(&text,
			"the first bytes of its own functions become jumps\nfunctions      ");
		text_add_shown(
			&text, outlook.function_names ? outlook.function_names : "?", SIZE_MAX);
	} else {
		text_add(&text, "its references to the allocator's functions are changed");
	}
	text_add(&text, "\nreferences     ");
	text_add_counted(&text, outlook.slots, "word", "words");
	text_add(&text, " in ");
	text_add_counted(&text, outlook.objects, "object", "objects");
	if (outlook.pointers)
		text_printf(&text, ", of these %zu kept addresses (--patch-pointers)",
			outlook.pointers);
	if (outlook.functions_refused) {
		text_add(&text, "\nas it is       another allocator in the program: ");
		text_add_shown(&text, outlook.functions_refused, SIZE_MAX);
	}
	text_add(&text, "\nbefore         ");
	const char *older = describe_older(outlook.older);
	if (older) {
		text_printf(&text, "what it has allocated so far %s", older);
	} else {
		text_add(&text, "what it has allocated so far is listed from a copy of its memory");
		if (outlook.copy_ns) {
			text_add(&text, ", for which it stands still for about ");
			text_add_duration_ns(&text, outlook.copy_ns);
		}
	}
	text_add(&text, "\n");
	if (outlook.is_filtered)
		text_add(&text,
			"seccomp        filters; whether they let all calls pass is looked at when "
			"it is attached\n");
	if (outlook.kept.words) {
		text_add(&text, "not recorded   ");
		add_kept(&text, &outlook.kept);
		text_add(&text, "\n");
	}
	if (outlook.other || outlook.apart) {
		text_add(&text, "not recorded   ");
		add_left(&text, outlook.other, outlook.apart);
		text_add(&text, "\n");
	}
	attach_outlook_deinit(&outlook);
	return output_text(&text);
}

/* Records it by its references. */
static int run_inject(struct attach_request *request, bool may_go_on)
{
	const struct attach_route_request route = route_request(request);
	struct launch_result result;
	size_t later = 0;
	request->attach.ret_later = &later;
	struct error *error = attach_and_wait(&request->attach, &result);
	if (error && may_go_on)
		return attach_route_probe(&route, error);
	if (error)
		return message_error(error);
	const struct collector_recording *first =
		recording_describe_end(&result, &request->launch.dumps, request->quiet);
	if (later && !request->quiet)
		message("%zu %s loaded meanwhile: what %s called in about the first 0.02 s is not "
			"recorded",
			later, later == 1 ? "library was" : "libraries were",
			later == 1 ? "it" : "they");
	int code = first && !first->totals.write_error ? 0 : ERROR_ENVIRONMENT;
	launch_result_deinit(&result);
	return code;
}

/* Why a profile of Go's runtime can't be what was asked for; NULL: it can. */
static const char *go_lacks(const struct attach_request *request)
{
	if (request->has_mode)
		return "--mode: Go's runtime samples, see --memprofilerate";
	if (request->launch.mode.seed)
		return "--seed: Go's runtime draws the samples";
	if (request->attach.before != ATTACH_BEFORE_AUTO)
		return "--before: what was allocated before is not known";
	if (request->attach.patch_pointers)
		return "--patch-pointers: no reference is changed";
	return NULL;
}

static int run_go(const struct attach_request *request, const struct options *options)
{
	const struct attach_go_request go = {.pid = request->attach.pid,
		.for_ns = request->attach.for_ns,
		.rate = request->go_rate,
		.state = request->go_state,
		.file = request->launch.file,
		.overwrite = request->launch.overwrite,
		.quiet = request->quiet,
		.is_chosen = request->route == ATTACH_ROUTE_AUTO};
	const char *lacks = go_lacks(request);
	if (lacks)
		return options_wrong(options->command, "route go can't go with %s", lacks);
	return request->dry_run ? attach_go_outlook(&go) : attach_go_run(&go);
}

/* By the first route that is possible. What only shows when it is attached is whether filters let
 * all calls pass, and whether ptrace is allowed. */
static int run_auto(struct attach_request *request)
{
	const struct attach_route_request route = route_request(request);
	struct attach_outlook outlook;
	attach_put_back_copy(request->attach.pid); /* its parent's hooks are no reason against it */
	struct error *error = attach_examine(&request->attach, &outlook);
	bool probes = may_probe(request, &outlook) && !process_is_ending(request->attach.pid);
	bool may_be_refused = outlook.is_filtered || process_tracer(request->attach.pid);
	attach_outlook_deinit(&outlook);
	if (error)
		return probes ? attach_route_probe(&route, error) : message_error(error);
	return run_inject(request, probes && may_be_refused);
}

/* Returns the exit status. */
static int run_route(struct attach_request *request, const struct options *options)
{
	const struct attach_route_request route = route_request(request);
	const char *lacks = attach_route_lacks(&route);
	bool is_go = request->route == ATTACH_ROUTE_GO ||
		     (request->route == ATTACH_ROUTE_AUTO && attach_go_is_usual(route.attach->pid));
	if (is_go)
		return run_go(request, options);
	if (request->has_go_option)
		return options_wrong(options->command,
			"--memprofilerate and --at are of the heap profiles of Go: --route=go");
	switch (request->route) {
	case ATTACH_ROUTE_INJECT:
		return request->dry_run ? show_outlook(request) : run_inject(request, false);
	case ATTACH_ROUTE_EBPF:
		if (lacks)
			return options_wrong(
				options->command, "--route=ebpf can't go with %s", lacks);
		return request->dry_run ? attach_route_probe_outlook(&route, NULL)
					: attach_route_probe(&route, NULL);
	case ATTACH_ROUTE_GO:
		break;
	case ATTACH_ROUTE_GROWTH:
	case ATTACH_ROUTE_PROCFS:
		if (request->launch.file || request->dry_run)
			return options_wrong(options->command,
				"this route makes no recording and changes nothing: -o and "
				"--dry-run can't go with it");
		return attach_route_hand_over(&route, request->route);
	default:
		break;
	}
	if (!request->quiet)
		attach_go_hint(route.attach->pid);
	return request->dry_run ? show_outlook(request) : run_auto(request);
}

static int cmd_attach(const struct command *command, int argc, char **argv)
{
	struct attach_request request = {
		.launch = {.children = COLLECTOR_CHILDREN_NO, .lifeline = -1, .errors = -1}};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	request.attach = (struct attach_options){.launch = &request.launch,
		.budget_ns = PAUSE_USUAL_MS * 1000000ull,
		.list_blocks = older_blocks_list,
		.on_start = describe_start,
		.on_start_context = &request};
	if (!options_each(&options, take_option, &request, &code))
		return code;
	if (!options_one_pid(&options, &request.attach.pid))
		return ERROR_USAGE;
	return run_route(&request, &options);
}

const struct command command_attach = {
	.name = "attach",
	.synopsis = "PID [-o FILE] [-f] [-q] [--for TIME] [--before HOW] [--dry-run]",
	.what = "Records a process that runs already, until it ends or is let go.",
	.about =
		"From now on the process is recorded as if 'heapwise run' had started it, until it "
		"ends, ^C, the end\n"
		"of --for, or 'heapwise detach PID'. All its threads are stopped for about a "
		"millisecond, in which\n"
		"its references to malloc and the other functions of its allocator are changed; "
		"detaching changes\n"
		"them back. No function of the process is called, nothing is loaded, and no file "
		"has to be visible\n"
		"to it.\n"
		"\nOf a program that has its allocator in it (statically linked; jemalloc, "
		"tcmalloc) "
		"the functions'\n"
		"first bytes are changed instead, by its symbols. Set no probe on them meanwhile "
		"(docs/attach.md).\n"
		"\nWhat it had allocated before is listed from a copy of its memory, by type, as "
		"'heapwise heap' does:\n"
		"it counts as live from the beginning, has no stacks, and its frees are known. The "
		"copy takes about\n"
		"16 ms a GiB, in which the process stands still (--before, --dry-run).\n"
		"\nWhere that is refused (a static program, one under seccomp), it is recorded by "
		"probes in the kernel, if\n"
		"that is allowed, as 'heapwise watch PID --all -o FILE' does (--route).\n"
		"\nOf a program in Go without C the heap profile is read that its runtime keeps "
		"(--route=go), also if it\n"
		"never imported runtime/pprof: sampled since then, with Go's functions and lines. "
		"The one word of it\n"
		"that is changed is runtime.MemProfileRate (docs/howto/go.md).\n"
		"\n'heapwise ctl PID', 'dump PID', 'mark PID' and 'leaks PID' work as for a "
		"process that was started\n"
		"under 'run'. Children that it forks are not recorded.\n",
	.examples = "  heapwise attach 4711 --for 60s -o leak.hpw && heapwise report leak.hpw\n"
		    "  heapwise attach $(pidof redis-server)\n"
		    "  heapwise attach --dry-run 4711\n"
		    "  heapwise attach $(pidof my-go-service) --for 60s -o heap.pb.gz && heapwise "
		    "report "
		    "heap.pb.gz\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_attach,
};
