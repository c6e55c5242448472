/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/leak_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/errors_settle.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options/lsan_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/leak_search.h"
#include "query/recordings.h"
#include "views/leaks_view.h"

#define LOG_MODE 0644u

struct leak_report {
	const struct leak_options *options;
	struct leaks_view_options view; /* without suppressions: each recording uses fresh ones */
	unsigned shown;                 /* recordings, for %n */
	int log;                        /* --log-file, if it is one of all recordings; else -1 */
	bool has_heading;               /* of CSV: the file that all go to has one */
	struct leaks_sums sums;         /* of these, as far as they were searched */
	uint64_t errors;                /* in these, where that is decided */
	unsigned undecided;             /* of these, where a status was asked for */
	int exitcode;                   /* for errors; LEAK_NO_EXITCODE */
	bool searched;                  /* the last one */
	bool searched_any;
	bool no_requested;            /* what programs requested is left out */
	struct name_settings symbols; /* the options' own settings if they have some */
};

/* What LeakSanitizer's options say about one recording: none if they don't count. */
struct lsan_wishes {
	bool counts;
	struct lsan_options options;
};

static struct error *find_form(const char *name, enum leaks_form *ret)
{
	for (unsigned i = 0; i < LEAKS_FORMS; i++)
		if (strcmp(leaks_form_name((enum leaks_form)i), name) == 0) {
			*ret = (enum leaks_form)i;
			return NULL;
		}
	return error_create(ERROR_USAGE,
		"invalid --format '%s': expected text, memcheck, json, csv, sarif, junit, github, "
		"valgrind or gperftools",
		name);
}

static struct error *find_detail(const char *name, enum leaks_detail *ret)
{
	bool full = strcmp(name, "full") == 0 || strcmp(name, "yes") == 0,
	     summary = strcmp(name, "summary") == 0;
	if (!full && !summary && strcmp(name, "no") != 0)
		return error_create(ERROR_USAGE,
			"invalid --leak-check '%s': expected full, yes, summary or no", name);
	*ret = full ? LEAKS_FULL : summary ? LEAKS_SUMMARY : LEAKS_NOTHING;
	return NULL;
}

/* Adds the value of %q{NAME}; `at` stands behind the q. */
static struct error *add_environment(const char **at, struct text *name)
{
	const char *end = **at == '{' ? strchr(*at, '}') : NULL;
	_cleanup_free_ char *variable = end ? strndup(*at + 1, (size_t)(end - *at - 1)) : NULL;
	const char *value = variable ? getenv(variable) : NULL;
	if (!end)
		return error_create(
			ERROR_USAGE, "--log-file: expected a variable name in braces after %%q");
	if (!value)
		return error_create(ERROR_USAGE, "--log-file: the variable %s is not set",
			variable ? variable : "");
	text_add(name, value);
	*at = end + 1;
	return NULL;
}

/* Adds what the pattern of --log-file stands for. */
static struct error *log_name(const char *pattern, uint32_t pid, unsigned number, struct text *ret)
{
	for (const char *at = pattern; *at;) {
		if (*at != '%') {
			text_add_char(ret, *at++);
			continue;
		}
		char what = at[1];
		at += what ? 2 : 1;
		struct error *error = NULL;
		if (what == 'p')
			text_printf(ret, "%" PRIu32, pid);
		else if (what == 'n')
			text_printf(ret, "%u", number);
		else if (what == '%')
			text_add_char(ret, '%');
		else if (what == 'q')
			error = add_environment(&at, ret);
		else
			error = error_create(
				ERROR_USAGE, "--log-file: expected p, q{NAME}, n or %% after %%");
		if (error)
			return error;
	}
	return ret->failed ? error_no_memory() : NULL;
}

static struct error *check_log(const struct leak_options *options)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	struct error *error = options->log_file ? log_name(options->log_file, 1, 1, &name) : NULL;
	if (!error && options->log_file && !name.len)
		error = error_create(ERROR_USAGE, "--log-file: missing file name");
	return error;
}

struct error *leak_report_check(const struct leak_options *options)
{
	enum leaks_form form;
	struct error *error = find_form(options->format, &form);
	return error ? error : check_log(options);
}

