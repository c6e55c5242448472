/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See frame_maker.h. */
#include "analysis/stacks/frame_maker.h"

#include <string.h>

#include "analysis/stacks/method_name.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "symbols/known.h"
#include "symbols/name.h"
#include "symbols/name_short.h"
#include "symbols/symbols.h"

static bool has_python(const struct model *model)
{
	for (uint32_t i = 1; i < model_code_limit(model); i++)
		if (code_is_python(model_code(model, (struct code_id){i})))
			return true;
	return false;
}

struct error *frame_maker_init(
	struct frame_maker *maker, const struct model *model, struct frame_maker *beside)
{
	*maker = (struct frame_maker){.model = model};
	arena_init(&maker->arena);
	frame_vec_init(&maker->made);
	place_map_init(&maker->places);
	maker->has_python = has_python(model);
	return loaded_files_init(&maker->files, model, beside ? &beside->files : NULL);
}

void frame_maker_deinit(struct frame_maker *maker)
{
	loaded_files_deinit(&maker->files);
	place_map_deinit(&maker->places);
	frame_vec_deinit(&maker->made);
	arena_deinit(&maker->arena);
}

static enum symbols_names names_of(const struct frame_maker *maker)
{
	const struct symbols_settings *settings = model_names_from(maker->model);
	return settings ? settings->names : SYMBOLS_NAMES_SHORT;
}

/* Sets what text calls the function, unless all of its name is wanted. */
static struct error *name_briefly(struct frame_maker *maker, struct shown_frame *frame)
{
	if (!frame->function || names_of(maker) != SYMBOLS_NAMES_SHORT)
		return NULL;
	_cleanup_(text_deinit) struct text brief;
	text_init(&brief);
	name_add_short(&brief, frame->function);
	if (brief.failed)
		return error_no_memory();
	if (!brief.len || strcmp(brief.data, frame->function) == 0)
		return NULL;
	frame->brief = arena_strdup(&maker->arena, brief.data);
	return frame->brief ? NULL : error_no_memory();
}

struct error *frame_maker_add(struct frame_maker *maker, struct shown_frame frame)
{
	struct error *error = frame_places_add(&maker->places, &frame);
	if (error)
		return error;
	const char *name = shown_frame_is_managed(&frame) ? NULL : shown_frame_plain(&frame);
	if (name)
		frame.part = known_part_of(
			&(struct known_code){name, frame.raw_name, frame.file, frame.module});
	shown_frame_conclude(&frame);
	error = shown_frame_is_managed(&frame) ? NULL : name_briefly(maker, &frame);
	if (error)
		return error;
	frame.of_interpreter = maker->has_python && frame.kind == FRAME_NATIVE && frame.module &&
			       known_python_module(frame.module);
	maker->any.of_recorder |= frame.of_recorder;
	maker->any.of_interpreter |= frame.of_interpreter;
	struct shown_frame *copy = arena_alloc(&maker->arena, sizeof(*copy));
	if (!copy)
		return error_no_memory();
	*copy = frame;
	return frame_vec_push(&maker->made, copy) ? NULL : error_no_memory();
}

/*
 * A return address belongs to the call before it, so it is looked up at address - 1; a frame that a
 * signal interrupted (the node outward of it says so) is at its exact address.
 */
static uint64_t lookup_address(const struct model *model, struct stack_node node)
{
	struct stack_node outer = model_stack(model, node.parent);
	return node.address - (stack_node_mark(outer) == MARK_SIGNAL ? 0 : 1);
}

struct error *frame_maker_find_code(
	struct frame_maker *maker, struct stack_node node, struct code_address *ret)
{
	struct error *error = loaded_files_find(&maker->files, node.module, &ret->module);
	if (error)
		return error;
	ret->address = lookup_address(maker->model, node);
	if (ret->module != NO_MODULE)
		ret->address -= model_module(maker->model, node.module)->bias;
	return NULL;
}

/* A file too broken to read costs its names, never the report. */
static struct error *look_up(struct frame_maker *maker, struct code_address code,
	const struct symbol **ret, size_t *ret_count)
{
	*ret_count = 0;
	if (code.module == NO_MODULE)
		return NULL;
	struct error *error =
		symbols_resolve(maker->files.symbols, code.module, code.address, ret, ret_count);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	*ret_count = 0;
	return NULL;
}

static struct error *find_aliases(
	struct frame_maker *maker, struct code_address code, struct shown_frame *frame)
{
	if (!maker->with_aliases || code.module == NO_MODULE)
		return NULL;
	struct error *error =
		symbols_real_path(maker->files.symbols, code.module, &frame->real_path);
	if (error || frame->inlined)
		return error;
	return symbols_aliases(maker->files.symbols, code.module, code.address, &frame->aliases,
		&frame->alias_count);
}

static void frame_maker_add_module(struct shown_frame *frame, const struct module *module)
{
	if (module->path[0] == '\0')
		return;
	bool vdso = strcmp(module->path, SYMBOLS_VDSO) == 0;
	frame->module_path = vdso ? "[vdso]" : module->path;
	frame->module = vdso ? "vdso" : path_last_part(module->path);
}

