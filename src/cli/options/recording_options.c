/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/recording_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "capture/daemonize.h"
#include "capture/keep.h"
#include "capture/recording_file.h"
#include "cli/commands/leak_report.h"
#include "cli/options/heuristics.h"
#include "cli/options/leak_options.h"
#include "cli/options/shims.h"
#include "cli/terminal/message.h"

#define NOTHING "; nothing is recorded"

static const struct option_spec option_specs[] = {RECORDING_OPTIONS, LEAK_OPTIONS, {0}};
/* So that HEAPWISE_OPTIONS is read by the same parser. */
static const struct command in_environment = {.name = "run", .options = option_specs};

/* Takes an option about dumps. Returns false if it is none. */
static bool take_dump_option(struct dump_options *dumps, int id, const char *argument)
{
	const struct {
		int id;
		const char **to;
	} texts[] = {{OPT_DUMP_ALLOCATED, &dumps->allocated}, {OPT_DUMP_FREED, &dumps->freed},
		{OPT_DUMP_GROWTH, &dumps->growth}, {OPT_DUMP_PEAK, &dumps->peak},
		{OPT_DUMP_EVERY, &dumps->every}, {OPT_DUMP_RSS, &dumps->rss},
		{OPT_DUMP_SIGNAL, &dumps->signal}, {OPT_DUMP_FILE, &dumps->files},
		{OPT_DUMP_FORMAT_OF, &dumps->format}, {OPT_DUMP_KEEP, &dumps->keep}};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].id == id) {
			*texts[i].to = argument;
			return true;
		}
	}
	dumps->at_exit |= id == OPT_DUMP_AT_EXIT;
	dumps->pressure |= id == OPT_DUMP_PRESSURE;
	return id == OPT_DUMP_AT_EXIT || id == OPT_DUMP_PRESSURE;
}

bool recording_options_take(struct recording_options *options, int id, const char *argument)
{
	if (take_dump_option(&options->dumps, id, argument))
		return true;
	switch (id) {
	case 'o':
		options->launch.file = argument;
		return true;
	case 'f':
		options->launch.overwrite = true;
		return true;
	case OPT_CHILDREN:
		options->launch.children = argument;
		return true;
	case OPT_ALL_PROCESSES:
		options->launch.all_processes = true;
		return true;
	case OPT_MODE:
		options->mode = argument;
		return true;
	case OPT_RING:
		options->ring = argument;
		return true;
	case OPT_MAX_FILE:
		options->max_file = argument;
		return true;
	case OPT_FREE_STACKS:
		options->free_stacks = true;
		return true;
	case OPT_NO_PYOBJECTS:
		options->no_pyobjects = true;
		return true;
	case OPT_LINE_RSS:
		options->line_rss = argument;
		return true;
	case OPT_SEED:
		options->seed = argument;
		return true;
	case OPT_LEAK_CHECK:
		options->leak_check = argument ? argument : "full";
		return true;
	case OPT_LEAK_CHECK_AT:
		options->leak_check_at = argument;
		return true;
	case OPT_LEAK_CHECK_ON_DEATH:
		options->leak_on_death = true;
		return true;
	case OPT_LEAK_CHECK_HEURISTICS:
		options->leak_heuristics = argument;
		return true;
	case OPT_LEAK_CHECK_ALIGNMENT:
		options->leak_alignment = argument;
		return true;
	case OPT_LEAK_CHECK_CLEAR:
		options->leak_clear = argument;
		return true;
	case OPT_HTTP:
		options->http = argument;
		return true;
	case OPT_HTTP_REMOTE:
		options->http_remote = true;
		return true;
	case OPT_MMAP:
		options->mmap = argument ? argument : "too";
		return true;
	case OPT_AS:
		options->as = argument;
		return true;
	case 'q':
		options->quiet = true;
		return true;
	default:
		return false;
	}
}

#define SAMPLE_BYTES_MAX (64ull << 30)

