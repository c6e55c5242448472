/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `heapwise watch`: their table, and how each is taken. */
#include <string.h>

#include "base/util.h"
#include "cli/options/symbol_options.h"
#include "cli/watch/watch_request.h"
#include "query/moments.h"

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

const struct option_spec watch_option_specs[] = {
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

static bool count_take(const struct options *options, const char *name, uint64_t *ret)
{
	return options_number(options, options->argument, name, ret);
}

static bool bytes_take(const struct options *options, const char *name, uint64_t *ret)
{
	if (!strcmp(options->argument, "0") || options_size(options->argument, ret))
		return true;
	options_wrong(options->command, "invalid --%s '%s': expected a size (4096, 64K, 1M)", name,
		options->argument);
	return false;
}

/* memleak's -o is an age, that of other commands a file. */
static bool older_or_file_take(const struct options *options, struct watch_request *request)
{
	const char *word = options->argument;
	if (word[strspn(word, "0123456789")] || !*word) {
		request->record.recording.file = word;
		request->process_option = "-o FILE";
		return true;
	}
	request->shown_option = "-o OLDER";
	request->shown.older_ms = 0;
	return !strcmp(word, "0") || count_take(options, "older", &request->shown.older_ms);
}

static bool time_take(const struct options *options, uint64_t *ret)
{
	if (duration_parse(options->argument, ret) && *ret)
		return true;
	options_wrong(options->command, "invalid --for '%s': expected a time (300ms, 60s, 5min)",
		options->argument);
	return false;
}

static bool rate_take(const struct options *options, struct watch_request *request)
{
	uint64_t rate;
	if (!count_take(options, "sample-rate", &rate))
		return false;
	request->all = true;
	request->ways |= WAY_RATE;
	request->watch.every = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
	return true;
}

static bool probes_take(const struct options *options, struct watch_request *request)
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

static bool symbol_option_take(const struct options *options, int id, struct watch_request *request)
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
static bool record_option_take(const struct options *options, int id, struct watch_request *request)
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
		return time_take(options, &request->record.for_ns);
	default:
		return symbol_option_take(options, id, request);
	}
}

/* What an option is about, and so what it can't go with. */
enum option_trait {
	ABOUT_PROCESS = 1, /* not with the kernel's own allocations */
	ABOUT_SHOWN = 2,   /* what is printed, or which calls are left out: not with a recording */
	ABOUT_BLOCKS = 4,  /* not with --growth, which follows pages */
};

static const struct option_traits {
	int id;
	unsigned traits;
	const char *name;
} option_traits[] = {{OPT_WATCH_ALL, ABOUT_BLOCKS, NULL},
	{OPT_WATCH_MEAN, ABOUT_PROCESS | ABOUT_BLOCKS, "--sample-bytes"},
	{OPT_WATCH_JSON, ABOUT_SHOWN, "--json"},
	{OPT_WATCH_OUTPUT, ABOUT_PROCESS | ABOUT_BLOCKS, "--output"},
	{OPT_WATCH_FOR, ABOUT_PROCESS | ABOUT_BLOCKS, "--for"},
	{OPT_WATCH_VERIFY, ABOUT_PROCESS | ABOUT_SHOWN | ABOUT_BLOCKS, "--verify"},
	{OPT_WATCH_GROWTH, ABOUT_PROCESS, "--growth"},
	{OPT_WATCH_PROBES, ABOUT_PROCESS | ABOUT_BLOCKS, "--probes"},
	{'s', ABOUT_SHOWN | ABOUT_BLOCKS, "-s"}, {'T', ABOUT_SHOWN, "-T"},
	{'o', ABOUT_BLOCKS, NULL}, /* the rest is for older_or_file_take() to say */
	{'z', ABOUT_SHOWN | ABOUT_BLOCKS, "-z"}, {'Z', ABOUT_SHOWN | ABOUT_BLOCKS, "-Z"},
	{'a', ABOUT_SHOWN | ABOUT_BLOCKS, "-a"}, {'C', ABOUT_SHOWN | ABOUT_BLOCKS, "-C"},
	{'t', ABOUT_PROCESS | ABOUT_SHOWN | ABOUT_BLOCKS, "-t"},
	{'O', ABOUT_PROCESS | ABOUT_BLOCKS, "-O"}, {'f', ABOUT_PROCESS | ABOUT_BLOCKS, "-f"},
	{'q', ABOUT_PROCESS | ABOUT_BLOCKS, "-q"}};

static void traits_note(int id, struct watch_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_traits); i++) {
		const struct option_traits *option = &option_traits[i];
		if (option->id != id)
			continue;
		if (option->traits & ABOUT_PROCESS)
			request->process_option = option->name;
		if (option->traits & ABOUT_SHOWN)
			request->shown_option = option->name;
		request->has_block_option |= option->traits & ABOUT_BLOCKS;
	}
}

bool watch_option_take(const struct options *options, int id, void *context)
{
	struct watch_request *request = context;
	traits_note(id, request);
	switch (id) {
	case OPT_WATCH_PROBES:
		return probes_take(options, request);
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
		return count_take(options, "pid", &request->pid);
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
		return bytes_take(options, "sample-bytes", &request->watch.mean_bytes);
	case 's':
		return rate_take(options, request);
	case 'T':
		return count_take(options, "top", &request->shown.top);
	case 'o':
		return older_or_file_take(options, request);
	case 'z':
		return bytes_take(options, "min-size", &request->watch.min_size);
	case 'Z':
		return bytes_take(options, "max-size", &request->watch.max_size);
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
		return record_option_take(options, id, request);
	}
}
