/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that say how a program is recorded: those of `run`, which HEAPWISE_OPTIONS carries
 * too, for programs that are started without the command.
 */
#ifndef CLI_RECORDING_OPTIONS_H
#define CLI_RECORDING_OPTIONS_H

#include "capture/launch.h"
#include "cli/http/http_server.h"
#include "cli/options/dump_options.h"
#include "cli/options/options.h"

enum recording_option {
	OPT_CHILDREN = 256,
	OPT_MODE,
	OPT_SEED,
	OPT_FREE_STACKS,
	OPT_NO_PYOBJECTS,
	OPT_LINE_RSS,
	OPT_RING,
	OPT_MAX_FILE,
	OPT_LEAK_CHECK,
	OPT_ALL_PROCESSES,
	OPT_LEAK_CHECK_AT,
	OPT_LEAK_CHECK_ON_DEATH,
	OPT_LEAK_CHECK_HEURISTICS,
	OPT_LEAK_CHECK_ALIGNMENT,
	OPT_LEAK_CHECK_CLEAR,
	OPT_AS,
	OPT_DUMP_ALLOCATED,
	OPT_DUMP_FREED,
	OPT_DUMP_GROWTH,
	OPT_DUMP_PEAK,
	OPT_DUMP_EVERY,
	OPT_DUMP_RSS,
	OPT_DUMP_PRESSURE,
	OPT_DUMP_SIGNAL,
	OPT_DUMP_AT_EXIT,
	OPT_DUMP_FILE,
	OPT_DUMP_FORMAT_OF,
	OPT_DUMP_KEEP,
	OPT_HTTP,
	OPT_HTTP_REMOTE,
	OPT_MMAP,
	OPT_RECORDING_END, /* ids of a command's further options start here */
};

/* Rows for the options table of a command that takes them. */
#define RECORDING_OPTIONS                                                                          \
	{'o', "output", "FILE",                                                                    \
		"write the recording to FILE (default: heapwise.%n.%p.hpw); %n program, %p PID, "  \
		"%h host"},                                                                        \
		{'f', "force", NULL, "replace FILE if it exists"},                                 \
		{'q', "quiet", NULL, "do not print a summary at the end"},                         \
		{OPT_CHILDREN, "children", "WHICH",                                                \
			"which other processes to record: all (default), no, or a pattern of "     \
			"program names"},                                                          \
		{OPT_ALL_PROCESSES, "all-processes", NULL,                                         \
			"write a file for each process, even if it allocates next to nothing"},    \
		{OPT_MODE, "mode", "MODE",                                                         \
			"exact (default): every event; aggregate: only sums, in a small file; "    \
			"sample[:BYTES]: about one allocation per BYTES allocated (default "       \
			"512K), estimates"},                                                       \
		{OPT_RING, "ring", "SIZE",                                                         \
			"keep only the last events, in SIZE bytes, and the sums of all"},          \
		{OPT_MAX_FILE, "max-file", "SIZE",                                                 \
			"once FILE has SIZE bytes, keep only sums and no more events"},            \
		{OPT_SEED, "seed", "N",                                                            \
			"random seed of --mode sample: the same N takes the same samples"},        \
		{OPT_FREE_STACKS, "free-stacks", NULL,                                             \
			"record the stacks of frees too, so that a double free shows who freed "   \
			"first"},                                                                  \
		{OPT_NO_PYOBJECTS, "no-pyobjects", NULL,                                           \
			"of Python record only what malloc sees, not each object"},                \
		{OPT_LINE_RSS, "line-rss", "FUNC[,FUNC]",                                          \
			"of these Python functions record, too, how often each line ran, and the " \
			"resident memory after it: see list --format memory_profiler"},            \
		{OPT_MMAP, "mmap", "[=WHICH]",                                                     \
			"record what the program maps too (mmap, brk, stacks of threads), apart "  \
			"from "                                                                    \
			"the heap: see report --class; only: not the heap"},                       \
		{OPT_LEAK_CHECK, "leak-check", "[=WHAT]",                                          \
			"search for leaks at the end: full (each allocation site), summary, no "   \
			"(default)"},                                                              \
		{OPT_LEAK_CHECK_AT, "leak-check-at", "WHEN",                                       \
			"when to search: exit (default), after all exit handlers and "             \
			"destructors; main-end, before them"},                                     \
		{OPT_LEAK_CHECK_ON_DEATH, "leak-check-on-death", NULL,                             \
			"also search when a signal kills the program (it is ptraced while it "     \
			"runs)"},                                                                  \
		{OPT_LEAK_CHECK_HEURISTICS, "leak-check-heuristics", "LIST",                       \
			"interior pointers that count as references: all (default), none, or a "   \
			"list of stdstring, length64, newarray, multipleinheritance"},             \
		{OPT_LEAK_CHECK_ALIGNMENT, "leak-check-alignment", "BYTES",                        \
			"alignment of pointers: 8 (default), 4, 2 or 1"},                          \
		{OPT_LEAK_CHECK_CLEAR, "leak-check-clear", "yes|no",                               \
			"clear memory when it is allocated, so that no stale pointers remain in "  \
			"it (default: yes)"},                                                      \
		{OPT_AS, "as", "TOOL",                                                             \
			"lsan: search when LeakSanitizer would, with its exit status (23) and "    \
			"LSAN_OPTIONS; gperftools: HEAPPROFILE, HEAPCHECK and their functions; "   \
			"jemalloc: MALLOC_CONF and mallctl() write its heap "                      \
			"profiles; mtrace: log the calls from mtrace() to muntrace() to the "      \
			"file that MALLOC_TRACE names"},                                           \
		{OPT_DUMP_ALLOCATED, "dump-allocated", "SIZE",                                     \
			"write a dump each time that SIZE more bytes were allocated"},             \
		{OPT_DUMP_FREED, "dump-freed", "SIZE",                                             \
			"write a dump each time that SIZE more bytes were freed"},                 \
		{OPT_DUMP_GROWTH, "dump-growth", "SIZE",                                           \
			"write a dump each time that SIZE more bytes are live than at the last"},  \
		{OPT_DUMP_PEAK, "dump-peak", "SIZE",                                               \
			"write a dump at each new peak that is SIZE above the last dumped one"},   \
		{OPT_DUMP_EVERY, "dump-every", "TIME",                                             \
			"write a dump after each TIME (500ms, 10s, 5min, 1h)"},                    \
		{OPT_DUMP_RSS, "dump-rss", "SIZE",                                                 \
			"write a dump when the process has SIZE resident, or its cgroup a part "   \
			"(90%) of its limit"},                                                     \
		{OPT_DUMP_PRESSURE, "dump-pressure", NULL,                                         \
			"write a dump when the cgroup is nearly full, at memory.high, or when "    \
			"tasks stall for memory"},                                                 \
		{OPT_DUMP_SIGNAL, "dump-signal", "SIGNAL",                                         \
			"write a dump when the process gets SIGNAL, unless it handles that"},      \
		{OPT_DUMP_AT_EXIT, "dump-at-exit", NULL, "write a dump when a process ends"},      \
		{OPT_DUMP_FILE, "dump-file", "PATTERN",                                            \
			"write dumps to PATTERN (default: the recording's name with .%i.dump): "   \
			"%i number, %p PID, %n program, %h host, %r reason"},                      \
		{OPT_DUMP_FORMAT_OF, "dump-format", "FORMAT",                                      \
			"hpw (default), which all commands read, or a format of 'heapwise "        \
			"export'"},                                                                \
		{OPT_DUMP_KEEP, "keep", "N",                                                       \
			"keep only the latest N dumps of each process (default: all)"},            \
		{OPT_HTTP, "http", "ADDRESS:PORT",                                                 \
			"serve profiles as net/http/pprof does, at /debug/pprof/heap and "         \
			"/allocs"},                                                                \
	{                                                                                          \
		OPT_HTTP_REMOTE, "allow-remote", NULL,                                             \
			"let --http be an address that other machines reach; the URL has a token " \
			"then, and nothing is encrypted"                                           \
	}

