/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/report_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "model/model.h"
#include "sources/anonymize.h"
#include "sources/source.h"
#include "views/tree.h"

void process_rows_deinit(struct process_rows *rows)
{
	for (size_t i = 0; i < rows->len; i++) {
		free((char *)rows->data[i].file);
		free((char *)rows->data[i].command);
		struct unrecorded_groups *groups = &rows->data[i].unrecorded;
		for (size_t k = 0; k < groups->len; k++)
			free((char *)groups->data[k].path);
		unrecorded_groups_deinit(groups);
	}
	free(rows->data);
}

static char *command_text(const struct target *target)
{
	struct text text;
	text_init(&text);
	for (size_t i = 0; i < target->command_len; i++)
		text_printf(&text, "%s%s", i ? " " : "", target->command[i]);
	return text_steal(&text);
}

/* With names that outlive the model. */
static struct error *groups_keep(const struct model *model, struct unrecorded_groups *ret)
{
	struct error *error = unrecorded_group(model, ret);
	size_t kept = 0;
	while (!error && kept < ret->len) {
		struct unrecorded_group *group = &ret->data[kept];
		group->path = strdup(group->path);
		if (!group->path)
			error = error_no_memory();
		else
			kept++;
	}
	ret->len = kept;
	return error;
}

static struct error *rows_push(struct process_rows *rows, const struct tree_row *row)
{
	if (rows->len == rows->cap) {
		size_t cap = rows->cap ? rows->cap * 2 : 64;
		struct tree_row *moved = realloc(rows->data, cap * sizeof(*moved));
		if (!moved)
			return error_no_memory();
		rows->data = moved;
		rows->cap = cap;
	}
	rows->data[rows->len++] = *row;
	return row->file && row->command ? NULL : error_no_memory();
}

/* Processes that have no file of their own, but a row in this recording. */
static struct error *rows_add_small(
	struct process_rows *rows, const struct model *model, const char *path)
{
	size_t count;
	const struct small_process *small = model_small(model, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		const struct tree_row row = {.target = small[i].target,
			.totals = small[i].totals,
			.lost_events = small[i].lost_events,
			.duration_ns = small[i].duration_ns,
			.children_unrecorded = small[i].children_unrecorded,
			.complete = true,
			.small = true,
			.file = strdup(path),
			.command = strdup(small[i].command)};
		error = rows_push(rows, &row);
	}
	return error;
}

/* What a process had, not what it did: as a row it would be one of zeros. */
static struct error *refuse_row(const char *path, const struct recording *recording)
{
	return error_create(ERROR_INPUT,
		"%s: no recording (read as %s, which doesn't say what was allocated): it is not in "
		"the table of processes; look at it alone",
		path, recording->source);
}

/* Keeps what the table shows; the model goes, there may be thousands of them. */
static struct error *rows_add(struct process_rows *rows, const char *path)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct error *error = source_open(path, &model);
	if (error)
		return error;
	const struct recording *recording = model_recording(model);
	if (recording->unknown & UNKNOWN_ALLOCATIONS)
		return refuse_row(path, recording);
	struct tree_row row = {.target = *model_target(model),
		.totals = *model_totals(model),
		.lost_events = recording->lost_events,
		.unseen = recording->own_malloc || recording->not_attached,
		.duration_ns = recording->duration_ns,
		.children_unrecorded = recording->children_unrecorded,
		.complete = recording->complete,
		.changed = recording->changed_at_end,
		.sampled = recording->sample_bytes,
		.file = strdup(path),
		.command = command_text(model_target(model))};
	error = groups_keep(model, &row.unrecorded);
	struct error *full = rows_push(rows, &row);
	if (error || full) {
		error_destroy(error ? full : NULL);
		return error ? error : full;
	}
	return rows_add_small(rows, model, path);
}

static void rows_read(struct process_rows *rows, const char *path)
{
	struct error *error = rows_add(rows, path);
	if (!error)
		return;
	rows->unread++;
	rows->code = message_error(error);
}

static int is_recording_name(const struct dirent *entry)
{
	return !fnmatch("*.hpw", entry->d_name, FNM_PERIOD);
}

/* By name, so that what is said of the broken ones has an order. */
static void rows_read_folder(struct process_rows *rows, const char *folder)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_recording_name, alphasort);
	if (count < 0)
		rows->code = message_error(
			error_errno(ERROR_INPUT, errno, "cannot list the folder %s", folder));
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL;
		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
			path = NULL;
			rows->code = message_error(error_no_memory());
		} else {
			rows_read(rows, path);
		}
		free(entries[i]);
	}
	free(entries);
}

