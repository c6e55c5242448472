/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On the pipe: "FILE\n" has a new error; "=FILE\n" is complete; "\n": these were all; "!\n":
 * nothing was started, and nothing is to be shown. What does not fit the pipe is dropped, since
 * complete recordings are shown anyway.
 */
#include "cli/check/check_printer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/errors_settle.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/vec.h"
#include "cli/check/check_summary.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "query/leak_search.h"
#include "query/name_settings.h"
#include "sources/source.h"
#include "views/errors_view.h"

#define COMPLETE '='
#define CANCELLED "!\n"

/* A recording, and how many of its errors have been shown. */
struct seen_file {
	char *path;
	size_t shown;
};
DEFINE_VEC(seen_files, struct seen_file)

struct printing {
	const struct check_options *options;
	int pipe, log;
	struct seen_files seen;
	struct name_settings names;
	struct check_summary summary;
};

/* What the log does not take is lost: there is nobody else to write to. */
static void write_text(const struct printing *p, const struct text *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t n = write(p->log, text->data + done, text->len - done);
		if (n <= 0 && errno != EINTR)
			return;
		done += n > 0 ? (size_t)n : 0;
	}
}

/* Strings in JSON have no line ends: what is removed is between values. */
void check_line_add(const struct text *document, struct text *ret)
{
	const char *at = document->data ? document->data : "";
	while (*at) {
		size_t length = strcspn(at, "\n");
		text_add_n(ret, at, length);
		at += length;
		at += strspn(at, "\n ");
	}
	text_add(ret, "\n");
}

static void write_line_of(const struct printing *p, const struct text *document)
{
	_cleanup_(text_deinit) struct text line;
	text_init(&line);
	check_line_add(document, &line);
	if (!line.failed)
		write_text(p, &line);
}

static struct seen_file *seen_find(struct printing *p, const char *path)
{
	for (size_t i = 0; i < p->seen.len; i++)
		if (!strcmp(p->seen.data[i].path, path))
			return &p->seen.data[i];
	struct seen_file one = {.path = strdup(path)};
	if (!one.path || !seen_files_push(&p->seen, one)) {
		free(one.path);
		return NULL;
	}
	return &p->seen.data[p->seen.len - 1];
}

static void add_debugger(const struct printing *p, const struct model *model, struct text *out)
{
	if (p->options->attach_gdb)
		text_printf(out, "To attach a debugger: gdb -p %" PRIu32 "\n\n",
			model_target(model)->pid);
}

static struct error *show_model(struct printing *p, const struct model *model, size_t *shown)
{
	const struct target *target = model_target(model);
	const struct program_error *errors;
	size_t count;
	_cleanup_(text_deinit) struct text out, process;
	text_init(&out);
	text_init(&process);
	text_add(&process, target->command_len ? path_last_part(target->command[0]) : "?");
	text_printf(&process, " (%" PRIu32 ")", target->pid);
	errors = model_errors(model, &count);
	if (count <= *shown || !errors || check_options_wants_document(p->options))
		return NULL;
	if (process.failed)
		return error_no_memory();
	const size_t first = *shown;
	*shown = count;
	p->summary.result.printed += count - first;
	const struct errors_view_options options = {.first = first,
		.frames = p->options->leaks.num_callers,
		.all_frames = p->options->leaks.all_frames,
		.write_suppressions = p->options->errors.gen_suppressions,
		.process = process.data};
	const struct sink sink = {text_write, &out};
	bool json = p->options->json;
	struct error *error = json ? errors_view_json(model, &options, &sink)
				   : errors_view_add(model, &options, &out);
	if (error)
		return error;
	if (json) {
		write_line_of(p, &out);
		return NULL;
	}
	add_debugger(p, model, &out);
	write_text(p, &out);
	return NULL;
}

/* Takes out what suppressions fit. Errors that are equal are one in a recording already. */
static struct error *take_known(const struct printing *p, struct model *model)
{
	const struct suppression_files *files = &p->options->leaks.suppressions;
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	if (!files->len)
		return NULL;
	struct error *error =
		leak_search_suppressions(cli_context(), files->data, files->len, NULL, false, &set);
	return error ? error : errors_settle(model, set, false);
}

/* A recording that grows is read as far as it goes; of one that is complete the whole counts. */
static struct error *show_file(struct printing *p, const char *path, bool complete)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct seen_file *seen = seen_find(p, path);
	if (!seen)
		return error_no_memory();
	unsigned flags = complete ? 0 : SOURCE_OF_RUNNING;
	struct error *error = source_open_with(path, flags, &model);
	if (!error)
		error = name_settings_apply(cli_context(), &p->names, model);
	if (!error && complete)
		error = check_summary_add_all(&p->summary, model);
	if (!error)
		error = take_known(p, model);
	if (!error)
		error = show_model(p, model, &seen->shown);
	if (!error && complete)
		error = check_summary_add(&p->summary, model);
	return error;
}

