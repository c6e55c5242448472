/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check_model.h"

#include <stdlib.h>
#include <string.h>

static void check_leaks(const struct model *model)
{
	size_t sites, threads, modules = model_module_limit(model), roots, groups, records;
	model_sites(model, &sites);
	model_threads(model, &threads);
	const struct leak_root *root = model_leak_roots(model, &roots);
	for (size_t i = 0; i < roots; i++)
		if (root[i].place > LEAK_PLACE_MAPPING || root[i].module.value >= modules)
			abort();
	const struct leak_group *group = model_leak_groups(model, &groups);
	for (size_t i = 0; i < groups; i++)
		if (group[i].root >= roots || group[i].site.value >= sites ||
			(group[i].parent != LEAK_NO_GROUP && group[i].parent >= i))
			abort();
	const struct leak_record *record = model_leak_records(model, &records);
	for (size_t i = 0; i < records; i++)
		if (record[i].site.value >= sites || record[i].kind >= LEAK_KINDS ||
			(record[i].group != LEAK_NO_GROUP && record[i].group >= groups) ||
			(record[i].example.thread.value != LEAK_NO_THREAD &&
				record[i].example.thread.value >= threads))
			abort();
	if (!model_leak_search(model) && (roots || groups || records))
		abort();
}

void check_model(const struct model *model)
{
	size_t count;
	for (size_t i = 1; i < model_stack_limit(model); i++) {
		struct stack_node node = model_stack(model, (struct stack_id){(uint32_t)i});
		if (node.parent.value >= i || node.module.value >= model_module_limit(model))
			abort();
		bool has_code = node.kind != FRAME_NATIVE && node.kind != FRAME_MARK;
		if (has_code != (node.code.value != 0) ||
			(has_code && (node.code.value >= model_code_limit(model) ||
					     model_code(model, node.code)->kind != node.kind)))
			abort();
	}
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++)
		if (sites[i].stack.value >= model_stack_limit(model) ||
			sites[i].kind >= ALLOC_KINDS)
			abort();
	const struct size_count *sizes = model_sizes(model, &count);
	for (size_t i = 1; i < count; i++)
		if (sizes[i].size <= sizes[i - 1].size)
			abort();
	check_leaks(model);
	const char *const *damage = model_damage(model, &count);
	for (size_t i = 0; i < count; i++)
		if (!strlen(damage[i]))
			abort();
	if (model_recording(model)->complete && count)
		abort();
}