/* The token of a program; "" stays. */
static struct error *hide_program(struct anonymizer *anonymizer, const char **program)
{
	const char *token = "";
	struct error *error =
		(*program)[0] ? anonymizer_name(anonymizer, NAME_MODULE, *program, &token) : NULL;
	char *copy = error ? NULL : strdup(token);
	if (!copy)
		return error ? error : error_no_memory();
	free((char *)*program);
	*program = copy;
	return NULL;
}

/* Of a command only the program counts, which is one whatever it is given. */
static struct error *hide_command(struct anonymizer *anonymizer, const char **command)
{
	char *space = strchr(*command, ' ');
	if (space)
		*space = '\0';
	return hide_program(anonymizer, command);
}

/* By their numbers. */
static struct error *number_files(struct process_rows *rows)
{
	size_t files = 0;
	for (size_t i = 0; i < rows->len; i++) {
		struct tree_row *row = &rows->data[i];
		files += !row->small;
		char *file = NULL;
		if (asprintf(&file, "recording-%zu", files) < 0)
			return error_no_memory();
		free((char *)row->file);
		row->file = file;
	}
	return NULL;
}

static struct error *hide_programs(struct process_rows *rows, struct anonymizer *anonymizer)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->len; i++) {
		struct tree_row *row = &rows->data[i];
		error = hide_command(anonymizer, &row->command);
		for (size_t k = 0; !error && k < row->unrecorded.len; k++)
			error = hide_program(anonymizer, &row->unrecorded.data[k].path);
	}
	return error;
}

struct error *process_rows_hide(struct process_rows *rows, struct anonymizer *anonymizer)
{
	struct error *error = number_files(rows);
	return error ? error : hide_programs(rows, anonymizer);
}

int process_rows_read(struct process_rows *rows, char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		if (!stat(paths[i], &st) && S_ISDIR(st.st_mode))
			rows_read_folder(rows, paths[i]);
		else
			rows_read(rows, paths[i]);
	}
	if (rows->len)
		return 0;
	if (!rows->code)
		message("no recording (*.hpw) in %s", paths[0]);
	return rows->code ? rows->code : ERROR_INPUT;
}

const struct tree_row *process_rows_main(const struct process_rows *rows)
{
	const struct tree_row *best = NULL;
	for (size_t i = 0; i < rows->len; i++) {
		const struct tree_row *row = &rows->data[i];
		if (row->small)
			continue;
		uint64_t peak = row->totals.peak_bytes, most = best ? best->totals.peak_bytes : 0;
		if (!best || peak > most ||
			(peak == most && row->target.wall_start_ns >= best->target.wall_start_ns))
			best = row;
	}
	return best;
}

/* Rows are in the order of their files. */
static struct error *name_files(
	struct process_rows *rows, char *const *paths, const char *const *names)
{
	size_t file = 0;
	for (size_t i = 0; i < rows->len; i++) {
		struct tree_row *row = &rows->data[i];
		while (strcmp(paths[file], row->file) != 0)
			file++;
		char *name = strdup(names[file]);
		if (!name)
			return error_no_memory();
		free((char *)row->file);
		row->file = name;
	}
	return NULL;
}

static struct error *hide_names(
	struct process_rows *rows, char *const *paths, const struct report_tree_options *options)
{
	_cleanup_(anonymizer_cleanup) struct anonymizer *anonymizer = NULL;
	struct error *error = anonymizer_create(&anonymizer);
	if (!error)
		error = options->names ? name_files(rows, paths, options->names)
				       : number_files(rows);
	return error ? error : hide_programs(rows, anonymizer);
}

int report_tree(char *const *paths, size_t count, const struct report_tree_options *options)
{
	_cleanup_(process_rows_deinit) struct process_rows rows = {.len = 0};
	int code = count ? process_rows_read(&rows, paths, count) : ERROR_INPUT;
	if (code && !(options->may_be_empty && code == ERROR_INPUT))
		return code;
	struct output output;
	struct sink sink = output_sink_paged(&output, options->paged);
	struct error *error = options->anonymize ? hide_names(&rows, paths, options) : NULL;
	if (!error)
		error = tree_arrange(rows.data, rows.len);
	if (!error)
		error = tree_write(rows.data, rows.len, options->view, &sink);
	if (error)
		return message_error(error);
	code = output_end(&output);
	return code || options->may_be_empty ? code : rows.code;
}
