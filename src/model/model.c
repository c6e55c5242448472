/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a model: see model.h. Everything was checked when it was built, so this only looks up. */
#include "model/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_impl.h"

void model_destroy(struct model *model)
{
	if (!model)
		return;
	string_vec_deinit(&model->argv);
	string_vec_deinit(&model->damage);
	module_vec_deinit(&model->modules);
	free(model->stacks.links);
	free(model->stacks.slots);
	stack_frame_vec_deinit(&model->stacks.frames);
	site_vec_deinit(&model->sites);
	thread_vec_deinit(&model->threads);
	size_vec_deinit(&model->sizes);
	live_vec_deinit(&model->live);
	code_vec_deinit(&model->code);
	traced_vec_deinit(&model->traced);
	named_vec_deinit(&model->named);
	given_vec_deinit(&model->given);
	given_map_deinit(&model->given_of);
	unrecorded_vec_deinit(&model->unrecorded);
	small_process_vec_deinit(&model->small);
	series_row_vec_deinit(&model->series);
	series_site_vec_deinit(&model->series_sites);
	mark_vec_deinit(&model->marks);
	resident_part_vec_deinit(&model->resident_parts);
	realloc_vec_deinit(&model->reallocs);
	site_vec_deinit(&model->inherited_sites);
	leak_root_vec_deinit(&model->leak_roots);
	leak_group_vec_deinit(&model->leak_groups);
	leak_record_vec_deinit(&model->leak_records);
	model_destroy(model->subtracted);
	program_error_vec_deinit(&model->errors);
	error_stack_vec_deinit(&model->error_stacks);
	error_suppression_vec_deinit(&model->error_suppressions);
	arena_deinit(&model->strings);
	free(model);
}

const struct model *model_subtracted(const struct model *model)
{
	return model->subtracted;
}

const struct target *model_target(const struct model *model)
{
	return &model->target;
}

void model_set_names_from(struct model *model, const struct symbols_settings *settings)
{
	model->names_from = settings;
}

const struct symbols_settings *model_names_from(const struct model *model)
{
	return model->names_from;
}

const struct recording *model_recording(const struct model *model)
{
	return &model->recording;
}

const struct totals *model_totals(const struct model *model)
{
	return &model->totals;
}

const char *const *model_damage(const struct model *model, size_t *ret_count)
{
	*ret_count = model->damage.len;
	return model->damage.data;
}

size_t model_module_limit(const struct model *model)
{
	return model->modules.len;
}

const struct module *model_module(const struct model *model, struct module_id id)
{
	assert(id.value < model->modules.len);
	return &model->modules.data[id.value];
}

size_t model_stack_limit(const struct model *model)
{
	return model->stacks.len;
}

/* Marks are stored as small addresses of module 0. */
static enum frame_kind model_kind_of(const struct model *model, struct stack_node node)
{
	if (node.code.value)
		return model->code.data[node.code.value].kind;
	return node.module.value || node.address >= STACK_MARKS ? FRAME_NATIVE : FRAME_MARK;
}

struct stack_node model_stack(const struct model *model, struct stack_id id)
{
	const struct stack_table *stacks = &model->stacks;
	assert(id.value < stacks->len);
	struct stack_node node = model_frame(model, stacks->links[id.value].frame);
	node.parent.value = stacks->links[id.value].parent;
	return node;
}

size_t model_frame_limit(const struct model *model)
{
	return model->stacks.frames.len;
}

struct stack_node model_frame(const struct model *model, uint32_t number)
{
	assert(number < model->stacks.frames.len);
	const struct stack_frame *frame = &model->stacks.frames.data[number];
	struct stack_node node = {
		.module = {frame->module}, .code = {frame->code}, .address = frame->address};
	node.kind = model_kind_of(model, node);
	return node;
}

const struct stack_link *model_stack_links(const struct model *model)
{
	return model->stacks.links;
}

