/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise java: what a running JVM allocates, what is live in it, and its classes. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "cli/java/java_dump.h"
#include "cli/java/java_session.h"
#include "cli/java/java_target.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/moments.h"
#include "sources/java_text.h"
#include "views/java_view.h"

/* As much as an answer of the JVM may have: a million classes. */
#define ANSWER_MAX (256u << 20)
#define DURATION_USUAL_NS (60 * 1000000000ull)
#define INTERVAL_MOST INT32_MAX
#define DEPTH_MOST 2048u

enum {
	OPT_HEAP = 256,
	OPT_LIVE,
	OPT_NATIVE,
	OPT_JSON,
	OPT_CSV,
	OPT_SORT,
	OPT_WHERE,
	OPT_WHY,
	OPT_BASE,
	OPT_LIMIT,
	OPT_ALLOC,
	OPT_MINWIDTH,
	OPT_REVERSE,
	OPT_TOTAL,
	OPT_OBJECTS,
	OPT_GC,
	OPT_SURVIVED,
	OPT_TITLE,
	OPT_LOOP,
	OPT_BEGIN,
	OPT_END,
};

static const struct option_spec option_specs[] = {
	{'d', "duration", "TIME",
		"record for so long: seconds, or a time with a unit (default: 60s; ^C ends it)"},
	{'e', "event", "alloc", "what is recorded: allocations of objects (default)"},
	{'i', "interval", "SIZE",
		"record about one object per SIZE bytes allocated (default: 512k)"},
	{OPT_ALLOC, "alloc", "SIZE", "the same as --interval"},
	{OPT_LIVE, "live", NULL,
		"show objects that are live; with --heap those that are reachable, after a full "
		"collection"},
	{OPT_GC, "gc", NULL, "collect garbage before objects count as live (a full collection)"},
	{OPT_SURVIVED, "survived", "N",
		"with --live: only objects that survived N garbage collections or more"},
	{'j', "jstackdepth", "N", "record at most N frames of a stack (default: 256, up to 2048)"},
	{'t', "threads", NULL, "have the thread's name as the outermost frame"},
	{'f', "file", "FILE",
		"write to FILE; its name says the form: .html, .svg, .collapsed, .pb, else text "
		"(default: the profile to NAME.PID.pb, the report to stdout)"},
	{'o', "output", "FORM", "flat[=N], traces[=N], collapsed, tree, flamegraph or pprof"},
	{'I', "include", "PATTERN",
		"only stacks with such a frame: com.example.*, *.parse*; may be repeated"},
	{'X', "exclude", "PATTERN", "leave out stacks with such a frame; may be repeated"},
	{'s', "simple", NULL, "show classes without their packages"},
	{'g', "sig", NULL, "show the types of methods' parameters and results"},
	{OPT_TOTAL, "total", NULL, "show bytes (default)"},
	{OPT_OBJECTS, "objects", NULL, "show how many objects, in place of bytes"},
	{OPT_MINWIDTH, "minwidth", "PERCENT",
		"leave narrower frames out of flame graphs and trees"},
	{OPT_TITLE, "title", "TEXT", "what a flame graph (.svg or .html) is called"},
	{OPT_REVERSE, "reverse", NULL, "begin flame graphs and trees at the innermost frames"},
	{OPT_HEAP, "heap", NULL,
		"show the classes that have objects now, and their bytes, exactly"},
	{OPT_NATIVE, "native", NULL,
		"with --heap: show the JVM's native memory too, if it is tracked "
		"(-XX:NativeMemoryTracking=summary)"},
	{OPT_SORT, "sort", "COLUMN", "with --heap: bytes (default), instances, mean_bytes, class"},
	{OPT_WHERE, "where", "TEST",
		"with --heap: only classes that fit: bytes>=1m, class~String; may be repeated"},
	{OPT_WHY, "why", "CLASS",
		"with --heap, or of FILE: show what holds objects of this class, from a heap dump"},
	{OPT_BASE, "base", "OLDER", "of FILE: show how classes differ from this heap dump"},
	{OPT_LIMIT, "limit", "N",
		"with --heap, or of FILE: show at most N classes (default: 30; of --why 10 ways)"},
	{OPT_JSON, "json", NULL,
		"with --heap, or of FILE: write JSON, schema heapwise.java-heap/1 and others"},
	{OPT_CSV, "csv", NULL, "with --heap, or of FILE: write the table as CSV"},
	{'l', "lib", NULL,
		"does nothing: names of libraries belong to native frames, and stacks have Java "
		"frames alone"},
	{'a', "annotate", NULL, "refused: how a frame's code was made is known of CPU samples"},
	{'n', "norm", NULL, "refused: names of hidden classes are as the JVM has them"},
	{'L', "loglevel", "LEVEL", "refused: there is no log"},
	{OPT_LOOP, "loop", "TIME", "refused: repeat the command in a loop of the shell"},
	{OPT_BEGIN, "begin", "FUNCTION", "refused: 'start' begins a recording"},
	{OPT_END, "end", "FUNCTION", "refused: 'stop' ends it"}, {0}};