/* A size that is not 0. */
static bool size_parse(const char *text, uint64_t *ret)
{
	return options_size(text, ret) && *ret;
}

struct error *recording_mode_parse(const char *text, struct mode *ret)
{
	ret->sample_bytes = 0;
	if (!strcmp(text, "exact")) {
		ret->kind = MODE_EXACT;
	} else if (!strcmp(text, "aggregate")) {
		ret->kind = MODE_AGGREGATE;
	} else if (!strcmp(text, "sample")) {
		ret->kind = MODE_SAMPLE;
		ret->sample_bytes = MODE_SAMPLE_BYTES;
	} else if (!strncmp(text, "sample:", 7) && size_parse(text + 7, &ret->sample_bytes) &&
		   ret->sample_bytes <= SAMPLE_BYTES_MAX) {
		ret->kind = MODE_SAMPLE;
	} else {
		return error_create(ERROR_USAGE,
			"invalid --mode '%s': expected exact, aggregate, sample or sample:BYTES (1 "
			"to 64G)",
			text);
	}
	return NULL;
}

struct error *recording_seed_parse(const char *text, uint64_t *ret)
{
	return number_whole(text, ret)
		       ? NULL
		       : error_create(ERROR_USAGE,
				 "invalid --seed '%s': expected a whole number, 1 or more", text);
}

static struct error *ring_parse(const char *text, uint64_t *ret)
{
	*ret = 0;
	if (!text || (size_parse(text, ret) && *ret >= KEEP_RING_MIN && *ret <= KEEP_RING_MAX))
		return NULL;
	return error_create(ERROR_USAGE,
		"invalid --ring '%s': expected a size from 64K to 16G (K, M, G)", text);
}

static struct error *max_file_parse(const char *text, uint64_t *ret)
{
	*ret = 0;
	if (!text || (size_parse(text, ret) && *ret >= KEEP_RING_MIN))
		return NULL;
	return error_create(ERROR_USAGE,
		"invalid --max-file '%s': expected a size from 64K on (K, M, G)", text);
}

static struct error *line_rss_check(const struct recording_options *options)
{
	const char *names = options->line_rss;
	if (!names)
		return NULL;
	if (options->no_pyobjects)
		return error_create(ERROR_USAGE, "--line-rss needs what --no-pyobjects leaves out");
	if (!*names || *names == ',' || names[strlen(names) - 1] == ',' || strstr(names, ",,"))
		return error_create(ERROR_USAGE,
			"invalid --line-rss '%s': expected names of functions, as load,Parser.feed",
			names);
	if (strlen(names) >= MODE_TRACED_BYTES)
		return error_create(ERROR_USAGE,
			"the names of --line-rss have %zu bytes: at most %u", strlen(names),
			MODE_TRACED_BYTES - 1);
	return NULL;
}

static struct error *mmap_parse(const char *text, struct mode *ret)
{
	ret->mappings = MODE_MAPPINGS_OFF;
	if (!text || !strcmp(text, "no"))
		return NULL;
	ret->mappings = !strcmp(text, "only") ? MODE_MAPPINGS_ONLY : MODE_MAPPINGS_TOO;
	if (ret->mappings == MODE_MAPPINGS_TOO && strcmp(text, "too"))
		return error_create(ERROR_USAGE,
			"invalid --mmap '%s': expected too (default), only or no", text);
	if (ret->mappings == MODE_MAPPINGS_ONLY && ret->kind != MODE_EXACT)
		return error_create(
			ERROR_USAGE, "--mmap=only records no heap: it needs --mode exact");
	return NULL;
}