/* Sets the function in the form that is wanted; `linkage_name` may be NULL. */
static struct error *name_frame(struct frame_maker *maker, const char *function,
	const char *linkage_name, struct shown_frame *frame)
{
	enum symbols_names form = names_of(maker);
	frame->function = frame->plain = function;
	if (form == SYMBOLS_NAMES_RAW) {
		frame->function = linkage_name      ? linkage_name
				  : frame->raw_name ? frame->raw_name
						    : function;
	} else if (form == SYMBOLS_NAMES_FULL && linkage_name && name_is_mangled(linkage_name)) {
		_cleanup_(text_deinit) struct text whole;
		text_init(&whole);
		name_add_whole(&whole, linkage_name);
		char *kept = whole.failed ? NULL : arena_alloc(&maker->arena, whole.len + 1);
		if (!kept)
			return error_no_memory();
		memcpy(kept, whole.data ? whole.data : "", whole.len + 1);
		frame->function = kept;
	}
	return NULL;
}

struct error *frame_maker_add_code(
	struct frame_maker *maker, struct stack_node node, struct code_address code)
{
	struct shown_frame frame = {
		.address = node.address,
		.names_call = model_recording(maker->model)->call_addresses,
	};
	frame.offset = code.module != NO_MODULE ? code.address : 0;
	frame.code_module = code.module != NO_MODULE ? code.module + 1 : 0;
	frame_maker_add_module(&frame, model_module(maker->model, node.module));
	const struct symbol *symbols = NULL;
	size_t count = 0;
	struct error *error = look_up(maker, code, &symbols, &count);
	/* The first frame of a stack has no caller: makecontext leaves the very start of a
	 * function. */
	if (!error && count == 1 && !symbols->function && node.parent.value == 0) {
		code.address++;
		error = look_up(maker, code, &symbols, &count);
	}
	if (error)
		return error;
	if (count == 0)
		return frame_maker_add(maker, frame);
	for (size_t i = 0; i < count && !error; i++) {
		frame.raw_name = symbols[i].raw_name;
		error = name_frame(maker, symbols[i].function, symbols[i].linkage_name, &frame);
		frame.file = symbols[i].file;
		frame.line = symbols[i].line;
		frame.inlined = symbols[i].inlined;
		if (!error)
			error = find_aliases(maker, code, &frame);
		if (!error)
			error = frame_maker_add(maker, frame);
	}
	return error;
}

struct error *frame_maker_add_given(
	struct frame_maker *maker, struct stack_node node, const struct embedded_run *run)
{
	struct shown_frame frame = {
		.address = node.address,
		.given = true,
		.kind = node.kind,
		.code = node.code.value ? model_code(maker->model, node.code) : NULL,
		.names_call = model_recording(maker->model)->call_addresses,
		.by_name = model_recording(maker->model)->whole_stacks,
	};
	const struct module *module = model_module(maker->model, node.module);
	frame_maker_add_module(&frame, module);
	bool placed = node.kind == FRAME_NATIVE && frame.module && module->end &&
		      module->end != UINT64_MAX;
	if (placed)
		frame.offset = lookup_address(maker->model, node) - module->bias;
	frame.unplaced = frame.module && !placed;
	for (uint32_t i = 0; i < run->count; i++) {
		const struct embedded_frame *given = &run->frames[i];
		frame.raw_name = given->raw_name;
		struct error *error = name_frame(maker, given->function, given->raw_name, &frame);
		frame.file = given->file;
		frame.line = given->line;
		frame.inlined = given->inlined;
		if (!error)
			error = frame_maker_add(maker, frame);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *keep_text(struct frame_maker *maker, struct text *text, const char **ret)
{
	*ret = text->failed ? NULL : arena_strndup(&maker->arena, text->data, text->len);
	return *ret ? NULL : error_no_memory();
}

/* What a method is called: with its class and parameters, without these, and as the machine has
 * it. */
static struct error *name_method(
	struct frame_maker *maker, const struct code *code, struct shown_frame *frame)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	method_name_add(&text, code);
	struct error *error = keep_text(maker, &text, &frame->plain);
	if (error || !code->signature) {
		frame->function = frame->plain;
		return error;
	}
	frame->brief = frame->plain;
	method_name_add_parameters(&text, code->signature);
	error = keep_text(maker, &text, &frame->function);
	text_clear(&text);
	method_name_add_raw(&text, code);
	return error ? error : keep_text(maker, &text, &frame->raw_name);
}

static struct error *name_managed(
	struct frame_maker *maker, const struct code *code, struct shown_frame *frame)
{
	frame->function = frame->plain =
		code->kind == FRAME_CODE_OBJECT && code->outer ? code->outer : code->name;
	if (code->kind != FRAME_METHOD || !code->name)
		return NULL;
	struct error *error = name_method(maker, code, frame);
	enum symbols_names form = names_of(maker);
	if (form == SYMBOLS_NAMES_RAW && frame->raw_name)
		frame->function = frame->raw_name;
	if (form != SYMBOLS_NAMES_SHORT)
		frame->brief = NULL;
	return error;
}

struct error *frame_maker_add_managed(struct frame_maker *maker, struct stack_node node)
{
	const struct code *code = model_code(maker->model, node.code);
	bool is_name = code->kind == FRAME_NAME;
	struct shown_frame frame = {
		.kind = node.kind,
		.code = code,
		.file = code->file,
		.line = code->file ? code_line_at(code, node.address ? node.address - 1 : 0) : 0,
		.address = is_name ? node.address : 0,
		.instruction = is_name ? 0 : (uint32_t)node.address,
		.given = !is_name || !node.address,
		.names_call = is_name && model_recording(maker->model)->call_addresses,
		.module = code->module,
		.module_path = code->module,
		.unplaced = code->module != NULL,
	};
	if (frame.file && !is_name && !node.address)
		frame.line = code->first_line;
	struct error *error = name_managed(maker, code, &frame);
	return error ? error : frame_maker_add(maker, frame);
}