static const struct option_heading option_headings[] = {{'d', "Recording what is allocated"},
	{'f', "How it is shown"}, {OPT_HEAP, "Classes of the heap, without a recording"},
	{'l', "Other options of async-profiler"}, {0}};

struct java_words {
	struct java_request request;
	struct java_options heap_options;
	struct java_dump dump;
	bool is_heap, has_native;
	bool is_shown;    /* an option of how a profile is shown was given */
	bool is_of_heap;  /* one of --heap alone */
	bool is_of_start; /* one of a start */
};

/* ---- Options --------------------------------------------------------------------------------- */

/* "30" is seconds, as async-profiler has it. */
static bool duration_take(const struct options *options, uint64_t *ret)
{
	uint64_t seconds;
	if (number_whole(options->argument, &seconds) && seconds <= UINT32_MAX) {
		*ret = seconds * 1000000000u;
		return true;
	}
	if (duration_parse(options->argument, ret) && *ret)
		return true;
	options_wrong(options->command,
		"invalid --duration '%s': expected seconds, or a time with a unit, like 500ms or "
		"5min",
		options->argument);
	return false;
}

static bool interval_take(const struct options *options, uint64_t *ret)
{
	if (options_size(options->argument, ret) && *ret && *ret <= INTERVAL_MOST)
		return true;
	options_wrong(options->command,
		"invalid --interval '%s': expected a size from 1 byte to 2 GiB, like 512k: what "
		"is allocated between two samples on average",
		options->argument);
	return false;
}

static bool depth_take(const struct options *options, uint64_t *ret)
{
	if (!options_number(options, options->argument, "jstackdepth", ret))
		return false;
	if (*ret <= DEPTH_MOST)
		return true;
	options_wrong(options->command, "invalid --jstackdepth '%s': at most %u", options->argument,
		DEPTH_MOST);
	return false;
}

static bool event_take(const struct options *options)
{
	static const struct {
		const char *event, *instead;
	} others[] = {
		{"cpu", "CPU time is recorded by async-profiler or 'perf record'"},
		{"itimer", "CPU time is recorded by async-profiler or 'perf record'"},
		{"ctimer", "CPU time is recorded by async-profiler or 'perf record'"},
		{"wall", "time that passes is recorded by async-profiler (-e wall)"},
		{"lock", "waiting for locks is recorded by async-profiler (-e lock) or JFR"},
		{"nativemem", "native allocations are recorded by 'heapwise attach PID'"},
	};
	if (!strcmp(options->argument, "alloc"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(options->argument, others[i].event) != 0)
			continue;
		options_wrong(options->command,
			"heapwise is about memory and has no event '%s': %s", others[i].event,
			others[i].instead);
		return false;
	}
	options_wrong(options->command, "unknown event '%s': there is alloc", options->argument);
	return false;
}

/* Options of async-profiler that are not there. Returns false. */
static bool other_take(const struct options *options, int id)
{
	static const struct {
		int id;
		const char *why;
	} others[] = {
		{'a', "-a marks how a frame's code was made (interpreted, compiled), which is "
		      "known "
		      "of CPU samples: async-profiler has it"},
		{'n', "-n makes one name of those of hidden classes and lambdas, which differ from "
		      "run to run: here names are as the JVM has them; leave such frames out with "
		      "-X"},
		{'L', "-L sets how much async-profiler logs: heapwise keeps no log, and says what "
		      "is "
		      "wrong on stderr"},
		{OPT_LOOP,
			"--loop is not there: repeat 'heapwise java PID -d TIME -f FILE' in a loop "
			"of the shell, with another FILE each time"},
		{OPT_BEGIN, "--begin starts at a native function, and is not there: begin with "
			    "'heapwise java start PID', or use async-profiler"},
		{OPT_END, "--end stops at a native function, and is not there: end with 'heapwise "
			  "java stop PID', or use async-profiler"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].id == id)
			options_wrong(options->command, "%s", others[i].why);
	return false;
}