struct error *leak_report_suppressions(
	const struct leak_options *options, const struct model *model, struct suppressions **ret)
{
	return leak_search_suppressions(cli_context(), options->suppressions.data,
		options->suppressions.len, model, options->default_suppressions, ret);
}

/* Those of the options, and what the program itself brings, and LSAN_OPTIONS. What is wrong with
 * the program's is said; the others count. */
static struct error *gather_suppressions(const struct leak_report *report,
	const struct model *model, const struct lsan_wishes *lsan, struct suppressions **ret)
{
	const struct leak_search *search = model_leak_search(model);
	const char *own = search ? search->own_suppressions : NULL,
		   *file = lsan->counts ? lsan->options.suppressions : NULL;
	struct error *error = leak_report_suppressions(report->options, model, ret);
	if (!error && file)
		error = leak_search_add_file(cli_context(), file, *ret);
	if (error || !own || !report->options->default_suppressions)
		return error;
	error = suppressions_parse(*ret, "__lsan_default_suppressions", own, strlen(own));
	if (error)
		message_error(error);
	return NULL;
}

/* Who wants suppressions wants them all. */
static size_t default_limit(const struct leak_options *options)
{
	return options->gen_suppressions ? SIZE_MAX : VIEW_DEFAULT_LIMIT;
}

struct error *leak_report_create(const struct leak_options *options, struct leak_report **ret)
{
	_cleanup_(leak_report_cleanup) struct leak_report *report = calloc(1, sizeof(*report));
	if (!report)
		return error_no_memory();
	report->options = options;
	report->log = -1;
	report->exitcode = options->error_exitcode;
	report->symbols = options->symbols;
	report->view = (struct leaks_view_options){
		.show_kinds = options->show_kinds,
		.error_kinds = options->error_kinds,
		.frames = options->num_callers,
		.resolution = options->resolution,
		.separate_libraries = options->libc_freeres,
		.write_suppressions = options->gen_suppressions,
		.list_suppressed = options->show_error_list,
		.verbose = options->verbose,
		.all_frames = options->all_frames,
		.errors_only = options->errors_only,
		.no_errors = options->only_leaks || options->no_errors,
		.quiet = options->quiet,
		.version = HW_VERSION,
		.limit = options->limit ? options->limit : default_limit(options),
	};
	_cleanup_(suppressions_cleanup) struct suppressions *checked = NULL;
	struct error *error = find_form(options->format, &report->view.form);
	if (!error)
		error = find_detail(options->detail, &report->view.detail);
	if (!error)
		error = check_log(options);
	if (!error)
		error = leak_report_suppressions(options, NULL, &checked);
	if (!error)
		*ret = steal_ptr(report);
	return error;
}

void leak_report_destroy(struct leak_report *report)
{
	if (report && report->symbols.settings != report->options->symbols.settings)
		name_settings_deinit(&report->symbols);
	if (report && report->log >= 0)
		close(report->log);
	free(report);
}

/* The name of the file that one recording's answer goes to, if any. */
static struct error *log_find(const struct leak_report *report, const struct model *model,
	const char *lsan_path, struct text *ret)
{
	if (report->options->log_file)
		return log_name(
			report->options->log_file, model_target(model)->pid, report->shown, ret);
	text_printf(ret, "%s.%" PRIu32, lsan_path, model_target(model)->pid);
	return ret->failed ? error_no_memory() : NULL;
}

/* One file of several processes has what is said of each. Returns 0, or the exit code of what went
 * wrong, after saying it. */
static int log_open(const struct leak_report *report, const struct model *model,
	const char *lsan_path, struct output *output, struct sink *sink)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	if (report->log >= 0) {
		*sink = output_sink_to(output, report->log);
		return 0;
	}
	struct error *error = log_find(report, model, lsan_path, &name);
	return error ? message_error(error) : output_open(output, sink, name.data, LOG_MODE);
}

/* What comes after it goes to the same file, unless each recording has its own. */
static int log_end(struct leak_report *report, struct output *output)
{
	const char *pattern = report->options->log_file;
	bool is_one =
		pattern && output->file.path && !strstr(pattern, "%p") && !strstr(pattern, "%n");
	int again = is_one ? fcntl(output->file.fd, F_DUPFD_CLOEXEC, 0) : -1;
	int code = output_end(output);
	if (!code && again >= 0)
		report->log = again;
	else if (again >= 0)
		close(again);
	return code;
}

