/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/anonymize.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "model/build.h"
#include "symbols/known.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

#define NO_MODULE UINT32_MAX

struct anonymizer {
	struct strings strings;
	struct string_map tokens[NAME_KINDS];
};

static const char *const words[NAME_KINDS] = {
	[NAME_FUNCTION] = "function",
	[NAME_FILE] = "file",
	[NAME_MODULE] = "module",
	[NAME_THREAD] = "thread",
	[NAME_MARK] = "mark",
	[NAME_SUPPRESSION] = "suppression",
};

struct error *anonymizer_create(struct anonymizer **ret)
{
	struct anonymizer *anonymizer = calloc(1, sizeof(*anonymizer));
	if (!anonymizer)
		return error_no_memory();
	strings_init(&anonymizer->strings);
	for (unsigned i = 0; i < NAME_KINDS; i++)
		string_map_init(&anonymizer->tokens[i]);
	*ret = anonymizer;
	return NULL;
}

void anonymizer_destroy(struct anonymizer *anonymizer)
{
	if (!anonymizer)
		return;
	for (unsigned i = 0; i < NAME_KINDS; i++)
		string_map_deinit(&anonymizer->tokens[i]);
	strings_deinit(&anonymizer->strings);
	free(anonymizer);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_number(const char *text)
{
	return text[strspn(text, "0123456789.")] == '\0';
}

/* The name that a library of the system has on all machines; NULL: it is none. */
static const char *system_module(const char *path)
{
	static const char *const stems[] = {"libc", "libm", "libpthread", "libdl", "librt",
		"libresolv", "libstdc++", "libgcc_s", "libc++", "libc++abi", "ld-linux-x86-64",
		"libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libtcmalloc_debug",
		"libtcmalloc_minimal_debug", "libtcmalloc_and_profiler", "libmimalloc",
		"libmimalloc-secure", "libheapwise-rt", "linux-vdso"};
	const char *name = last_part(path);
	for (size_t i = 0; i < ARRAY_SIZE(stems); i++) {
		size_t len = strlen(stems[i]);
		if (strncmp(name, stems[i], len) == 0 && strncmp(name + len, ".so", 3) == 0 &&
			is_number(name + len + 3))
			return name;
	}
	return NULL;
}

/* Says more than its token would, and nothing of the program. */
static const char *const kept_functions[] = {
	"main", "_start", "__libc_start_main", "_dl_start_user", "(below main)"};

static bool is_kept(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_functions); i++)
		if (strcmp(function, kept_functions[i]) == 0)
			return true;
	return known_allocator(function);
}

static const char *anonymize_extension(const char *file)
{
	static const char *const known[] = {".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".rs",
		".go", ".S", ".py", ".f90", ".zig", ".d"};
	const char *dot = strrchr(last_part(file), '.');
	for (size_t i = 0; dot && i < ARRAY_SIZE(known); i++)
		if (strcmp(dot, known[i]) == 0)
			return known[i];
	return "";
}

/* What a report tells of a name by its form remains visible. */
static void add_token(struct text *text, enum name_kind kind, const char *name, size_t number)
{
	const char *runtime = kind == NAME_FUNCTION ? known_runtime_function(name) : NULL;
	text_printf(text, "%s%s-%zu", runtime ? runtime : "", words[kind], number);
	if (kind == NAME_FUNCTION && known_wrapper(name))
		text_add(text, "_alloc");
	if (kind == NAME_FILE)
		text_add(text, anonymize_extension(name));
	if (kind == NAME_MODULE && strstr(last_part(name), ".so"))
		text_add(text, ".so");
}

static struct error *make_token(
	struct anonymizer *anonymizer, enum name_kind kind, const char *name, const char **ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	const char *folder = kind == NAME_FILE ? strstr(name, KNOWN_RUNTIME_FOLDER) : NULL;
	const char *module = kind == NAME_MODULE ? system_module(name) : NULL;
	bool kept = kind == NAME_FUNCTION && is_kept(name);
	if (folder)
		text_printf(&text, "/usr%s", folder);
	else if (module)
		/* Suppressions say which libraries they are about by paths. */
		text_printf(&text, "%s%s", module == name ? "" : "/lib/", module);
	else if (kept)
		text_add(&text, name);
	else
		add_token(&text, kind, name, anonymizer->tokens[kind].len + 1);
	return text.failed ? error_no_memory() : strings_keep(&anonymizer->strings, text.data, ret);
}

struct error *anonymizer_name(
	struct anonymizer *anonymizer, enum name_kind kind, const char *name, const char **ret)
{
	struct string_map *tokens = &anonymizer->tokens[kind];
	const char **known = string_map_find(tokens, name);
	if (known) {
		*ret = *known;
		return NULL;
	}
	const char *token = NULL, *key = NULL;
	struct error *error = make_token(anonymizer, kind, name, &token);
	if (!error)
		error = strings_keep(&anonymizer->strings, name, &key);
	if (error)
		return error;
	known = string_map_insert(tokens, key, NULL);
	if (!known)
		return error_no_memory();
	*known = *ret = token;
	return NULL;
}