static void on_line(struct printing *p, const char *line)
{
	bool complete = *line == COMPLETE;
	struct error *error = show_file(p, line + complete, complete);
	/* One that grows may have been read in the middle of a write: it is read again. */
	if (error && complete) {
		p->summary.result.unchecked++;
		message_error(error);
	} else {
		error_destroy(error);
	}
}

enum printing_end {
	PRINTING_ALL,       /* these were all */
	PRINTING_CANCELLED, /* nothing was started */
	PRINTING_ALONE,     /* who waited for the program was killed: nobody can say which
			       recordings are complete */
};

/* Shows what is named until that ends. */
static enum printing_end printing_loop(struct printing *p)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	_cleanup_fclose_ FILE *lines = fdopen(p->pipe, "r");
	while (lines && getline(&line, &room, lines) > 0) {
		if (!strcmp(line, CANCELLED))
			return PRINTING_CANCELLED;
		if (!strcmp(line, "\n"))
			return PRINTING_ALL;
		line[strcspn(line, "\n")] = 0;
		on_line(p, line);
	}
	return PRINTING_ALONE;
}

static void conclude_json(const struct printing *p, struct text *out)
{
	const struct check_summary *summary = &p->summary;
	const struct sink sink = {text_write, out};
	size_t kinds;
	const struct errors_view_end end = {.errors = summary->result.errors,
		.different = summary->result.different,
		.suppressed = check_summary_suppressed(summary, &kinds),
		.processes = summary->processes,
		.undecided = summary->result.unchecked,
		.ended = summary->result.ended};
	struct error *error =
		errors_view_json_end(&end, summary->processes ? &summary->coverage : NULL, &sink);
	if (error)
		message_error(error);
}

static void printing_conclude(struct printing *p, int result)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	if (p->options->json) {
		conclude_json(p, &out);
		write_line_of(p, &out);
	} else if (!p->options->recording.quiet && !check_options_wants_document(p->options)) {
		check_summary_text(&p->summary, &out);
		write_text(p, &out);
	}
	(void)!write(result, &p->summary.result, sizeof(p->summary.result));
}

/* Signals of the terminal are for the program: this one ends when it has. */
static void printing_main(const struct check_options *options, int pipe, int log,
	struct check_folder *folder, int result)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP, SIGPIPE, SIGXFSZ};
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	struct printing p = {
		.options = options, .pipe = pipe, .log = log, .names = options->leaks.symbols};
	seen_files_init(&p.seen);
	check_summary_init(&p.summary);
	struct error *error = name_settings_ready(cli_context(), &p.names);
	if (error)
		message_error(error);
	enum printing_end end = printing_loop(&p);
	if (end == PRINTING_ALL)
		printing_conclude(&p, result);
	else if (end == PRINTING_ALONE)
		check_folder_remove(folder);
	check_summary_deinit(&p.summary);
	for (size_t i = 0; i < p.seen.len; i++)
		free(p.seen.data[i].path);
	seen_files_deinit(&p.seen);
}

struct error *check_printer_start(const struct check_options *options, int log,
	struct check_folder *folder, struct check_printer *ret)
{
	int names[2], result[2];
	if (pipe2(names, O_CLOEXEC))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a pipe");
	if (pipe2(result, O_CLOEXEC)) {
		int why = errno;
		close(names[0]);
		close(names[1]);
		return error_errno(ERROR_ENVIRONMENT, why, "can't create a pipe");
	}
	fcntl(names[1], F_SETFL, O_NONBLOCK);
	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		close(names[1]);
		close(result[0]);
		printing_main(options, names[0], log, folder, result[1]);
		_exit(0);
	}
	int why = errno;
	close(names[0]);
	close(result[1]);
	*ret = (struct check_printer){.pid = pid, .pipe = names[1], .result = result[0]};
	if (pid > 0)
		return NULL;
	close(names[1]);
	close(result[0]);
	return error_errno(ERROR_ENVIRONMENT, why, "can't start a process");
}

/* The pipe does not block, but this process has the time to wait. */
static void write_line(const struct check_printer *printer, const char *text)
{
	size_t left = strlen(text);
	while (left) {
		ssize_t n = write(printer->pipe, text, left);
		struct pollfd room = {.fd = printer->pipe, .events = POLLOUT};
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n < 0)
			poll(&room, 1, -1);
		left -= n > 0 ? (size_t)n : 0;
		text += n > 0 ? n : 0;
	}
}

void check_printer_name(const struct check_printer *printer, const char *file)
{
	if (strchr(file, '\n'))
		return;
	write_line(printer, "=");
	write_line(printer, file);
	write_line(printer, "\n");
}

void check_printer_cancel(struct check_printer *printer)
{
	write_line(printer, CANCELLED);
	close(printer->pipe);
	close(printer->result);
	child_wait(printer->pid, NULL, 0);
}

bool check_printer_end(struct check_printer *printer, struct check_result *ret)
{
	write_line(printer, "\n");
	close(printer->pipe);
	ssize_t n;
	do
		n = read(printer->result, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	close(printer->result);
	child_wait(printer->pid, NULL, 0);
	return n == (ssize_t)sizeof(*ret);
}