static bool form_take(const struct options *options, struct java_shown *ret)
{
	if (java_form_parse(options->argument, ret))
		return true;
	options_wrong(options->command,
		"invalid --output '%s': expected flat[=N], traces[=N], collapsed, tree, "
		"flamegraph or pprof",
		options->argument);
	return false;
}

static bool pattern_take(const struct options *options, struct java_patterns *ret)
{
	if (java_patterns_push(ret, options->argument))
		return true;
	options_refuse(options, error_no_memory());
	return false;
}

static bool heap_option(const struct options *options, int id, struct java_words *words)
{
	uint64_t limit;
	words->is_of_heap |= id != OPT_HEAP;
	switch (id) {
	case OPT_HEAP:
		words->is_heap = true;
		return true;
	case OPT_NATIVE:
		words->has_native = true;
		return true;
	case OPT_JSON:
		words->heap_options.json = true;
		return true;
	case OPT_CSV:
		words->heap_options.csv = true;
		return true;
	case OPT_SORT:
		words->heap_options.asked.sort = options->argument;
		return true;
	case OPT_WHERE:
		return table_words_push(&words->heap_options.asked.where, options->argument);
	case OPT_WHY:
		words->dump.why = options->argument;
		return true;
	case OPT_BASE:
		words->dump.base = options->argument;
		return true;
	case OPT_LIMIT:
		if (!options_number(options, options->argument, "limit", &limit))
			return false;
		words->heap_options.limit = limit;
		return true;
	default:
		return options_untaken(options, id);
	}
}

static bool shown_option(const struct options *options, int id, struct java_words *words)
{
	struct java_shown *shown = &words->request.shown;
	words->is_shown = true;
	switch (id) {
	case 'f':
		shown->file = options->argument;
		return true;
	case 'o':
		return form_take(options, shown);
	case 'I':
		return pattern_take(options, &shown->include);
	case 'X':
		return pattern_take(options, &shown->exclude);
	case 's':
		words->request.short_names = true;
		return true;
	case 'g':
		shown->signatures = true;
		return true;
	case OPT_TOTAL:
		shown->objects = false;
		return true;
	case OPT_OBJECTS:
		shown->objects = true;
		return true;
	case OPT_MINWIDTH:
		shown->least = options->argument;
		return true;
	case OPT_TITLE:
		shown->title = options->argument;
		return true;
	case OPT_REVERSE:
		shown->reverse = true;
		return true;
	case OPT_GC:
		words->request.collects = true;
		return true;
	case OPT_SURVIVED:
		return options_number(
			options, options->argument, "survived", &words->request.survived);
	default:
		return heap_option(options, id, words);
	}
}

static bool cmd_java_take(const struct options *options, int id, void *ctx)
{
	struct java_words *words = ctx;
	struct java_request *request = &words->request;
	switch (id) {
	case 'd':
		return duration_take(options, &request->duration_ns);
	case 'e':
		return event_take(options);
	case OPT_LIVE:
		request->live = true;
		return true;
	case 'i':
	case OPT_ALLOC:
		words->is_of_start = true;
		return interval_take(options, &request->interval);
	case 'j':
		words->is_of_start = true;
		return depth_take(options, &request->depth);
	case 't':
		words->is_of_start = request->threads = true;
		return true;
	case 'l':
		return true;
	case 'a':
	case 'n':
	case 'L':
	case OPT_LOOP:
	case OPT_BEGIN:
	case OPT_END:
		return other_take(options, id);
	default:
		return id >= OPT_HEAP && id <= OPT_LIMIT && id != OPT_LIVE
			       ? heap_option(options, id, words)
			       : shown_option(options, id, words);
	}
}

/* ---- The heap -------------------------------------------------------------------------------- */

static struct error *classes_ask(
	const struct java_vm *vm, bool reachable, struct java_memory *memory)
{
	const char *const words[4] = {"inspectheap", reachable ? "-live" : "-all"};
	char *text = NULL;
	size_t len;
	struct error *error = java_vm_ask(vm, words, ANSWER_MAX, &text, &len);
	return error ? error
		     : error_prefix(java_histogram_parse(text, memory), "JVM %d", (int)vm->pid);
}

/* What the JVM doesn't tell is a sentence, as classes are known all the same. */
static struct error *native_ask(const struct java_vm *vm, struct java_memory *memory)
{
	const char *const words[4] = {"jcmd", "VM.native_memory summary scale=KB"};
	char *text = NULL;
	size_t len;
	struct error *error = java_vm_ask(vm, words, ANSWER_MAX, &text, &len);
	return error ? error : java_native_parse(text, memory);
}