static struct error *rename_name(void *ctx, enum name_kind kind, const char *name, const char **ret)
{
	return anonymizer_name(ctx, kind, name, ret);
}

/* Frames of a library of the system keep their names, and files their last part. */
static struct error *rename_frame(
	void *ctx, const struct module *module, struct embedded_frame *frame)
{
	struct anonymizer *anonymizer = ctx;
	frame->raw_name = NULL;
	if (system_module(module->path)) {
		if (frame->file)
			frame->file = last_part(frame->file);
		return NULL;
	}
	struct error *error = NULL;
	if (frame->function)
		error = anonymizer_name(
			anonymizer, NAME_FUNCTION, frame->function, &frame->function);
	if (!error && frame->file)
		error = anonymizer_name(anonymizer, NAME_FILE, frame->file, &frame->file);
	return error;
}

static bool keeps_build_id(void *ctx, const struct module *module)
{
	(void)ctx;
	return system_module(module->path) != NULL;
}

/* Names of code that are in the files of a model's modules. */
struct looking_up {
	struct model *model;
	struct symbols *symbols;
	uint32_t *modules; /* of the symbols, by the model's; NO_MODULE: it has no file */
};

static struct error *anonymize_give(
	struct looking_up *at, struct stack_node node, const struct symbol *symbols, size_t count)
{
	struct embedded_frame one = {.function = NULL}, *frames = &one;
	_cleanup_free_ struct embedded_frame *many =
		count > 1 ? calloc(count, sizeof(*many)) : NULL;
	if (count > 1 && !many)
		return error_no_memory();
	if (many)
		frames = many;
	for (size_t i = 0; i < count; i++)
		frames[i] = (struct embedded_frame){.function = symbols[i].function,
			.file = symbols[i].file,
			.line = symbols[i].line,
			.inlined = symbols[i].inlined};
	const struct embedded_run run = {
		.frames = frames, .count = (uint32_t)max(count, (size_t)1)};
	return build_embedded_names(at->model, node.module, node.address, &run);
}

/* As a report does it: analysis/stacks/resolve.c. */
static struct error *look_up(struct looking_up *at, struct stack_node node)
{
	const struct symbol *symbols = NULL;
	size_t count = 0;
	bool interrupted = stack_node_mark(model_stack(at->model, node.parent)) == MARK_SIGNAL;
	uint64_t address =
		node.address - (interrupted ? 0 : 1) - model_module(at->model, node.module)->bias;
	uint32_t module = at->modules[node.module.value];
	struct error *error = symbols_resolve(at->symbols, module, address, &symbols, &count);
	if (!error && count == 1 && !symbols->function && node.parent.value == 0)
		error = symbols_resolve(at->symbols, module, address + 1, &symbols, &count);
	if (error && error->code == ERROR_INPUT) {
		error_destroy(error);
		error = NULL;
		count = 0;
	}
	return error ? error : anonymize_give(at, node, symbols, count);
}

static struct error *add_modules(struct looking_up *at)
{
	size_t limit = model_module_limit(at->model);
	struct error *error = NULL;
	at->modules = calloc(limit, sizeof(*at->modules));
	if (!at->modules)
		return error_no_memory();
	for (uint32_t i = 0; i < limit && !error; i++) {
		const struct module *module = model_module(at->model, (struct module_id){i});
		at->modules[i] = NO_MODULE;
		if (module->path[0])
			error = symbols_add_module(at->symbols, module->path, module->build_id,
				module->build_id_len, &at->modules[i]);
	}
	return error;
}

static struct error *look_up_all(struct looking_up *at)
{
	struct error *error = add_modules(at);
	size_t limit = model_stack_limit(at->model);
	for (uint32_t i = 1; i < limit && !error; i++) {
		struct stack_node node = model_stack(at->model, (struct stack_id){i});
		if (node.kind == FRAME_NATIVE && at->modules[node.module.value] != NO_MODULE &&
			!model_embedded(at->model, node))
			error = look_up(at, node);
	}
	return error;
}

struct error *anonymizer_model(struct anonymizer *anonymizer, struct model *model)
{
	struct looking_up at = {.model = model};
	struct error *error = symbols_create(model_names_from(model), &at.symbols);
	if (!error)
		symbols_recorded_at(at.symbols, model_target(model)->wall_start_ns);
	if (!error)
		error = look_up_all(&at);
	const struct renamer renamer = {.name = rename_name,
		.frame = rename_frame,
		.keeps_build_id = keeps_build_id,
		.ctx = anonymizer};
	/* Strings of the symbols are in the model until then. */
	if (!error)
		error = model_rename(model, &renamer);
	symbols_destroy(at.symbols);
	free(at.modules);
	return error;
}
