/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording is somebody else's: what it names may be any file that its reader may read, and the
 * page is made to be sent on. So a file is only embedded if
 *
 *	- the debug information of a module names it, which was identified by its build-id (so it is
 *	  of a program that is installed here, not of one that the recording made up), and not the
 *	  recording itself, as names of interpreters' code and of other tools' files are;
 *	- its name, and that of what it links to, is one of source code (source_file_find());
 *	- it is a regular file of at most SOURCE_FILE_BYTES without NUL bytes;
 *	- for a bundle, which brings debug information itself: it is in the bundle.
 */
#include "cli/pages/page_sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"
#include "query/source_files.h"

#define SOURCE_FILE_BYTES ((size_t)1 << 20)
/* Of all files together. */
#define SOURCE_ALL_BYTES ((size_t)2 << 20)
/* Longer lines are nobody's to read. */
#define SOURCE_LINE_BYTES ((size_t)500)
/* Lines before and after one that has figures. */
#define SOURCE_MARGIN 8u

void page_sources_deinit(struct page_sources *sources)
{
	if (sources->spots)
		listing_deinit(&sources->listing);
	spots_destroy(sources->spots);
	source_folders_deinit(&sources->folders);
}

static bool module_has_id(const struct model *model, const char *path)
{
	size_t limit = model_module_limit(model);
	for (uint32_t i = 1; path && i < limit; i++) {
		const struct module *module = model_module(model, (struct module_id){i});
		if (module->build_id_len && strcmp(module->path, path) == 0)
			return true;
	}
	return false;
}

static bool may_be_embedded(const struct model *model, const struct shown_frame *frame)
{
	return frame->kind == FRAME_NATIVE && frame->file && !frame->given && frame->code_module &&
	       module_has_id(model, frame->module_path);
}

struct error *page_sources_build(
	const struct stacks *stacks, const char *bundle, struct page_sources *ret)
{
	ret->model = stacks->model;
	ret->bundle = bundle;
	struct error *error = spots_create(GRAIN_FILES, &ret->spots);
	if (error)
		return error;
	listing_init(&ret->listing);
	error = stacks_intern_spots(stacks, ret->spots);
	if (error)
		return error;
	size_t count = spots_count(ret->spots);
	_cleanup_free_ bool *is_chosen = calloc(count + 1, sizeof(*is_chosen));
	if (!is_chosen)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		is_chosen[i] = may_be_embedded(ret->model, spots_at(ret->spots, i)->frame);
	return listing_build(profile_rows(&stacks->profile), ret->spots, is_chosen, &ret->listing);
}

/* Finds a part's file, if it may be read for a page: else *ret has no text. */
static struct error *find_text(const struct page_sources *sources, const struct listing_part *part,
	struct listing_source *ret)
{
	const struct target *target = model_target(sources->model);
	const struct source_search search = {.file = part->file,
		.cwd = target->cwd,
		.bundle = sources->bundle,
		.folders = sources->folders.data,
		.folder_count = sources->folders.len,
		.recorded_ns = target->wall_start_ns};
	struct error *error = source_file_find(&search, ret);
	size_t bundle_len = sources->bundle ? strlen(sources->bundle) : 0;
	bool fits = ret->text && ret->len <= SOURCE_FILE_BYTES && !memchr(ret->text, 0, ret->len) &&
		    (!bundle_len || strncmp(ret->found, sources->bundle, bundle_len) == 0);
	if (error || !fits) {
		source_file_deinit(ret);
		*ret = (struct listing_source){.found = NULL};
	}
	return error;
}

/* A file's text, line by line. */
struct line_reader {
	const char *at, *end;
	uint32_t line; /* that comes next, from 1 */
};

/* False: there is no other line. */
static bool next_line(struct line_reader *reader, const char **ret, size_t *ret_len)
{
	if (reader->at >= reader->end)
		return false;
	const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	end = end ? end : reader->end;
	*ret = reader->at;
	*ret_len = min((size_t)(end - reader->at), SOURCE_LINE_BYTES);
	reader->at = end + 1;
	reader->line++;
	return true;
}

/* Whether the line is near one with figures; *next: of those, the first that may still be near. */
static bool is_near(const struct listing_lines *lines, uint32_t line, size_t *next)
{
	while (*next < lines->len && lines->data[*next].line + SOURCE_MARGIN < line)
		++*next;
	return *next < lines->len && lines->data[*next].line <= line + SOURCE_MARGIN;
}

/* Writes what is near lines with figures, as runs of lines. Returns how many bytes that are. */
static size_t put_runs(
	struct json *json, const struct listing_lines *lines, const struct listing_source *source)
{
	struct line_reader reader = {source->text, source->text + source->len, 1};
	const char *text;
	size_t len, next = 0, bytes = 0;
	bool in_run = false;
	json_key(json, "runs");
	json_array_begin(json);
	while (next_line(&reader, &text, &len)) {
		bool near = is_near(lines, reader.line - 1, &next);
		if (in_run && !near) {
			json_array_end(json);
			json_object_end(json);
		}
		if (!in_run && near) {
			json_object_begin(json);
			json_key(json, "line");
			json_u64(json, reader.line - 1);
			json_key(json, "text");
			json_array_begin(json);
		}
		in_run = near;
		if (!near)
			continue;
		json_string_n(json, text, len - (len && text[len - 1] == '\r'));
		bytes += len + 1;
	}
	if (in_run) {
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	return bytes;
}

static size_t put_file(
	struct json *json, const struct listing_part *part, const struct listing_source *source)
{
	json_object_begin(json);
	json_key(json, "file");
	json_string(json, part->file);
	json_key(json, "newer");
	json_bool(json, source->newer);
	size_t bytes = put_runs(json, &part->lines, source);
	json_object_end(json);
	return bytes;
}

struct written_sources {
	size_t files, bytes, missing;
};

static struct error *put_part(const struct page_sources *sources, const struct listing_part *part,
	size_t limit, struct json *json, struct written_sources *written, size_t *ret_left_out)
{
	struct listing_source source;
	struct error *error = find_text(sources, part, &source);
	if (!error && !source.text) {
		written->missing++;
	} else if (!error && (written->files >= limit || written->bytes >= SOURCE_ALL_BYTES)) {
		++*ret_left_out;
	} else if (!error) {
		written->files++;
		written->bytes += put_file(json, part, &source);
	}
	source_file_deinit(&source);
	return error;
}

struct error *page_sources_write(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct page_sources *sources = ctx;
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	struct written_sources written = {.files = 0};
	struct error *error = NULL;
	*ret_left_out = 0;
	if (!json)
		return error_no_memory();
	if (!sources->listing.parts.len)
		return error_create(ERROR_INPUT,
			"no debug information that belongs to a build-id names source lines");
	json_init(json, sink->write, sink->ctx);
	json_object_begin(json);
	json_key(json, "files");
	json_array_begin(json);
	for (size_t i = 0; !error && i < sources->listing.parts.len; i++)
		error = put_part(sources, &sources->listing.parts.data[i], limit, json, &written,
			ret_left_out);
	json_array_end(json);
	json_key(json, "missing");
	json_u64(json, written.missing);
	json_object_end(json);
	json_finish(json);
	if (!error && !written.files)
		return error_create(ERROR_INPUT,
			"none of the %zu source files was found; --source-path FOLDER says where "
			"they are",
			sources->listing.parts.len);
	return error;
}