static int heap_show(const struct java_vm *vm, const struct java_words *words)
{
	struct java_memory memory;
	_cleanup_error_ struct error *native = NULL;
	java_memory_init(&memory);
	struct error *error = classes_ask(vm, words->request.live, &memory);
	if (!error && words->has_native)
		native = native_ask(vm, &memory);
	int code = 0;
	if (!error) {
		const struct java_subject subject = {.pid = (uint64_t)vm->pid,
			.name = vm->name,
			.reachable = words->request.live,
			.native = native ? native->message : NULL,
			.memory = &memory};
		struct output output;
		struct sink sink = output_sink(&output);
		error = java_heap_write(&subject, &words->heap_options, &sink);
		code = output_end(&output);
	}
	java_memory_deinit(&memory);
	return error ? message_error(error) : code;
}

/* ---- The command ----------------------------------------------------------------------------- */

static const char *const action_names[JAVA_ACTIONS] = {[JAVA_COLLECT] = "collect",
	[JAVA_START] = "start",
	[JAVA_RESUME] = "resume",
	[JAVA_STOP] = "stop",
	[JAVA_DUMP] = "dump",
	[JAVA_STATUS] = "status",
	[JAVA_LIST] = "list"};

static bool action_take(const char *word, enum java_action *ret)
{
	for (unsigned i = 0; i < JAVA_ACTIONS; i++) {
		if (strcmp(word, action_names[i]) != 0)
			continue;
		*ret = (enum java_action)i;
		return true;
	}
	return false;
}

static int list_show(void)
{
	struct text text;
	text_init(&text);
	text_add(&text, "Events\n  alloc  objects that are allocated, and with --live those that "
			"stay\n\nJVMs\n");
	struct error *error = java_targets_add(&text);
	if (!error)
		return output_text(&text);
	text_deinit(&text);
	return message_error(error);
}

/* Returns -1, or the exit status of a wrong use. */
static int words_check(const struct command *command, const struct java_words *words)
{
	enum java_action action = words->request.action;
	bool starts = action == JAVA_COLLECT || action == JAVA_START;
	bool shows = action == JAVA_COLLECT || action == JAVA_STOP || action == JAVA_DUMP;
	if (words->is_heap && (words->is_shown || words->is_of_start || action != JAVA_COLLECT ||
				      words->request.duration_ns))
		return options_wrong(command, "--heap shows what is there now, without a "
					      "recording: it has no actions, and of the options "
					      "--live and those of its own");
	if (!words->is_heap && words->is_of_heap)
		return options_wrong(command,
			"--native, --why, --json, --csv, --sort, --where and --limit belong to "
			"--heap");
	if (words->is_of_start && !starts)
		return options_wrong(command,
			"--interval, --jstackdepth and --threads are said when a recording "
			"starts, not with '%s'",
			action_names[action]);
	if (words->is_shown && !shows)
		return options_wrong(command,
			"'%s' shows no profile: --file, --output and the like belong to 'stop', "
			"'dump' and -d",
			action_names[action]);
	if (words->request.duration_ns && action != JAVA_COLLECT)
		return options_wrong(
			command, "--duration belongs to a recording without 'start' and 'stop'");
	if (words->request.survived && starts && !words->request.live)
		return options_wrong(command, "--survived is for live objects: add --live");
	return -1;
}

/* Returns -1, or the exit status of a wrong use. */
static int dump_check(const struct command *command, const struct java_words *words, bool is_file)
{
	const struct java_dump *dump = &words->dump;
	const struct java_options *heap = &words->heap_options;
	bool is_of_classes = heap->asked.sort || heap->asked.where.len || words->has_native;
	if (dump->why && dump->base)
		return options_wrong(command, "--why and --base exclude each other");
	if (is_file && (words->is_shown || words->is_of_start || words->request.duration_ns ||
			       words->request.live || words->is_heap || is_of_classes))
		return options_wrong(command, "a heap dump takes no other options than --why, "
					      "--base, --limit, --json and --csv");
	if (dump->base && !is_file)
		return options_wrong(command, "--base compares heap dumps: give a FILE.hprof");
	if (dump->why && is_of_classes)
		return options_wrong(command, "--why takes neither --sort, --where nor --native");
	if ((is_file || dump->why) && heap->json && heap->csv)
		return options_wrong(command, "--json and --csv exclude each other");
	return -1;
}