/* The program's own wishes, and before them those of who started it. */
static void lsan_wishes_find(
	const struct leak_report *report, const struct model *model, struct lsan_wishes *ret)
{
	const struct leak_search *search = model_leak_search(model);
	ret->counts = report->options->as_lsan;
	lsan_options_init(&ret->options);
	if (!ret->counts)
		return;
	if (search)
		lsan_options_take(&ret->options, search->own_options);
	lsan_options_take(&ret->options, getenv("LSAN_OPTIONS"));
}

static void lsan_wishes_deinit(struct lsan_wishes *wishes)
{
	lsan_options_deinit(&wishes->options);
}

/* Where only leaks are to be shown, whether there are any is known at the end. */
static struct error *write_view(const struct leak_report *report, const struct model *model,
	const struct leaks_view_options *view, const struct sink *sink, struct leaks_outcome *ret)
{
	if (!report->options->only_leaks || view->form != LEAKS_TEXT)
		return leaks_view_write(model, view, sink, ret);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	const struct sink held = {text_write, &text};
	struct error *error = leaks_view_write(model, view, &held, ret);
	if (!error && text.failed)
		error = error_no_memory();
	if (!error && ret->errors)
		sink->write(sink->ctx, text.data, text.len);
	return error;
}

/*
 * Counts what was found, or that it is undecided, where somebody wants an exit status for it. In
 * a run an image that went on as another program (exec) is no process of its own: that one counts.
 */
static void leak_report_count(
	struct leak_report *report, const struct model *model, const struct leaks_outcome *outcome)
{
	const struct target *target = model_target(model);
	report->errors += outcome->doubt ? 0 : outcome->errors;
	report->sums.lost_blocks += outcome->sums.lost_blocks;
	report->sums.lost_bytes += outcome->sums.lost_bytes;
	report->sums.blocks += outcome->sums.blocks;
	report->sums.bytes += outcome->sums.bytes;
	report->errors += outcome->wrong_doubt ? 0 : outcome->wrong;
	const char *doubt = outcome->doubt ? outcome->doubt : outcome->wrong_doubt;
	bool has_gone_on = report->options->of_run && target->exit_kind == EXIT_KIND_EXEC;
	if (!doubt || !leak_report_is_gate(report) || has_gone_on)
		return;
	message("%s (%" PRIu32 "): whether it has %s cannot be decided: %s",
		target->command_len ? target->command[0] : "?", target->pid,
		outcome->doubt ? "leaks" : "invalid or mismatched frees", doubt);
	report->undecided++;
}

/* Shows it, with what has been read for that. Returns the exit code. */
static int leak_report_show_show(struct leak_report *report, const struct model *model,
	struct suppressions *suppressions, const struct lsan_wishes *lsan, bool living, int fd)
{
	const struct lsan_options *wishes = &lsan->options;
	const char *lsan_path = lsan->counts ? wishes->log_path : NULL;
	struct output output;
	struct sink sink;
	const bool wants_log = report->options->log_file || lsan_path;
	int code = wants_log ? log_open(report, model, lsan_path, &output, &sink) : 0;
	/* Where it failed it is shown here, then, and leaks count all the same. */
	const bool logs = wants_log && !code;
	struct leaks_view_options view = report->view;
	/* A log of each recording's own begins with a heading, too. */
	bool has_own_log = logs && report->log < 0, has_own_heading = false;
	view.has_heading = has_own_log ? &has_own_heading : &report->has_heading;
	view.suppressions = suppressions;
	view.of_moment = living;
	if (report->options->of_run && model_target(model)->exit_kind == EXIT_KIND_EXEC &&
		view.detail == LEAKS_FULL)
		view.detail = LEAKS_SUMMARY;
	if (lsan->counts && !report->options->limit && wishes->max_leaks)
		view.limit = wishes->max_leaks;
	bool to_stdout = !logs && fd == STDOUT_FILENO;
	if (!logs)
		sink = to_stdout ? output_sink_paged(&output, !report->options->no_pager)
				 : output_sink_to(&output, fd);
	view.colour = to_stdout && terminal_has_colour(report->options->colour);
	struct leaks_outcome outcome = {.errors = 0};
	struct error *error = write_view(report, model, &view, &sink, &outcome);
	if (error) {
		output_drop(&output);
		return message_error(error);
	}
	leak_report_count(report, model, &outcome);
	if (model_leak_search(model) && model_leak_search(model)->damaged)
		code = ERROR_INPUT;
	int ended = logs ? log_end(report, &output) : output_end(&output);
	/* Others follow in the same log. */
	if (report->log >= 0)
		report->has_heading |= has_own_heading;
	return code ? code : ended;
}

