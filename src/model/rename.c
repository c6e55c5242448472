/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/rename.h"

#include <string.h>

#include "base/util.h"
#include "model/build.h"
#include "model/model_impl.h"

static struct error *rename_keep(struct model *model, const char **string)
{
	return *string ? build_string(model, *string, strlen(*string), string) : NULL;
}

/* NULL and "" stand for nothing that is known. */
static struct error *rename_one(
	struct model *model, const struct renamer *renamer, enum name_kind kind, const char **name)
{
	if (!*name || !(*name)[0])
		return NULL;
	struct error *error = renamer->name(renamer->ctx, kind, *name, name);
	return error ? error : rename_keep(model, name);
}

static struct error *rename_target(struct model *model, const struct renamer *renamer)
{
	struct target *target = &model->target;
	/* Most often the first word is the program's own name. */
	const char *program = target->exe[0]        ? target->exe
			      : target->command_len ? target->command[0]
						    : "";
	struct error *error = rename_one(model, renamer, NAME_MODULE, &program);
	if (error)
		return error;
	if (target->exe[0])
		target->exe = program;
	if (target->command_len) {
		model->argv.data[0] = program;
		model->argv.data[1] = NULL;
		model->argv.len = 2;
		target->command_len = 1;
	}
	target->cwd = target->host = "";
	target->wall_start_ns = 0;
	if (target->parent_file[0])
		target->parent_file = "parent";
	return NULL;
}

/* "mark:loaded"; other moments name nothing. */
static const char *plain_moment(const char *text)
{
	return text && strncmp(text, "mark:", strlen("mark:")) == 0 ? "mark" : text;
}

static void drop_words(struct model *model)
{
	struct recording *recording = &model->recording;
	recording->path = "recording";
	if (recording->earlier_file)
		recording->earlier_file = "recording";
	recording->range.from = plain_moment(recording->range.from);
	recording->range.to = plain_moment(recording->range.to);
	recording->drop_frames = recording->keep_frames = NULL;
	if (strncmp(recording->writer, "heapwise ", strlen("heapwise ")) != 0)
		recording->writer = "";
	/* That of a recording has no names. */
	if (recording->remark && strcmp(recording->source, "recording") != 0)
		recording->remark = "A remark on what the figures are of was taken out.";
	if (recording->blocks)
		recording->blocks = "that were chosen";
	for (size_t i = 0; i < model->damage.len; i++)
		model->damage.data[i] = "a part of it is missing or damaged";
	if (model->inherited.from)
		model->inherited.from = "parent";
	if (model->inherited.problem)
		model->inherited.problem = "it is not known";
	model->leak_search.own_suppressions = model->leak_search.own_options = NULL;
	if (model->leak_search.problem)
		model->leak_search.problem = "the reason was taken out";
}

static struct error *rename_run(struct model *model, const struct renamer *renamer, uint32_t module,
	const struct embedded_run *run)
{
	/* The model owns them, and has the only pointers. */
	struct embedded_frame *frames = (struct embedded_frame *)run->frames;
	struct error *error = NULL;
	for (uint32_t i = 0; i < run->count && !error; i++) {
		error = renamer->frame(renamer->ctx, &model->modules.data[module], &frames[i]);
		if (!error)
			error = rename_keep(model, &frames[i].function);
		if (!error)
			error = rename_keep(model, &frames[i].raw_name);
		if (!error)
			error = rename_keep(model, &frames[i].file);
	}
	return error;
}

static struct error *rename_given(struct model *model, const struct renamer *renamer)
{
	struct error *error = NULL;
	uint32_t position = 0, *number;
	const struct code_place *place;
	while (!error && (number = given_map_next(&model->given_of, &position, &place)))
		error = rename_run(model, renamer, place->module, &model->given.data[*number]);
	return error;
}

/* Code in no loaded file. A signature names classes. */
static struct error *rename_code(struct model *model, const struct renamer *renamer)
{
	struct error *error = NULL;
	for (size_t i = 1; i < model->code.len && !error; i++) {
		struct code *code = &model->code.data[i];
		const struct {
			enum name_kind kind;
			const char **name;
		} words[] = {{NAME_FUNCTION, &code->name}, {NAME_FUNCTION, &code->outer},
			{NAME_FUNCTION, &code->signature}, {NAME_FILE, &code->file},
			{NAME_MODULE, &code->module}};
		for (size_t k = 0; k < ARRAY_SIZE(words) && !error; k++)
			error = rename_one(model, renamer, words[k].kind, words[k].name);
		if (!error)
			error = rename_run(model, renamer, code->home.value, &code->run);
	}
	return error;
}

static struct error *rename_resident(struct model *model, const struct renamer *renamer)
{
	struct error *error = NULL;
	for (size_t i = 0; i < model->resident_parts.len && !error; i++)
		error = rename_one(
			model, renamer, NAME_MODULE, &model->resident_parts.data[i].file);
	return error;
}

static struct error *rename_modules(struct model *model, const struct renamer *renamer)
{
	struct error *error = NULL;
	for (size_t i = 1; i < model->modules.len && !error; i++) {
		struct module *module = &model->modules.data[i];
		if (!renamer->keeps_build_id(renamer->ctx, module)) {
			module->build_id = NULL;
			module->build_id_len = 0;
		}
		error = rename_one(model, renamer, NAME_MODULE, &module->path);
	}
	return error;
}

static struct error *rename_rows(struct model *model, const struct renamer *renamer)
{
	struct error *error = NULL;
	for (size_t i = 0; i < model->threads.len && !error; i++)
		error = rename_one(model, renamer, NAME_THREAD, &model->threads.data[i].name);
	for (size_t i = 0; i < model->marks.len && !error; i++)
		error = rename_one(model, renamer, NAME_MARK, &model->marks.data[i].name);
	for (size_t i = 0; i < model->unrecorded.len && !error; i++)
		error = rename_one(model, renamer, NAME_MODULE, &model->unrecorded.data[i].path);
	for (size_t i = 0; i < model->small.len; i++)
		model->small.data[i].command = ""; /* callers that show it show numbers, too */
	for (size_t i = 0; i < model->leak_roots.len && !error; i++)
		error = rename_one(model, renamer, NAME_MODULE, &model->leak_roots.data[i].name);
	return error;
}

/* What a checker says of an error quotes the program. */
static struct error *rename_errors(struct model *model, const struct renamer *renamer)
{
	struct error *error = NULL;
	for (size_t i = 0; i < model->errors.len && !error; i++) {
		struct program_error *row = &model->errors.data[i];
		row->what = "";
		error = rename_one(model, renamer, NAME_THREAD, &row->thread);
	}
	for (size_t i = 0; i < model->error_stacks.len; i++)
		model->error_stacks.data[i].what = "";
	for (size_t i = 0; i < model->error_suppressions.len && !error; i++) {
		model->error_suppressions.data[i].from = "";
		error = rename_one(
			model, renamer, NAME_SUPPRESSION, &model->error_suppressions.data[i].name);
	}
	return error;
}

struct error *model_rename(struct model *model, const struct renamer *renamer)
{
	struct error *error = rename_target(model, renamer);
	if (!error)
		error = rename_given(model, renamer);
	if (!error)
		error = rename_code(model, renamer);
	if (!error)
		error = rename_modules(model, renamer);
	if (!error)
		error = rename_rows(model, renamer);
	if (!error)
		error = rename_resident(model, renamer);
	if (!error)
		error = rename_errors(model, renamer);
	drop_words(model);
	model->names_from = NULL;
	if (!error && model->subtracted)
		error = model_rename(model->subtracted, renamer);
	return error;
}
