/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise html: a recording as one HTML file, to look at in a browser and to send. */
#include <malloc.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/heap/heap_html.h"
#include "cli/pages/page_file.h"
#include "cli/pages/page_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "query/heap_operand.h"

enum {
	OPT_PAGE_LIMIT = 256,
	OPT_SOURCE,
	OPT_SOURCE_PATH,
	OPT_CONTAINER,
	OPT_TITLE,
	OPT_OUTPUT = 'o',
	OPT_FORCE = 'f',
};

static const struct option_spec option_specs[] = {
	{OPT_OUTPUT, "output", "FILE",
		"write to FILE (default: named after the recording, in the current directory; -: "
		"stdout)"},
	{OPT_FORCE, "force", NULL, "replace FILE even if it is not a page of heapwise"},
	{OPT_PAGE_LIMIT, "page-limit", "SIZE",
		"write at most SIZE bytes; the smallest stacks are summed up (default: 16M, of "
		"--container 128M)"},
	{VIEW_OPT_BASE, "base", "OLD",
		"show the difference from this recording (FILE, or FILE@MOMENT), core or process"},
	{OPT_SOURCE, "source", NULL,
		"put the lines of source code that stacks go through into the page, for everybody "
		"who gets it to read"},
	{OPT_SOURCE_PATH, "source-path", "FOLDER",
		"with --source: where sources are, if they moved after they were compiled; may be "
		"repeated"},
	{OPT_CONTAINER, "container", NULL,
		"write the page's data alone, for programs: schema heapwise.page/1 (default: to "
		"stdout)"},
	{OPT_TITLE, "title", "TEXT", "what the page is called (default: the file's name)"},
	PAGE_SPECS_ASKED SYMBOL_SPECS VIEW_SPEC_ANONYMIZE{0},
};

/* What chooses what the page is of, and is said on it. */
static const struct option_spec choosing[] = {PAGE_SPECS_ASKED VIEW_SPEC_ANONYMIZE{0}};

static bool take_yes(const struct options *options, const char *name, bool *ret)
{
	*ret = strcmp(options->argument, "yes") == 0;
	if (*ret || strcmp(options->argument, "no") == 0)
		return true;
	options_wrong(
		options->command, "invalid --%s '%s': expected yes or no", name, options->argument);
	return false;
}

static bool take_lifetimes(const struct options *options, enum page_lifetimes *ret)
{
	bool yes;
	bool ok = take_yes(options, "lifetimes", &yes);
	*ret = yes ? PAGE_LIFETIMES_YES : PAGE_LIFETIMES_NO;
	return ok;
}

static bool take_timeline(const struct options *options, bool *ret_none)
{
	bool yes;
	bool ok = take_yes(options, "timeline", &yes);
	*ret_none = !yes;
	return ok;
}

static bool cmd_html_take(const struct options *options, int id, void *ctx)
{
	struct page_file *file = ctx;
	switch (id) {
	case OPT_OUTPUT:
		file->output = options->argument;
		return true;
	case OPT_FORCE:
		file->force = true;
		return true;
	case OPT_PAGE_LIMIT:
		if (options_size(options->argument, &file->most_bytes) && file->most_bytes)
			return true;
		options_wrong(options->command,
			"invalid --page-limit '%s': expected a size like 512K, 2M or 1G",
			options->argument);
		return false;
	case OPT_TITLE:
		file->title = options->argument;
		return true;
	case OPT_CONTAINER:
		file->container = true;
		return true;
	case PAGE_OPT_LIFETIMES:
		return take_lifetimes(options, &file->lifetimes);
	case PAGE_OPT_TIMELINE:
		return take_timeline(options, &file->no_timeline);
	case OPT_SOURCE:
		file->sources.wanted = true;
		return true;
	case OPT_SOURCE_PATH:
		if (source_folders_push(&file->sources.folders, (char *)options->argument))
			return true;
		message_error(error_no_memory());
		return false;
	case VIEW_OPT_BASE:
		return view_options_take(options, id, &file->shown);
	default:
		return option_words_note(&file->asked, choosing, id, options->argument) &&
		       view_options_take(options, id, &file->shown);
	}
}

/* What a page of a heap has no use for; NULL: nothing of it was given. */
static const char *beyond_heaps(const struct page_file *file)
{
	const struct query *query = &file->shown.query;
	return filter_is_given(&query->filter)         ? "options that choose stacks"
	       : query_blocks(query)                   ? "options that choose blocks"
	       : file->shown.options.all_frames        ? "--all-frames"
	       : file->lifetimes == PAGE_LIFETIMES_YES ? "--lifetimes yes"
	       : file->sources.wanted                  ? "--source"
	       : file->title                           ? "--title"
						       : NULL;
}

