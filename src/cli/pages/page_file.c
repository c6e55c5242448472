/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/pages/page_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/terminal/message.h"
#include "page/page.h"
#include "query/bundles.h"
#include "query/stacks.h"

void page_file_deinit(struct page_file *file)
{
	option_words_free(&file->asked);
	process_rows_deinit(&file->processes);
	page_sources_deinit(&file->sources);
	view_request_deinit(&file->shown);
}

/* What was asked for can name what the page must not. */
static void asked_hide_arguments(struct option_words *asked)
{
	for (size_t i = 0; i < asked->len; i++) {
		char *argument = strchr(asked->data[i], '=');
		if (argument)
			*argument = '\0';
	}
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static struct page_output output_of(const struct page_file *file)
{
	return (struct page_output){.path = file->output      ? file->output
					    : file->container ? OUTPUT_STDOUT
							      : NULL,
		.of = file->path,
		.force = file->force,
		.quiet = file->quiet,
		.ways = file->way_out};
}

bool page_file_may_write(const struct page_file *file, const char *output)
{
	const struct page_output place = output_of(file);
	return page_output_may_write(&place, output);
}

struct page_content {
	const struct page_file *file;
	const struct page_parts *parts;
	const struct stacks *stacks;
	const char *title;
};

static const char *page_kind(const struct page_parts *parts)
{
	if (parts->base.model)
		return "diff";
	return strcmp(model_recording(parts->model)->source, "recording") == 0 ? "recording"
									       : "profile";
}

static struct error *write_page(void *ctx, const struct sink *sink)
{
	const struct page_content *content = ctx;
	const struct page_wanted wanted = {
		.writer = "heapwise " HW_VERSION,
		.kind = page_kind(content->parts),
		.title = content->title,
		.asked = (const char *const *)content->file->asked.data,
		.asked_count = content->file->asked.len,
		.documents = content->parts->documents,
		.document_count = content->parts->count,
		.profile = &content->stacks->profile,
		.over_time = content->parts->over_time,
		.marks = content->parts->marks.marks,
		.mark_count = content->parts->marks.count,
		.most_bytes = content->file->most_bytes,
		.container = content->file->container,
	};
	return page_write(&wanted, sink);
}

/* What the user calls it, else "app.hpw", or "old.hpw → new.hpw". NULL: no memory. */
static char *make_title(const struct page_file *file, const struct page_parts *parts)
{
	const char *newer = model_recording(parts->model)->path;
	char *made;
	if (file->title)
		return strdup(file->title);
	if (!parts->older.model)
		return strdup(file_name(newer));
	return asprintf(&made, "%s → %s", file_name(parts->older.text),
		       file_name(parts->diff.labels[1])) < 0
		       ? NULL
		       : made;
}

static struct error *write_processes(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct process_rows *rows = ctx;
	const struct view_options options = {.json = true, .limit = limit};
	*ret_left_out = rows->unread;
	return tree_write(rows->data, rows->len, &options, sink);
}

/* Adds the document of processes, if the page is of a folder. */
static struct error *add_processes(struct page_file *file, struct page_parts *parts)
{
	struct process_rows *rows = &file->processes;
	struct anonymizer *anonymizer = file->shown.query.anonymizer;
	if (!rows->len)
		return NULL;
	page_parts_add(parts, "processes", write_processes, rows);
	struct error *error = anonymizer ? process_rows_hide(rows, anonymizer) : NULL;
	return error ? error : tree_arrange(rows->data, rows->len);
}

/* Adds the document of source lines, which are of the stacks. */
static struct error *add_sources(
	struct page_sources *sources, const struct stacks *stacks, struct page_parts *parts)
{
	const char *bundle = bundle_folder(cli_context(), model_recording(stacks->model)->path);
	page_parts_add(parts, "sources", page_sources_write, sources);
	return page_sources_build(stacks, bundle, sources);
}

static int write_to(struct page_file *file, struct page_parts *parts)
{
	_cleanup_(stacks_deinit) struct stacks stacks = {.model = NULL};
	_cleanup_free_ char *title = make_title(file, parts);
	const struct stacks_wanted wanted = {.metric = METRICS,
		.all_frames = file->shown.options.all_frames,
		.normalize = file->change.normalize,
		.count_libraries = file->change.count_libraries};
	struct page_content content = {file, parts, &stacks, title};
	struct page_output output = output_of(file);
	output.of = model_recording(parts->model)->path;
	output.compared = parts->older.model;
	struct error *error = title ? stacks_build(&file->shown.query, parts->model, &parts->older,
					      &wanted, &stacks)
				    : error_no_memory();
	if (!error)
		error = add_processes(file, parts);
	if (!error && file->sources.wanted)
		error = add_sources(&file->sources, &stacks, parts);
	return error ? message_error(error) : page_output_write(&output, write_page, &content);
}

/* Of a folder, the page is of the process with the largest peak, beside the table of all. Sets
 * *ret to its recording, to be freed; NULL: what is asked for is no folder. Returns 0, or the exit
 * code after saying why. */
static int choose_process(struct page_file *file, char **ret)
{
	struct stat st;
	*ret = NULL;
	if (!file->path || stat(file->path, &st) || !S_ISDIR(st.st_mode))
		return 0;
	if (file->shown.query.base) {
		message("%s is a folder: --base compares one recording with another", file->path);
		return ERROR_USAGE;
	}
	char *folder = (char *)file->path;
	int code = process_rows_read(&file->processes, &folder, 1);
	const struct tree_row *row = code ? NULL : process_rows_main(&file->processes);
	if (!row)
		return code;
	*ret = strdup(row->file);
	return *ret ? 0 : message_error(error_no_memory());
}

static int write_recording(struct page_file *file)
{
	_cleanup_(page_parts_deinit) struct page_parts parts = {.lifetimes = file->lifetimes,
		.no_timeline = file->no_timeline,
		.change = file->change};
	int code = page_parts_open(&file->shown, file->path, &parts);
	if (!code && file->shown.query.anonymize)
		asked_hide_arguments(&file->asked);
	return code ? code : write_to(file, &parts);
}

int page_file_write(struct page_file *file)
{
	_cleanup_free_ char *chosen = NULL;
	int code = choose_process(file, &chosen);
	if (code)
		return code;
	const char *path = file->path;
	file->path = chosen ? chosen : path;
	code = write_recording(file);
	file->path = path;
	return code ? code : file->processes.code;
}
