/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/symbol_files_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/symbol_files.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"

static const struct {
	const char *word, *text;
} qualities[] = {
	[SYMBOLS_UNOPENED] = {"none", "no names"},
	[SYMBOLS_DWARF] = {"dwarf", "names, files and lines (DWARF)"},
	[SYMBOLS_SYMTAB] = {"symtab", "names of functions (symbol table)"},
	[SYMBOLS_DYNSYM] = {"dynsym", "names of exported functions (dynamic symbols)"},
	[SYMBOLS_MISSING] = {"none", "no names: no file with any was found"},
	[SYMBOLS_CHANGED] = {"changed",
		"no names: its file is no longer the one that was recorded"},
};

static const struct {
	const char *word, *text;
} trials[TRIALS] = {
	[TRIAL_ABSENT] = {"absent", "is not there"},
	[TRIAL_UNREADABLE] = {"unreadable", "can't be read, or is no ELF file"},
	[TRIAL_CUT_SHORT] = {"cut-short", "is cut short"},
	[TRIAL_OTHER] = {"other-build", "is of another build"},
	[TRIAL_UNSURE] = {"unsure", "nothing tells whether it is the right one"},
	[TRIAL_EMPTY] = {"nothing-new", "has nothing that is missing"},
	[TRIAL_USED] = {"used", "is used"},
};

static const struct {
	enum symbols_lack lack;
	const char *word, *text;
} lacks[] = {
	{SYMBOLS_LACK_ZSTD, "zstd",
		"its debug information is packed by zstd, which can't be read here"},
	{SYMBOLS_LACK_SHARED, "shared", "the file that it shares with others (dwz) is missing"},
	{SYMBOLS_LACK_DAMAGED, "damaged", "its debug information is damaged"},
	{SYMBOLS_LACK_CUT, "cut", "a file that was cut off is passed over"},
	{SYMBOLS_LACK_SPLIT, "split", "split files (.dwo, .dwp) are missing or of another build"},
};

/* The vdso never was a file. */
static bool is_shown(const struct symbol_file *file)
{
	return file->path[0] == '/' || file->addresses;
}

static void add_build_id(const struct symbol_file *file, struct text *text)
{
	for (size_t i = 0; i < file->build_id_len; i++)
		text_printf(text, "%02x", file->build_id[i]);
}

static void text_file(const struct symbol_file *file, struct text *out)
{
	text_printf(out, "\n%s\n", file->path);
	if (file->build_id_len) {
		text_add(out, "  build-id   ");
		add_build_id(file, out);
	} else {
		text_add(out, "  build-id   none was recorded: that its file is the same now can't "
			      "be known");
	}
	text_printf(out, "\n  has        %s\n", qualities[file->state].text);
	if (file->names_from)
		text_printf(out, "  from       %s\n", file->names_from);
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (file->lacks & lacks[i].lack)
			text_printf(out, "  missing    %s\n", lacks[i].text);
	text_printf(out, "  in stacks  %" PRIu64 " %s", file->addresses,
		file->addresses == 1 ? "address" : "addresses");
	if (file->addresses)
		text_printf(out, ", %" PRIu64 " named, %" PRIu64 " with lines", file->named,
			file->placed);
	text_add(out, "\n");
	for (size_t i = 0; i < file->tried_count; i++)
		if (file->state != SYMBOLS_DWARF || file->lacks ||
			file->tried[i].trial != TRIAL_ABSENT)
			text_printf(out, "  looked at  %s: %s\n", file->tried[i].path,
				trials[file->tried[i].trial].text);
}

static void text_whole(const struct symbol_files *files, struct text *out)
{
	size_t counts[ARRAY_SIZE(qualities)] = {0}, shown = 0;
	for (size_t i = 0; i < files->files.len; i++) {
		const struct symbol_file *file = &files->files.data[i];
		shown += is_shown(file);
		counts[file->state] += is_shown(file);
	}
	text_printf(out, "%zu %s: %zu with names, files and lines, %zu with names, %zu without.\n",
		shown, shown == 1 ? "module" : "modules", counts[SYMBOLS_DWARF],
		counts[SYMBOLS_SYMTAB] + counts[SYMBOLS_DYNSYM],
		shown - counts[SYMBOLS_DWARF] - counts[SYMBOLS_SYMTAB] - counts[SYMBOLS_DYNSYM]);
	for (size_t i = 0; i < files->files.len; i++)
		if (is_shown(&files->files.data[i]))
			text_file(&files->files.data[i], out);
}

static void member_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json, value);
	else
		json_null(json);
}

static void member_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void json_tried(struct json *json, const struct symbol_file *file)
{
	json_key(json, "tried");
	json_array_begin(json);
	for (size_t i = 0; i < file->tried_count; i++) {
		json_object_begin(json);
		member_string(json, "path", file->tried[i].path);
		member_string(json, "result", trials[file->tried[i].trial].word);
		json_object_end(json);
	}
	json_array_end(json);
}

static struct error *json_file(struct json *json, const struct symbol_file *file)
{
	_cleanup_(text_deinit) struct text build_id;
	text_init(&build_id);
	add_build_id(file, &build_id);
	if (build_id.failed)
		return error_no_memory();
	json_object_begin(json);
	member_string(json, "path", file->path);
	member_string(json, "build_id", build_id.len ? build_id.data : NULL);
	member_string(json, "quality", qualities[file->state].word);
	member_string(json, "file", file->names_from);
	member_u64(json, "addresses", file->addresses);
	member_u64(json, "named", file->named);
	member_u64(json, "with_lines", file->placed);
	member_u64(json, "cached", file->kept);
	json_key(json, "missing");
	json_array_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (file->lacks & lacks[i].lack)
			json_string(json, lacks[i].word);
	json_array_end(json);
	json_tried(json, file);
	json_object_end(json);
	return NULL;
}

static struct error *json_whole(
	const struct model *model, const struct symbol_files *files, const struct sink *sink)
{
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json)
		return error_no_memory();
	json_init(json, sink->write, sink->ctx);
	json_object_begin(json);
	member_string(json, "schema", "heapwise.symbols/1");
	member_string(json, "recording", model_recording(model)->path);
	json_key(json, "modules");
	json_array_begin(json);
	struct error *error = NULL;
	for (size_t i = 0; i < files->files.len && !error; i++)
		if (is_shown(&files->files.data[i]))
			error = json_file(json, &files->files.data[i]);
	if (error)
		return error;
	json_array_end(json);
	json_object_end(json);
	json_finish(json);
	return NULL;
}

struct error *symbol_files_view_write(const struct model *model, bool json, const struct sink *sink)
{
	_cleanup_(symbol_files_deinit) struct symbol_files files;
	symbol_files_init(&files);
	struct error *error = symbol_files_build(model, &files);
	if (error)
		return error;
	if (json)
		return json_whole(model, &files, sink);
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	text_whole(&files, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}