/* The page of a core or process, as `core --html` and `heap --html` make it. */
static int cmd_html_heap(struct page_file *file, const struct command *command)
{
	const char *beyond = beyond_heaps(file);
	if (file->shown.query.anonymize)
		return options_wrong(command,
			"a page of a heap can't be anonymous: it is made of the names of types and "
			"variables; anonymize a recording, or send no page");
	if (beyond)
		return options_wrong(command, "%s can't be used with a core or process", beyond);
	_cleanup_(heap_look_close) struct heap_look look;
	heap_look_init(&look);
	look.heap.pid = heap_operand_process(file->path);
	look.heap.core = look.heap.pid ? NULL : file->path;
	look.heap.symbols = file->shown.query.names;
	file->shown.query.names = (struct name_settings){.settings = NULL};
	const struct heap_html page = {.output = file->output,
		.force = file->force,
		.ways = file->way_out,
		.most_bytes = file->most_bytes,
		.container = file->container};
	struct error *error = heap_session_open(&look.heap);
	return error ? message_error(error) : heap_html_write(&look, &page);
}

static bool is_heap(const struct page_file *file)
{
	return file->path && !file->shown.query.base && !file->shown.query.moments.given &&
	       heap_operand_is(cli_context(), file->path);
}

/* A page is of one recording: says what compares two. */
static bool is_one_file(const struct command *command, char *const *words, int count)
{
	if (count <= 1)
		return true;
	options_wrong(command,
		"a page shows one recording, not %d; --base OLD shows the difference of two "
		"(heapwise html --base %s %s), as 'heapwise diff' does",
		count, words[0], words[1]);
	return false;
}

static bool is_consistent(const struct command *command, const struct page_file *file)
{
	const struct page_sources *sources = &file->sources;
	const struct query *query = &file->shown.query;
	if (sources->wanted && (query->anonymize || query->base))
		options_wrong(command, "--source and --%s exclude each other",
			query->base ? "base" : "anonymize");
	else if (!sources->wanted && sources->folders.len)
		options_wrong(command, "--source-path needs --source");
	else
		return true;
	return false;
}

/*
 * Several views of one recording, one after the other: what one gave back is for the next one, and
 * not for the kernel, which would fill each page with zeros again (page faults: a half to a third).
 */
static void keep_freed_memory(void)
{
#ifdef M_MMAP_THRESHOLD
	/* The most that glibc takes: blocks beyond it have mappings of their own. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

static int cmd_html_run(const struct command *command, int argc, char **argv)
{
	struct page_file file = PAGE_FILE_DEFAULT;
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	keep_freed_memory();
	if (options_each(&options, cmd_html_take, &file, &code)) {
		char **words = argv + options.operand;
		int count = argc - options.operand;
		file.change.label = count ? words[0] : NULL;
		if (is_consistent(command, &file) && is_one_file(command, words, count) &&
			view_request_files(
				command, &file.shown, "a page", words, (size_t)count, &file.path))
			code = is_heap(&file) ? cmd_html_heap(&file, command)
					      : page_file_write(&file);
	}
	page_file_deinit(&file);
	return code;
}

const struct command command_html = {
	.name = "html",
	.synopsis = "[FILE|FOLDER|PID] [-o OUT.html] [--base OLD] [OPTION…]",
	.what = "Writes a recording, profile or heap as one HTML page for a browser.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. FILE may "
		 "also be another\n"
		 "tool's. The page needs no network and no other files: the verdict, figures, "
		 "leaks, timeline and all\n"
		 "stacks are in it, with names of functions, files and the command line "
		 "(--anonymize leaves them out).\n"
		 "Of a FOLDER of recordings: the table of its processes, and all else of the one "
		 "with the largest peak.\n"
		 "With --base OLD it shows what grew since, in all views; the page is called "
		 "FILE.diff.html.\n"
		 "FILE may also be a core or a PID: then the page has types, sizes and owners of "
		 "what is in the heap,\n"
		 "and no contents of memory, as `core --html` and `heap --html` write it.\n",
	.examples = "  heapwise html app.hpw                         app.html\n"
		    "  heapwise html -o peak.html app.hpw@peak       as of the peak\n"
		    "  heapwise html -o run.html recordings/         a run of several processes\n"
		    "  heapwise html --base old.hpw app.hpw          what grew: app.diff.html\n"
		    "  heapwise html --anonymize -o report.html      to attach to a bug report\n",
	.options = option_specs,
	.run = cmd_html_run,
};