/* What of all that happens is kept. */
static struct error *kept_parse(const struct recording_options *options, struct mode *ret)
{
	struct error *error = recording_mode_parse(options->mode ? options->mode : "exact", ret);
	ret->is_chosen =
		options->mode || options->ring || options->max_file || options->free_stacks;
	if (!error)
		error = ring_parse(options->ring, &ret->ring_bytes);
	if (!error)
		error = max_file_parse(options->max_file, &ret->file_bytes);
	if (error)
		return error;
	ret->free_stacks = options->free_stacks;
	ret->no_python_objects = options->no_pyobjects;
	ret->traced = options->line_rss;
	error = line_rss_check(options);
	if (error)
		return error;
	if (ret->free_stacks && ret->kind == MODE_SAMPLE)
		return error_create(
			ERROR_USAGE, "--free-stacks needs --mode exact or aggregate, not sample");
	if ((ret->ring_bytes || ret->file_bytes) && ret->kind != MODE_EXACT)
		return error_create(ERROR_USAGE, "--ring and --max-file need --mode exact");
	error = mmap_parse(options->mmap, ret);
	if (error)
		return error;
	if (ret->ring_bytes && ret->file_bytes)
		return error_create(ERROR_USAGE, "--ring (keep the last events) and --max-file "
						 "(keep the first) exclude each other");
	return NULL;
}

struct error *recording_options_leak_check(
	const struct recording_options *options, struct leak_check *ret)
{
	bool by_tool = ret->as_lsan || ret->by_tool;
	const char *unasked = by_tool || options->leak_on_death ? "full" : "no",
		   *what = options->leak_check ? options->leak_check : unasked,
		   *at = options->leak_check_at ? options->leak_check_at : "exit";
	bool full = !strcmp(what, "full") || !strcmp(what, "yes"),
	     wanted = full || !strcmp(what, "summary");
	if (!wanted && strcmp(what, "no"))
		return error_create(ERROR_USAGE,
			"invalid --leak-check '%s': expected full, yes, summary or no", what);
	if (strcmp(at, "exit") && strcmp(at, "main-end"))
		return error_create(
			ERROR_USAGE, "invalid --leak-check-at '%s': expected exit or main-end", at);
	ret->at_exit = wanted && !strcmp(at, "exit");
	ret->at_main_end = wanted && !ret->at_exit;
	ret->on_death = options->leak_on_death;
	const char *clear = options->leak_clear ? options->leak_clear : "yes";
	if (strcmp(clear, "yes") && strcmp(clear, "no"))
		return error_create(
			ERROR_USAGE, "invalid --leak-check-clear '%s': expected yes or no", clear);
	ret->clears =
		(wanted || options->leak_on_death || ret->heap_check) && !strcmp(clear, "yes");
	const char *alignment = options->leak_alignment ? options->leak_alignment : "8";
	if (strlen(alignment) != 1 || !strchr("1248", *alignment))
		return error_create(ERROR_USAGE,
			"invalid --leak-check-alignment '%s': expected 1, 2, 4 or 8", alignment);
	ret->alignment = (unsigned)(*alignment - '0');
	if (!options->leak_alignment && ret->rules.alignment)
		ret->alignment = ret->rules.alignment;
	return heuristics_parse(
		options->leak_heuristics ? options->leak_heuristics : "all", &ret->heuristics);
}

static struct error *describe_unknown_shim(const char *name)
{
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	shims_add_names(&names);
	return names.failed ? error_no_memory()
			    : error_create(ERROR_USAGE, "invalid --as '%s': expected %s", name,
				      names.data);
}

static struct error *prepare_shim(struct recording_options *options)
{
	/* Of an --as that was given before. */
	struct leak_check *leaks = &options->launch.leak_check;
	leaks->as_lsan = leaks->by_tool = false;
	leaks->heap_check = HW_HEAP_CHECK_NOT;
	leaks->rules = (struct leak_rules){.offset_limit = 0};
	options->shim = options->as ? shim_find(options->as) : NULL;
	if (options->as && !options->shim)
		return describe_unknown_shim(options->as);
	options->launch.mode.tool = options->shim ? options->shim->name : NULL;
	return options->shim && options->shim->prepare ? options->shim->prepare(&options->launch)
						       : NULL;
}

