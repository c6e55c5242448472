/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/engine_errors.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/errors_settle.h"
#include "analysis/evidence.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/number.h"
#include "base/output_file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/util.h"
#include "base/vec.h"
#include "cli/check/check_printer.h"
#include "cli/check/error_document.h"
#include "cli/check/kind_sums.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "model/errors.h"
#include "model/model.h"
#include "query/bundles.h"
#include "query/leak_search.h"
#include "views/error_forms.h"
#include "views/errors_view.h"
#include "views/leaks_view.h"

/* Reading takes at most this part of the time, so that a large file is not read over and over. */
#define READING_PART 4u
#define KEPT_BYTES_MAX (1u << 30)

/* A process's file. */
struct engine_file {
	pid_t pid;
	uint64_t size;     /* when it was read */
	uint64_t pause_ns; /* not to be read again before */
	size_t shown;      /* errors */
};
DEFINE_VEC(engine_files, struct engine_file)

struct engine_errors {
	const struct engine_errors_options *options;
	struct engine_errors_options own;
	struct engine_files files;
	struct kind_sums kinds;
	uint64_t errors, leaks, suppressed, undecided;
	pid_t first;            /* the program's own process */
	struct text leaks_text; /* with json: shown after the last line */
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct error *engine_errors_read_suppressions(
	const struct engine_errors *errors, struct suppressions **ret)
{
	return leak_search_suppressions(cli_context(), errors->options->suppressions,
		errors->options->suppression_count, NULL, false, ret);
}

/* What is there is not replaced unless it is a result of Valgrind's, or the user says so. */
static struct error *check_output(const struct engine_errors_options *options)
{
	struct stat st;
	if (!options->output || options->overwrite || stat(options->output, &st) ||
		!S_ISREG(st.st_mode) || !st.st_size)
		return NULL;
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct error *error = recording_open(cli_context(), options->output, 0, NULL, &model);
	bool is_result = !error && strstr(model_recording(model)->source, "algrind");
	error_destroy(error);
	return is_result ? NULL
			 : error_create(ERROR_USAGE,
				   "%s exists and is no result of Valgrind's; use -f to replace it",
				   options->output);
}

struct error *engine_errors_create(
	const struct engine_errors_options *options, struct engine_errors **ret)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	struct engine_errors *errors = calloc(1, sizeof(*errors));
	if (!errors)
		return error_no_memory();
	errors->own = *options;
	text_init(&errors->leaks_text);
	errors->options = &errors->own;
	struct error *error = engine_errors_read_suppressions(errors, &set);
	if (!error)
		error = check_output(options);
	if (error)
		engine_errors_destroy(errors);
	else
		*ret = errors;
	return error;
}

void engine_errors_destroy(struct engine_errors *errors)
{
	if (!errors)
		return;
	kind_sums_free(&errors->kinds);
	text_deinit(&errors->leaks_text);
	engine_files_deinit(&errors->files);
	free(errors);
}

static void engine_file_path(
	const struct engine_errors *errors, pid_t pid, char ret[static PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%d.xml", errors->options->folder, (int)pid);
}

/* Opens a file and takes out what is suppressed. Equal errors become one at the end, when all are
 * known. */
static struct error *engine_errors_open(const struct engine_errors *errors,
	const struct engine_file *file, bool whole, struct model **ret)
{
	char path[PATH_MAX];
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	engine_file_path(errors, file->pid, path);
	struct error *error = recording_open(cli_context(), path, 0, NULL, &model);
	if (!error)
		error = engine_errors_read_suppressions(errors, &set);
	if (!error)
		error = errors_settle(model, set, whole);
	if (!error)
		*ret = steal_ptr(model);
	return error;
}

static bool wants_document(const struct engine_errors *errors)
{
	return errors->options->form > ERROR_FORM_CSV;
}

static struct error *engine_errors_write(const struct engine_errors *errors, struct text *text)
{
	if (text->failed)
		return error_no_memory();
	return text->len ? write_all(errors->options->log, "the log", text->data, text->len) : NULL;
}

/* "name (1234)" */
static void add_process(const struct model *model, const struct engine_file *file, struct text *out)
{
	const struct target *target = model_target(model);
	text_add(out, target->command_len ? path_last_part(target->command[0]) : "?");
	text_printf(out, " (%d)", (int)file->pid);
}

/* Adds the name of the file that is kept of a process. */
static void add_output(const struct engine_errors *errors, pid_t pid, struct text *out)
{
	text_add(out, errors->options->output);
	if (pid != errors->first)
		text_printf(out, ".%d", (int)pid);
}

/* Adds errors from the first new one on as a line. */
static struct error *add_line(const struct engine_errors *errors, const struct model *model,
	const struct engine_file *file, struct text *out)
{
	_cleanup_(text_deinit) struct text document, output;
	text_init(&document);
	text_init(&output);
	if (errors->options->output)
		add_output(errors, file->pid, &output);
	if (output.failed)
		return error_no_memory();
	const struct errors_view_options shown = {
		.first = file->shown, .recording_moves = true, .recording = output.data};
	const struct sink sink = {text_write, &document};
	struct error *error = errors_view_json(model, &shown, &sink);
	if (error)
		return error;
	if (document.failed)
		return error_no_memory();
	check_line_add(&document, out);
	return NULL;
}

/* Shows the errors of a file that are new. */
static struct error *engine_errors_show(
	struct engine_errors *errors, const struct model *model, struct engine_file *file)
{
	size_t count;
	_cleanup_(text_deinit) struct text text, process;
	text_init(&text);
	text_init(&process);
	model_errors(model, &count);
	if (count <= file->shown || wants_document(errors))
		return NULL;
	add_process(model, file, &process);
	const struct errors_view_options shown = {.first = file->shown,
		.write_suppressions = errors->options->gen_suppressions,
		.process = file->pid == errors->first ? NULL : process.data};
	struct error *error = process.failed          ? error_no_memory()
			      : errors->options->json ? add_line(errors, model, file, &text)
						      : errors_view_add(model, &shown, &text);
	if (error)
		return error;
	file->shown = count;
	return engine_errors_write(errors, &text);
}

/* Reads a file that has grown. One that can't be read yet is read later. */
static struct error *look_at_file(
	struct engine_errors *errors, struct engine_file *file, uint64_t size, bool whole)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	uint64_t start = monotonic_ns();
	if (!whole && start < file->pause_ns)
		return NULL;
	/* The process has executed another program, which began the file anew. */
	if (size < file->size)
		file->shown = 0;
	file->size = size;
	/* Not merged: numbers of errors stay as they are while more come. */
	struct error *error = engine_errors_open(errors, file, false, &model);
	if (error && error->code == ERROR_INPUT && !whole) {
		error_destroy(error);
		return NULL;
	}
	if (!error)
		error = engine_errors_show(errors, model, file);
	uint64_t end = monotonic_ns();
	file->pause_ns = end + (end - start) * READING_PART;
	return error;
}