struct stack_id model_stack_parent(const struct model *model, struct stack_id id)
{
	assert(id.value < model->stacks.len);
	return (struct stack_id){model->stacks.links[id.value].parent};
}

size_t model_code_limit(const struct model *model)
{
	return model->code.len;
}

const struct traced_line *model_traced_lines(const struct model *model, size_t *ret_count)
{
	*ret_count = model->traced.len;
	return model->traced.data;
}

const struct code *model_code(const struct model *model, struct code_id id)
{
	assert(id.value && id.value < model->code.len);
	return &model->code.data[id.value];
}

bool code_is_python(const struct code *code)
{
	return code->kind == FRAME_CODE_OBJECT && code->language &&
	       strcmp(code->language, "python") == 0;
}

uint32_t code_line_at(const struct code *code, uint64_t instruction)
{
	size_t low = 0, high = code->line_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code->lines[middle].instruction <= instruction)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? code->lines[low - 1].line : code->first_line;
}

const struct embedded_run *model_embedded(const struct model *model, struct stack_node node)
{
	if (node.code.value) {
		const struct embedded_run *run = &model->code.data[node.code.value].run;
		return run->count ? run : NULL;
	}
	struct code_place place = {.module = node.module.value, .address = node.address};
	const uint32_t *number = given_map_find(&model->given_of, place);
	return number ? &model->given.data[*number] : NULL;
}

size_t model_embedded_number(const struct model *model, const struct embedded_run *run)
{
	return (size_t)(run - model->given.data);
}

const struct site *model_sites(const struct model *model, size_t *ret_count)
{
	*ret_count = model->sites.len;
	return model->sites.data;
}

const struct series_row *model_series(const struct model *model, size_t *ret_count)
{
	*ret_count = model->series.len;
	return model->series.data;
}

const struct mark *model_marks(const struct model *model, size_t *ret_count)
{
	*ret_count = model->marks.len;
	return model->marks.data;
}

const struct series_site *model_series_sites(const struct model *model, size_t *ret_count)
{
	*ret_count = model->series_sites.len;
	return model->series_sites.data;
}

const struct inherited *model_inherited(const struct model *model)
{
	return &model->inherited;
}

const struct site *model_inherited_sites(const struct model *model, size_t *ret_count)
{
	*ret_count = model->inherited_sites.len;
	return model->inherited_sites.data;
}

const struct leak_search_rules *model_leak_rules(const struct model *model)
{
	return &model->leak_rules;
}

const struct leak_search *model_leak_search(const struct model *model)
{
	return model->has_leak_search ? &model->leak_search : NULL;
}

const struct leak_record *model_leak_records(const struct model *model, size_t *ret_count)
{
	*ret_count = model->leak_records.len;
	return model->leak_records.data;
}

const struct leak_group *model_leak_groups(const struct model *model, size_t *ret_count)
{
	*ret_count = model->leak_groups.len;
	return model->leak_groups.data;
}

const struct leak_root *model_leak_roots(const struct model *model, size_t *ret_count)
{
	*ret_count = model->leak_roots.len;
	return model->leak_roots.data;
}

const struct thread *model_threads(const struct model *model, size_t *ret_count)
{
	*ret_count = model->threads.len;
	return model->threads.data;
}

const struct small_process *model_small(const struct model *model, size_t *ret_count)
{
	*ret_count = model->small.len;
	return model->small.data;
}

const struct unrecorded_program *model_unrecorded(const struct model *model, size_t *ret_count)
{
	*ret_count = model->unrecorded.len;
	return model->unrecorded.data;
}

const struct size_count *model_sizes(const struct model *model, size_t *ret_count)
{
	*ret_count = model->sizes.len;
	return model->sizes.data;
}

const struct live_block *model_live(const struct model *model, size_t *ret_count)
{
	static const struct live_block none;
	*ret_count = model->live.len;
	if (!model->has_live)
		return NULL;
	return model->live.len ? model->live.data : &none;
}