/* What became of a search that was asked for like LeakSanitizer's. False: there is nothing to
 * show. */
static bool leak_report_is_shown(struct leak_report *report, const struct model *model, bool living,
	const struct lsan_wishes *lsan)
{
	const struct leak_search *search = model_leak_search(model);
	const struct leak_options *options = report->options;
	if (report->no_requested && search && search->moment == LEAK_BY_PROGRAM)
		return report->searched = false;
	report->searched = search && search->way != LEAK_WAY_NONE;
	report->searched_any |= report->searched;
	if (!lsan->counts)
		return true;
	report->exitcode = options->error_exitcode;
	if (report->exitcode == LEAK_NO_EXITCODE && lsan->options.exitcode)
		report->exitcode = lsan->options.exitcode;
	/* The others were judged, and shown, while the program waited. */
	if (!living && search && search->moment != LEAK_AT_MAIN_END)
		return false;
	if (search && !report->searched) {
		message("not searched for leaks: %s", search->problem);
		report->undecided += lsan->options.detect_leaks &&
				     model_target(model)->exit_kind != EXIT_KIND_EXEC;
	}
	return report->searched && lsan->options.detect_leaks;
}

int leak_report_show(struct leak_report *report, const char *path, int fd, bool living)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(suppressions_cleanup) struct suppressions *suppressions = NULL;
	report->shown++;
	struct error *error =
		leak_search_open(cli_context(), &report->symbols, path, living, &model);
	if (error)
		return message_error(error);
	_cleanup_(lsan_wishes_deinit) struct lsan_wishes lsan;
	lsan_wishes_find(report, model, &lsan);
	error = gather_suppressions(report, model, &lsan, &suppressions);
	if (!error)
		error = errors_settle(model, suppressions, false);
	if (error)
		return message_error(error);
	return leak_report_is_shown(report, model, living, &lsan)
		       ? leak_report_show_show(report, model, suppressions, &lsan, living, fd)
		       : 0;
}

struct error *leak_report_write(const struct leak_report *report, const struct model *model,
	size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	_cleanup_(suppressions_cleanup) struct suppressions *suppressions = NULL;
	const struct lsan_wishes nobodys = {.counts = false};
	struct leaks_view_options view = report->view;
	struct leaks_outcome outcome = {.errors = 0};
	struct error *error = gather_suppressions(report, model, &nobodys, &suppressions);
	if (error)
		return error;
	view.form = LEAKS_JSON;
	view.limit = limit;
	view.suppressions = suppressions;
	error = leaks_view_write(model, &view, sink, &outcome);
	*ret_left_out += outcome.left_out;
	return error;
}

struct leaks_sums leak_report_sums(const struct leak_report *report)
{
	return report->sums;
}

uint64_t leak_report_errors(const struct leak_report *report)
{
	return report->errors;
}

bool leak_report_searched(const struct leak_report *report)
{
	return report->searched;
}

bool leak_report_searched_any(const struct leak_report *report)
{
	return report->searched_any;
}

void leak_report_leave_out_requested(struct leak_report *report)
{
	report->no_requested = true;
}

int leak_report_exitcode(const struct leak_report *report)
{
	return report->exitcode;
}

bool leak_report_fails(const struct leak_report *report)
{
	return report->errors && report->exitcode != LEAK_NO_EXITCODE;
}

bool leak_report_is_gate(const struct leak_report *report)
{
	return report->exitcode != LEAK_NO_EXITCODE && report->view.detail == LEAKS_FULL;
}

bool leak_report_undecided(const struct leak_report *report)
{
	return report->undecided;
}