static struct engine_file *find_file(struct engine_errors *errors, pid_t pid)
{
	for (size_t i = 0; i < errors->files.len; i++)
		if (errors->files.data[i].pid == pid)
			return &errors->files.data[i];
	const struct engine_file file = {.pid = pid};
	return engine_files_push(&errors->files, file) ? &errors->files.data[errors->files.len - 1]
						       : NULL;
}

/* "1234.xml": 1234; false: it is no such name. */
static bool pid_of_name(const char *name, pid_t *ret)
{
	char *end;
	long pid = strtol(name, &end, 10);
	*ret = (pid_t)pid;
	return end != name && pid > 0 && pid <= INT_MAX && !strcmp(end, ".xml");
}

struct error *engine_errors_look(struct engine_errors *errors, bool whole)
{
	DIR *folder = opendir(errors->options->folder);
	struct error *error = NULL;
	if (!folder)
		return error_create(ERROR_ENVIRONMENT, "cannot read %s: %s",
			errors->options->folder, strerror(errno));
	for (struct dirent *entry; !error && (entry = readdir(folder));) {
		struct stat st;
		pid_t pid;
		if (!pid_of_name(entry->d_name, &pid) ||
			fstatat(dirfd(folder), entry->d_name, &st, 0) || !st.st_size)
			continue;
		struct engine_file *file = find_file(errors, pid);
		if (!file)
			error = error_no_memory();
		else if (whole || (uint64_t)st.st_size != file->size)
			error = look_at_file(errors, file, (uint64_t)st.st_size, whole);
	}
	closedir(folder);
	return error;
}

void engine_errors_first(struct engine_errors *errors, pid_t first)
{
	errors->first = first;
}

size_t engine_errors_files(const struct engine_errors *errors)
{
	return errors->files.len;
}

uint64_t engine_errors_count(const struct engine_errors *errors)
{
	return errors->errors + errors->leaks;
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct error *count_errors(struct engine_errors *errors, const struct model *model)
{
	size_t count, entries;
	const struct error_suppression *used = model_error_suppressions(model, &entries);
	model_errors(model, &count);
	errors->errors += count;
	for (size_t i = 0; i < entries; i++)
		errors->suppressed += used[i].count;
	return kind_sums_add(&errors->kinds, model);
}

static struct error *show_leaks(struct engine_errors *errors, const struct model *model)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	struct error *error = engine_errors_read_suppressions(errors, &set);
	if (error)
		return error;
	const struct leaks_view_options view = {.form = LEAKS_TEXT,
		.detail = LEAKS_FULL,
		.show_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.error_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.write_suppressions = errors->options->gen_suppressions,
		.no_errors = true,
		.quiet = errors->options->quiet,
		.limit = VIEW_DEFAULT_LIMIT,
		.suppressions = set};
	struct leaks_outcome outcome = {.errors = 0};
	const struct sink sink = {text_write, &text};
	error = leaks_view_write(model, &view, &sink, &outcome);
	errors->leaks += outcome.errors;
	if (error || !errors->options->json)
		return error ? error : engine_errors_write(errors, &text);
	text_add_n(&errors->leaks_text, text.data ? text.data : "", text.len);
	return text.failed || errors->leaks_text.failed ? error_no_memory() : NULL;
}

