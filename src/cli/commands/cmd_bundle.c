/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise bundle: a recording and what it takes to read it on another machine, in one file. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "bundle/pack.h"
#include "cli/commands/bundle_anonymous.h"
#include "cli/options/view_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "query/bundle_files.h"
#include "query/bundles.h"
#include "query/inputs.h"

#define NAME_END ".bundle.tar.zst"
#define MISSING_SOURCES_MAX 10u

enum {
	OPT_SOURCES = 256,
	OPT_SOURCE_PATH,
	OPT_OUTPUT = 'o',
};

static const struct option_spec option_specs[] = {
	{OPT_OUTPUT, "output", "FILE",
		"write to FILE (default: NAME" NAME_END "); .gz and .zst are compressed"},
	{OPT_SOURCES, "sources", NULL, "include the source files of all functions in stacks"},
	{OPT_SOURCE_PATH, "source-path", "FOLDER", "search there for sources too; may be repeated"},
	{VIEW_OPT_ANONYMIZE, "anonymize", NULL,
		"pack only the recording, with no names of functions, files, modules, threads, "
		"marks, the command or the host: for bug reports"},
	{VIEW_OPT_JSON, "json", NULL,
		"write a list of the contents as JSON, schema heapwise.bundle/1"},
	SYMBOL_SPECS{0},
};

struct request {
	struct view_request shown;
	const char *path; /* NULL: the newest recording here */
	const char *output;
	bool sources;
	struct bundle_folders where;
	char **folders; /* of `where` */
};

static bool cmd_bundle_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case OPT_OUTPUT:
		request->output = options->argument;
		return true;
	case OPT_SOURCES:
		request->sources = true;
		return true;
	case OPT_SOURCE_PATH:
		request->sources = true;
		request->folders[request->where.count++] = (char *)options->argument;
		return true;
	default:
		return view_options_take(options, id, &request->shown);
	}
}

/* "app" of "dir/app.hpw": the bundle is written to the current folder. */
static char *default_output(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strstr(name, NAME_END);
	if (!dot)
		dot = strrchr(name, '.');
	size_t len = dot && dot != name ? (size_t)(dot - name) : strlen(name);
	char *made;
	return asprintf(&made, "%.*s" NAME_END, (int)len, name) < 0 ? NULL : made;
}

static void add_counts(const struct bundle_manifest *manifest, struct text *text)
{
	static const struct {
		const char *one, *many;
	} words[BUNDLE_KINDS] = {
		[BUNDLE_KIND_RECORDING] = {"recording", "recordings"},
		[BUNDLE_KIND_PARENT] = {"parent's recording", "parents' recordings"},
		[BUNDLE_KIND_MODULE] = {"program or library", "programs and libraries"},
		[BUNDLE_KIND_DEBUG] = {"debug file", "debug files"},
		[BUNDLE_KIND_SHARED] = {"shared debug file", "shared debug files"},
		[BUNDLE_KIND_SPLIT] = {"split unit", "split units"},
		[BUNDLE_KIND_PACKAGE] = {"package of split units", "packages of split units"},
		[BUNDLE_KIND_SOURCE] = {"source file", "source files"},
	};
	size_t counts[BUNDLE_KINDS] = {0};
	uint64_t bytes[BUNDLE_KINDS] = {0};
	for (size_t i = 0; i < manifest->files.len; i++) {
		counts[manifest->files.data[i].kind]++;
		bytes[manifest->files.data[i].kind] += manifest->files.data[i].bytes;
	}
	for (unsigned i = 0; i < BUNDLE_KINDS; i++) {
		if (!counts[i])
			continue;
		text_add(text, "  ");
		text_add_count(text, counts[i]);
		text_printf(text, " %s, ", counts[i] == 1 ? words[i].one : words[i].many);
		text_add_bytes(text, bytes[i]);
		text_add_char(text, '\n');
	}
}

/* Of sources a few: of those of the system all are mostly missing. */
static void add_missing(const struct bundle_manifest *manifest, struct text *text)
{
	size_t sources = 0;
	if (manifest->missing.len)
		text_add(text, "Not in it:\n");
	for (size_t i = 0; i < manifest->missing.len; i++) {
		const struct bundle_missing *missing = &manifest->missing.data[i];
		if (missing->kind == BUNDLE_KIND_SOURCE && ++sources > MISSING_SOURCES_MAX)
			continue;
		text_add(text, "  ");
		text_add_shown(text, missing->path, SIZE_MAX);
		text_printf(text, ": %s\n", missing->why);
	}
	if (sources > MISSING_SOURCES_MAX)
		text_printf(text, "  and %zu more sources (--json lists them)\n",
			sources - MISSING_SOURCES_MAX);
}

static struct error *cmd_bundle_write_text(const struct bundle_manifest *manifest,
	const char *output, uint64_t packed, struct text *text)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < manifest->files.len; i++)
		bytes += manifest->files.data[i].bytes;
	text_add_shown(text, output, SIZE_MAX);
	text_add(text, ": ");
	text_add_bytes(text, packed);
	text_add(text, ", of files of ");
	text_add_bytes(text, bytes);
	text_add(text, " in all:\n");
	add_counts(manifest, text);
	add_missing(manifest, text);
	return text->failed ? error_no_memory() : NULL;
}

struct bundle_answer {
	const struct bundle_manifest *manifest;
	const char *output;
	uint64_t packed;
	bool json;
};