static int target_run(const char *word, struct java_words *words)
{
	struct java_vm vm = {.tmp = -1};
	pid_t pid;
	struct error *error = java_target_find(word, &pid);
	if (!error)
		error = java_vm_open(pid, &vm);
	int code = error             ? message_error(error)
		   : words->dump.why ? java_dump_show_live(&vm, &words->dump)
		   : words->is_heap  ? heap_show(&vm, words)
				     : java_session_run(&vm, &words->request);
	java_vm_close(&vm);
	return code;
}

static int words_run(
	const struct command *command, struct java_words *words, char **operands, size_t count)
{
	if (count && action_take(operands[0], &words->request.action)) {
		operands++;
		count--;
	}
	bool is_file = count == 1 && words->request.action == JAVA_COLLECT &&
		       java_dump_is_file(operands[0]);
	size_t len = count == 1 ? strlen(operands[0]) : 0;
	if (len > 4 && !strcmp(operands[0] + len - 4, ".jfr"))
		return options_wrong(command,
			"%s is a recording of JFR, which needs no JVM: 'heapwise report FILE' and "
			"all other views read it",
			operands[0]);
	int code = dump_check(command, words, is_file);
	if (code < 0 && !is_file)
		code = words_check(command, words);
	if (code >= 0)
		return code;
	words->dump.limit = (size_t)words->heap_options.limit;
	words->dump.json = words->heap_options.json;
	words->dump.csv = words->heap_options.csv;
	words->dump.file = is_file ? operands[0] : NULL;
	if (is_file)
		return java_dump_show(&words->dump);
	if (words->request.action == JAVA_LIST && !count)
		return list_show();
	if (words->request.action == JAVA_LIST)
		return options_wrong(command, "unexpected '%s' after 'list'", operands[0]);
	if (!count)
		return options_wrong(command,
			"missing PID or NAME of a JVM ('heapwise java list' shows those that run)");
	if (count > 1)
		return options_wrong(command, "unexpected '%s': one JVM at a time", operands[1]);
	if (!words->request.duration_ns)
		words->request.duration_ns = DURATION_USUAL_NS;
	java_form_by_name(&words->request.shown);
	if (words->request.shown.file && words->request.shown.form == JAVA_FORM_USUAL)
		words->request.shown.form = JAVA_FORM_TRACES;
	if (words->request.shown.title && words->request.shown.form != JAVA_FORM_FLAMEGRAPH)
		return options_wrong(command, "--title is the heading of a flame graph: add -f "
					      "FILE.svg, -f FILE.html or -o flamegraph");
	return target_run(operands[0], words);
}

static int cmd_java(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct java_words words = {.is_heap = false};
	int code;
	if (options_each(&options, cmd_java_take, &words, &code))
		code = words_run(
			command, &words, argv + options.operand, (size_t)(argc - options.operand));
	java_patterns_deinit(&words.request.shown.include);
	java_patterns_deinit(&words.request.shown.exclude);
	table_words_deinit(&words.heap_options.asked.where);
	return code;
}

const struct command command_java = {
	.name = "java",
	.synopsis = "[start|resume|stop|dump|status|list] PID|NAME|FILE.hprof [OPTION…]",
	.what = "Shows which objects a running JVM allocates, and which stay.",
	.about = "NAME is the main class or the file of -jar; 'jps' stands for the only JVM that "
		 "runs. Without an action\n"
		 "it records for --duration, then shows the profile. A small agent in the JVM "
		 "samples allocations (Java 11\n"
		 "or later, HotSpot): figures are estimates, with their ranges in reports. "
		 "Every view reads the profile:\n"
		 "'heapwise tree NAME.PID.pb', 'heapwise diff OLD.pb NEW.pb'.\n"
		 "FILE.hprof is a heap dump (jmap -dump, jcmd GC.heap_dump, "
		 "HeapDumpOnOutOfMemoryError, also with gzip):\n"
		 "classes are shown by what they retain: what would be freed with their objects.\n",
	.examples =
		"  heapwise java 4711 -d 30 --live --gc           where live objects are from\n"
		"  heapwise java Shop -d 30 -f alloc.svg          flame graph of what is "
		"allocated\n"
		"  heapwise java start 4711; …; heapwise java stop 4711 -o flat=20\n"
		"  heapwise java 4711 --heap --live               classes, as 'jmap -histo:live'\n"
		"  heapwise java 4711 --heap --why Order          what holds objects of a class\n"
		"  heapwise java app.hprof --base before.hprof    how classes differ\n",
	.options = option_specs,
	.headings = option_headings,
	.no_files = true,
	.run = cmd_java,
};