/* Puts a process's file where the user wants it. */
static struct error *keep_file(const struct engine_errors *errors, const struct engine_file *file)
{
	char path[PATH_MAX];
	_cleanup_(text_deinit) struct text to;
	_cleanup_free_ uint8_t *data = NULL;
	_cleanup_(output_file_cleanup) struct output_file output = OUTPUT_FILE_NONE;
	size_t len;
	text_init(&to);
	add_output(errors, file->pid, &to);
	if (to.failed)
		return error_no_memory();
	engine_file_path(errors, file->pid, path);
	struct error *error = read_file(path, KEPT_BYTES_MAX, &data, &len);
	if (!error)
		error = output_file_open(to.data, OUTPUT_MODE, &output);
	if (!error)
		error = write_all(output.fd, to.data, data, len);
	if (!error)
		error = output_file_commit(&output);
	if (!error && !errors->options->quiet)
		message("kept in %s; to see it again: heapwise report --view errors %s", to.data,
			to.data);
	return error;
}

static struct error *end_file(struct engine_errors *errors, struct engine_file *file)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct error *error = engine_errors_open(errors, file, true, &model);
	if (!error)
		error = count_errors(errors, model);
	if (!error && errors->options->leaks && model_leak_search(model))
		error = show_leaks(errors, model);
	const char *doubt = error ? NULL : evidence_of_checks(model);
	errors->undecided += doubt != NULL;
	if (doubt)
		message("process %d: %s", (int)file->pid, doubt);
	if (!error && errors->options->output)
		error = keep_file(errors, file);
	return error;
}

/* A sentence of the summary, which a file takes that the user wants errors in. */
static void describe_summary(const struct engine_errors *errors, const char *sentence)
{
	_cleanup_(text_deinit) struct text line;
	text_init(&line);
	if (errors->options->log == STDERR_FILENO) {
		message("%s", sentence);
		return;
	}
	text_printf(&line, "%s\n", sentence);
	struct error *error = engine_errors_write(errors, &line);
	if (error)
		message_error(error);
}

static void describe_errors(const struct engine_errors *errors)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (errors->errors) {
		text_add_counted(&text, errors->errors, "error", "errors");
		text_add(&text, ", ");
		text_add_counted(&text, kind_sums_times(&errors->kinds), "time", "times");
		text_add(&text, ": ");
		kind_sums_text(&errors->kinds, &text);
	} else {
		text_add(&text, errors->suppressed ? "no errors but " : "no errors");
	}
	if (errors->suppressed && !errors->errors) {
		text_add_count(&text, errors->suppressed);
		text_add(&text, " suppressed");
	} else if (errors->suppressed) {
		text_add(&text, "; ");
		text_add_counted(
			&text, errors->suppressed, "more was suppressed", "more were suppressed");
	}
	describe_summary(errors, text.data ? text.data : "");
	describe_summary(errors,
		"looked for by Valgrind's memcheck, in all of the program's memory but "
		"overruns within the stack and global data");
}

/* Writes what --format wants. */
static struct error *write_document(const struct engine_errors *errors)
{
	const struct engine_errors_options *options = errors->options;
	const struct error_document document = {.form = options->form,
		.gen_suppressions = options->gen_suppressions,
		.known = options->suppressions,
		.known_count = options->suppression_count,
		.log = options->log};
	_cleanup_free_ const char **paths = calloc(errors->files.len + 1, sizeof(*paths));
	_cleanup_free_ char(*names)[PATH_MAX] = calloc(errors->files.len + 1, sizeof(*names));
	if (!paths || !names)
		return error_no_memory();
	for (size_t i = 0; i < errors->files.len; i++) {
		engine_file_path(errors, errors->files.data[i].pid, names[i]);
		paths[i] = names[i];
	}
	return error_document_write(&document, paths, errors->files.len);
}

/* What the errors come to, and after it leaks, which are text. */
static struct error *write_last_line(const struct engine_errors *errors)
{
	_cleanup_(text_deinit) struct text document, line;
	text_init(&document);
	text_init(&line);
	const struct sink sink = {text_write, &document};
	const struct errors_view_end end = {.errors = kind_sums_times(&errors->kinds),
		.different = errors->errors,
		.suppressed = errors->suppressed,
		.processes = errors->files.len,
		.undecided = errors->undecided,
		.ended = errors->options->first && errors->errors};
	struct error *error = errors_view_json_end(&end, NULL, &sink);
	if (!error && document.failed)
		error = error_no_memory();
	if (error)
		return error;
	check_line_add(&document, &line);
	text_add_n(&line, errors->leaks_text.data ? errors->leaks_text.data : "",
		errors->leaks_text.len);
	return engine_errors_write(errors, &line);
}

struct error *engine_errors_end(struct engine_errors *errors)
{
	struct error *error = NULL;
	for (size_t i = 0; i < errors->files.len && !error; i++)
		error = end_file(errors, &errors->files.data[i]);
	if (!error && errors->options->json)
		error = write_last_line(errors);
	else if (!error && wants_document(errors))
		error = write_document(errors);
	else if (!error && !errors->options->quiet)
		describe_errors(errors);
	return error;
}