struct error *recording_options_serve(struct recording_options *options, struct http_server *ret)
{
	*ret = HTTP_SERVER_NONE;
	struct error *error =
		options->http ? http_server_start(options->http, options->http_remote, ret) : NULL;
	if (error || !options->http)
		return error;
	options->launch.lifeline = ret->link;
	options->launch.on_start = http_server_report;
	options->launch.on_start_context = ret;
	return NULL;
}

struct error *recording_options_check(struct recording_options *options)
{
	struct error *error = kept_parse(options, &options->launch.mode);
	if (!error)
		error = prepare_shim(options);
	if (!error)
		error = recording_options_leak_check(options, &options->launch.leak_check);
	if (!error)
		error = dump_options_check(&options->dumps, &options->launch.dumps);
	if (error)
		return error;
	if (options->http_remote && !options->http)
		return error_create(ERROR_USAGE, "--allow-remote needs --http");
	error = options->seed ? recording_seed_parse(options->seed, &options->launch.mode.seed)
			      : NULL;
	return error ? error : recording_pattern_check(options->launch.file);
}

/* One word of *at, unquoted in place, and *at moved behind it. NULL: none is left, or a quote has
 * no end (*at is NULL then). */
static char *word_next(char **at)
{
	char *from = *at + strspn(*at, " \t\n"), *word = from, *to = from, quote = 0;
	*at = from;
	if (!*from)
		return NULL;
	for (; *from && (quote || !strchr(" \t\n", *from)); from++) {
		if (*from == quote) {
			quote = 0;
		} else if (!quote && (*from == '\'' || *from == '"')) {
			quote = *from;
		} else {
			if (*from == '\\' && quote != '\'' && from[1])
				from++;
			*to++ = *from;
		}
	}
	*at = quote ? NULL : from + (*from != 0);
	*to = 0;
	return quote ? NULL : word;
}

static struct error *take_option(
	struct recording_options *ret, struct leak_options *leaks, int id, const char *argument)
{
	bool taken = recording_options_take(ret, id, argument);
	return taken ? NULL : leak_options_take(leaks, id, argument, &taken);
}

static bool take_words(
	struct recording_options *ret, struct leak_options *leaks, int count, char **words)
{
	struct options options = {
		.command = &in_environment, .argc = count, .argv = words, .origin = HW_OPTIONS_ENV};
	struct error *error = NULL;
	int id = 0;
	while (!error && (id = options_next(&options)) > 0)
		error = take_option(ret, leaks, id, options.argument);
	if (!error && id < 0)
		return false;
	if (!error && options.operand < count)
		error = error_create(
			ERROR_USAGE, "unexpected argument '%s'", words[options.operand]);
	if (!error)
		error = recording_options_check(ret);
	if (!error)
		error = leak_report_check(leaks);
	if (!error)
		return true;
	message(HW_OPTIONS_ENV ": %s" NOTHING, error->message);
	error_destroy(error);
	return false;
}

bool recording_options_from_environment(
	struct recording_options *options, struct leak_options *leaks)
{
	const char *text = getenv(HW_OPTIONS_ENV);
	if (!text)
		return true;
	options->words = strdup(text);
	_cleanup_free_ char **words = calloc(strlen(text) / 2 + 3, sizeof(*words));
	if (!options->words || !words) {
		message_error(error_no_memory());
		return false;
	}
	int count = 0;
	char *at = options->words;
	words[count++] = (char *)HW_OPTIONS_ENV;
	while ((words[count] = word_next(&at)))
		count++;
	if (!at) {
		message(HW_OPTIONS_ENV ": unterminated quote" NOTHING);
		return false;
	}
	return take_words(options, leaks, count, words);
}

void recording_options_deinit(struct recording_options *options)
{
	free(options->words);
	options->words = NULL;
}

void hold_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && daemonize_open_null() != fd)
			return;
	}
}
