/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/mapped_code.h"

#include <string.h>

#include "base/cleanup.h"
#include "symbols/inspect.h"

/* Linkers make one, or few more. */
#define SEGMENTS_MAX 16u

static struct error *module_add(
	struct loaded_files *files, struct module_id id, struct mapped_code_vec *ret)
{
	const struct module *module = model_module(files->model, id);
	struct inspect_segment segments[SEGMENTS_MAX];
	uint32_t number;
	struct error *error = loaded_files_find(files, id, &number);
	if (error)
		return error;
	const char *path = number == NO_MODULE ? NULL : symbols_module_file(files->symbols, number);
	size_t count = path ? inspect_code(path, segments, SEGMENTS_MAX) : 0;
	if (count == SEGMENTS_MAX) /* there may be more */
		count = 0;
	for (size_t i = 0; i < count; i++) {
		struct mapped_code code = {.module = module,
			.start = module->bias + segments[i].address,
			.end = module->bias + segments[i].end,
			.offset = segments[i].offset};
		if (!mapped_code_vec_push(ret, code))
			return error_no_memory();
	}
	struct mapped_code whole = {.module = module, .start = module->start, .end = module->end};
	return count || mapped_code_vec_push(ret, whole) ? NULL : error_no_memory();
}

static bool is_mapped(const struct module *module)
{
	return module->path[0] == '/' && module->end > module->start;
}

static inline void files_cleanup(struct loaded_files *files)
{
	loaded_files_deinit(files);
}

struct error *mapped_code_add(const struct model *model, struct mapped_code_vec *ret)
{
	_cleanup_(files_cleanup) struct loaded_files files;
	const char *exe = model_target(model)->exe;
	struct error *error = loaded_files_init(&files, model, NULL);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i < model_module_limit(model) && !error; i++) {
			const struct module *module = model_module(model, (struct module_id){i});
			bool is_program = exe && strcmp(module->path, exe) == 0;
			if (is_mapped(module) && is_program == !round)
				error = module_add(&files, (struct module_id){i}, ret);
		}
	return error;
}