/* Their headings; those of LEAK_OPTIONS follow. */
#define RECORDING_HEADINGS                                                                         \
	{'o', "What is recorded"}, {OPT_LEAK_CHECK, "The search for leaks"},                       \
		{OPT_AS, "In place of other tools"},                                               \
		{OPT_DUMP_ALLOCATED, "Dumps while the program runs"},                              \
	{                                                                                          \
		OPT_HTTP, "Profiles over HTTP"                                                     \
	}

struct leak_options;
struct shim;

struct recording_options {
	struct launch_options launch; /* borrows from the command line and from `words` */
	const char *mode, *seed, *ring, *max_file; /* as they were given */
	const char *leak_check, *leak_check_at, *leak_heuristics, *leak_alignment,
		*leak_clear; /* likewise */
	const char *as;
	struct dump_options dumps; /* likewise */
	const struct shim *shim;   /* of `as`; NULL: none. Set by recording_options_check() */
	const char *http;
	const char *mmap; /* "too", or as it was given; NULL: not */
	const char *line_rss;
	bool quiet, leak_on_death, free_stacks, no_pyobjects, http_remote;
	char *words; /* of HEAPWISE_OPTIONS; owned */
};

#define RECORDING_OPTIONS_DEFAULT                                                                  \
	((struct recording_options){                                                               \
		.launch = {.children = COLLECTOR_CHILDREN_ALL, .lifeline = -1, .errors = -1}})

/* Takes the option that options_next() has just given. False: it is none of these. */
bool recording_options_take(struct recording_options *options, int id, const char *argument);

/*
 * Takes what HEAPWISE_OPTIONS says, if it says anything: words as a shell splits them, with quotes
 * and backslashes but no expansions. What is of the report of leaks goes to `leaks`, which borrows
 * from `options`. To be called first: what is taken later wins. False, after saying in one sentence
 * what is wrong.
 */
bool recording_options_from_environment(
	struct recording_options *options, struct leak_options *leaks);

/* Reads the value of --mode; ERROR_USAGE: it is none. */
struct error *recording_mode_parse(const char *text, struct mode *ret) must_check_;

/* Reads the value of --seed; ERROR_USAGE: it is none. */
struct error *recording_seed_parse(const char *text, uint64_t *ret) must_check_;

/* Whether the values make sense, and completes `launch`; the error is one sentence. */
struct error *recording_options_check(struct recording_options *options) must_check_;

/* Starts the server of --http, if that was given, and has `launch` report to it what is recorded;
 * *ret must stay where it is. Errors are those of http_server_start(). */
struct error *recording_options_serve(
	struct recording_options *options, struct http_server *ret) must_check_;

/* What of them is about the search for leaks; the error is one sentence. */
struct error *recording_options_leak_check(
	const struct recording_options *options, struct leak_check *ret) must_check_;

void recording_options_deinit(struct recording_options *options);

/*
 * A closed standard stream stays closed for the program (the place holder goes at exec), but none
 * of our own descriptors may come to stand in its place. To be called first.
 */
void hold_standard_streams(void);

#endif