static struct error *cmd_bundle_put(void *ctx, const struct sink *sink)
{
	const struct bundle_answer *bundle_answer = ctx;
	if (bundle_answer->json) {
		_cleanup_free_ struct json *json = malloc(sizeof(*json));
		if (!json)
			return error_no_memory();
		json_init(json, sink->write, sink->ctx);
		bundle_manifest_write(bundle_answer->manifest, json);
		json_finish(json);
		return NULL;
	}
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	struct error *error = cmd_bundle_write_text(
		bundle_answer->manifest, bundle_answer->output, bundle_answer->packed, &text);
	if (!error)
		sink->write(sink->ctx, text.data, text.len);
	return error;
}

static struct error *gather_anonymous(const struct request *request, const struct model *model,
	const char *output, struct bundle_manifest *manifest, int *ret_fd)
{
	struct source_place place;
	manifest->anonymous = true;
	struct error *error = recording_place(cli_context(), request->shown.query.opened, &place);
	return error ? error
		     : bundle_add_anonymous(manifest, output, &place,
			       request->shown.query.anonymizer, model, ret_fd);
}

static struct error *cmd_bundle_gather(
	const struct request *request, const struct model *model, struct bundle_manifest *manifest)
{
	struct symbol_files files;
	symbol_files_init(&files);
	progress_begin("looking for files");
	struct error *error = bundle_add_recording(cli_context(), manifest, model);
	if (!error)
		error = symbol_files_build(model, &files);
	if (!error)
		error = bundle_add_symbols(manifest, &files);
	if (!error && request->sources)
		error = bundle_add_sources(cli_context(), manifest, model, &files, &request->where);
	symbol_files_deinit(&files);
	progress_end();
	return error;
}

/* It appears whole or not at all, and is the user's alone: what is in it may be secret. */
static struct error *write_bundle(
	const struct bundle_manifest *manifest, const char *path, uint64_t *ret_bytes)
{
	_cleanup_(output_file_cleanup) struct output_file file = OUTPUT_FILE_NONE;
	for (size_t i = 0; i < manifest->files.len; i++)
		inputs_note(cli_context(), manifest->files.data[i].from);
	struct error *error = output_file_open(path, 0600, &file);
	if (!error)
		error = inputs_check(cli_context(), &file);
	if (!error)
		error = bundle_pack(manifest, path, file.fd, ret_bytes);
	return error ? error : output_file_commit(&file);
}

static int cmd_bundle_pack(struct request *request, const struct model *model)
{
	struct bundle_manifest manifest;
	bundle_manifest_init(&manifest, "heapwise " HW_VERSION);
	_cleanup_free_ char *made = default_output(model_recording(model)->path);
	struct bundle_answer bundle_answer = {.manifest = &manifest,
		.output = request->output ? request->output : made,
		.json = request->shown.options.json};
	_cleanup_close_ int fd = -1;
	struct error *error =
		!bundle_answer.output ? error_no_memory()
		: request->shown.query.anonymize
			? gather_anonymous(request, model, bundle_answer.output, &manifest, &fd)
			: cmd_bundle_gather(request, model, &manifest);
	progress_begin("packing %s", bundle_answer.output ? bundle_answer.output : "");
	if (!error)
		error = write_bundle(&manifest, bundle_answer.output, &bundle_answer.packed);
	progress_end();
	int code =
		error ? message_error(error)
		      : view_request_write(&request->shown, NULL, cmd_bundle_put, &bundle_answer);
	bundle_manifest_deinit(&manifest);
	return code;
}

static int cmd_bundle_show(struct request *request)
{
	struct model *model = NULL;
	request->shown.no_pager = true;
	int code = view_request_open(&request->shown, request->path, 0, &model);
	/* What libdw finds by itself it does not tell. */
	if (!code)
		request->shown.query.names.settings->own_split = true;
	if (!code)
		code = cmd_bundle_pack(request, model);
	model_destroy(model);
	return code;
}

static bool cmd_bundle_check(const struct command *command, const struct request *request)
{
	if (request->sources && request->shown.query.anonymize) {
		options_wrong(command, "--sources and --anonymize exclude each other: --anonymize "
				       "leaves out all files");
		return false;
	}
	if (!request->output || strcmp(request->output, OUTPUT_STDOUT) != 0)
		return true;
	options_wrong(command, "a bundle can't be written to stdout: use -o FILE");
	return false;
}

static int cmd_bundle_run(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ char **folders = calloc((size_t)argc + 1, sizeof(*folders));
	if (!folders)
		return message_error(error_no_memory());
	struct request request = {
		.shown = VIEW_REQUEST_DEFAULT, .folders = folders, .where = {.folders = folders}};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	if (options_each(&options, cmd_bundle_take, &request, &code) &&
		cmd_bundle_check(command, &request) &&
		view_request_files(command, &request.shown, "a bundle", argv + options.operand,
			(size_t)(argc - options.operand), &request.path))
		code = cmd_bundle_show(&request);
	view_request_deinit(&request.shown);
	return code;
}

const struct command command_bundle = {
	.name = "bundle",
	.synopsis = "[FILE] [-o OUT] [--sources] [OPTION…]",
	.what = "Packs a recording with the files needed to read it on another machine.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. FILE may "
		 "also be another\n"
		 "tool's. The bundle has the programs and libraries that appear in stacks and "
		 "their debug files, if\n"
		 "they are the builds that were recorded. All commands accept a bundle in place of "
		 "a recording, and\n"
		 "tar unpacks it. It contains whole programs, with any secrets in them.\n",
	.examples = "  heapwise bundle app.hpw\n"
		    "  heapwise bundle --sources -o app.tar.gz app.hpw\n"
		    "  heapwise report app.bundle.tar.zst               elsewhere\n",
	.options = option_specs,
	.run = cmd_bundle_run,
};
