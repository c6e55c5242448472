/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/leak_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/recordings.h"
#include "sources/source.h"
#include "views/leaks_view.h"

struct leak_report {
	const struct leak_options *options;
	struct leaks_view_options view; /* without suppressions: each recording uses fresh ones */
	unsigned shown;                 /* recordings, for %n */
	uint64_t errors;                /* in these */
};

static struct error *find_form(const char *name, enum leaks_form *ret)
{
	for (unsigned i = 0; i < LEAKS_FORMS; i++)
		if (strcmp(leaks_form_name((enum leaks_form)i), name) == 0) {
			*ret = (enum leaks_form)i;
			return NULL;
		}
	return error_create(ERROR_USAGE,
		"--format is text, memcheck, json, sarif, junit or github, not '%s'", name);
}

static struct error *find_detail(const char *name, enum leaks_detail *ret)
{
	bool full = strcmp(name, "full") == 0 || strcmp(name, "yes") == 0,
	     summary = strcmp(name, "summary") == 0;
	if (!full && !summary && strcmp(name, "no") != 0)
		return error_create(
			ERROR_USAGE, "--leak-check is full, yes, summary or no, not '%s'", name);
	*ret = full ? LEAKS_FULL : summary ? LEAKS_SUMMARY : LEAKS_NOTHING;
	return NULL;
}

static struct error *read_suppressions(
	const struct leak_options *options, struct suppressions **ret)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	struct error *error = suppressions_create(&set);
	for (size_t i = 0; i < options->suppressions.len && !error; i++) {
		const char *path = options->suppressions.data[i];
		_cleanup_free_ uint8_t *text = NULL;
		size_t len;
		error = read_file(path, SUPPRESS_TEXT_BYTES_MAX, &text, &len);
		if (!error)
			error = suppressions_parse(set, path, (const char *)text, len);
	}
	if (!error && options->default_suppressions)
		error = suppressions_add_built_in(set);
	if (!error)
		*ret = steal_ptr(set);
	return error;
}

struct error *leak_report_create(const struct leak_options *options, struct leak_report **ret)
{
	_cleanup_(leak_report_cleanup) struct leak_report *report = calloc(1, sizeof(*report));
	if (!report)
		return error_no_memory();
	report->options = options;
	report->view = (struct leaks_view_options){
		.show_kinds = options->show_kinds,
		.error_kinds = options->error_kinds,
		.frames = options->num_callers,
		.resolution = options->resolution,
		.tell_libraries = options->libc_freeres,
		.write_suppressions = options->gen_suppressions,
		.list_suppressed = options->show_error_list,
		.verbose = options->verbose,
		.quiet = options->quiet,
		.version = HW_VERSION,
		.limit = options->limit ? options->limit : VIEW_DEFAULT_LIMIT,
	};
	_cleanup_(suppressions_cleanup) struct suppressions *checked = NULL;
	struct error *error = find_form(options->format, &report->view.form);
	if (!error)
		error = find_detail(options->detail, &report->view.detail);
	if (!error)
		error = read_suppressions(options, &checked);
	if (!error)
		*ret = steal_ptr(report);
	return error;
}

void leak_report_destroy(struct leak_report *report)
{
	free(report);
}

/* Adds the value of %q{NAME}; `at` stands behind the q. */
static struct error *add_environment(const char **at, struct text *name)
{
	const char *end = **at == '{' ? strchr(*at, '}') : NULL;
	_cleanup_free_ char *variable = end ? strndup(*at + 1, (size_t)(end - *at - 1)) : NULL;
	const char *value = variable ? getenv(variable) : NULL;
	if (!end)
		return error_create(
			ERROR_USAGE, "--log-file: %%q wants the name of a variable in braces");
	if (!value)
		return error_create(ERROR_USAGE, "--log-file: the variable %s is not set",
			variable ? variable : "");
	text_add(name, value);
	*at = end + 1;
	return NULL;
}

static struct error *log_name(
	const struct leak_report *report, const struct model *model, struct text *ret)
{
	for (const char *at = report->options->log_file; *at;) {
		if (*at != '%') {
			text_add_char(ret, *at++);
			continue;
		}
		char what = at[1];
		at += what ? 2 : 1;
		struct error *error = NULL;
		if (what == 'p')
			text_printf(ret, "%" PRIu32, model_target(model)->pid);
		else if (what == 'n')
			text_printf(ret, "%u", report->shown);
		else if (what == '%')
			text_add_char(ret, '%');
		else if (what == 'q')
			error = add_environment(&at, ret);
		else
			error = error_create(
				ERROR_USAGE, "--log-file: behind %% stands p, q{NAME}, n or %%");
		if (error)
			return error;
	}
	return ret->failed ? error_no_memory() : NULL;
}

static struct error *open_log(
	const struct leak_report *report, const struct model *model, int *ret_fd)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	struct error *error = log_name(report, model, &name);
	if (error)
		return error;
	*ret_fd = open(name.data ? name.data : "", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return *ret_fd >= 0 ? NULL
			    : error_errno(ERROR_ENVIRONMENT, errno, "cannot write %s",
				      name.data ? name.data : "--log-file");
}

static inline void model_cleanup(struct model **model)
{
	model_destroy(*model);
}

int leak_report_show(struct leak_report *report, const char *path, int fd, bool living)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(suppressions_cleanup) struct suppressions *suppressions = NULL;
	_cleanup_close_ int log = -1;
	report->shown++;
	unsigned flags = SOURCE_WITH_LEAK_TIMES | (living ? SOURCE_OF_RUNNING : 0u);
	struct error *error = source_open_with(path, flags, &model);
	if (!error)
		error = read_suppressions(report->options, &suppressions);
	if (!error && report->options->log_file)
		error = open_log(report, model, &log);
	if (error)
		return message_error(error);
	recording_warn(model, path);
	struct leaks_view_options view = report->view;
	view.suppressions = suppressions;
	struct output output;
	struct sink sink = output_sink_to(&output, log >= 0 ? log : fd);
	uint64_t errors = 0;
	error = leaks_view_write(model, &view, &sink, &errors);
	if (error)
		return message_error(error);
	report->errors += errors;
	return output_end(&output);
}

bool leak_report_fails(const struct leak_report *report)
{
	return report->errors && report->options->error_exitcode != LEAK_NO_EXITCODE;
}
