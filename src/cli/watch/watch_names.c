/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_names.h"

#include "cli/setup/context.h"

struct error *watch_names_open(struct watch_names *names)
{
	struct error *error = name_settings_ready(cli_context(), &names->settings);
	return error ? error : symbols_create(names->settings.settings, &names->symbols);
}

void watch_names_close(struct watch_names *names)
{
	symbols_destroy(names->symbols);
	kernel_symbols_destroy(names->kernel);
	symbol_modules_deinit(&names->modules);
	name_settings_deinit(&names->settings);
}

static struct error *modules_add(struct watch_names *names, const struct watch_modules *modules)
{
	while (names->modules.len < modules->len) {
		const struct watch_module *module = &modules->data[names->modules.len];
		uint32_t *number = symbol_modules_push_uninit(&names->modules);
		if (!number)
			return error_no_memory();
		struct error *error = symbols_add_file(names->symbols,
			module->open_path ? module->open_path : module->path, module->build_id,
			module->build_id_len, number);
		if (error)
			return error;
	}
	return NULL;
}

struct error *watch_names_read_kernel(struct watch_names *names)
{
	struct kernel_symbols *symbols;
	struct error *error = kernel_symbols_read("/proc/kallsyms", &symbols);
	if (error)
		return error;
	kernel_symbols_destroy(names->kernel);
	names->kernel = symbols;
	return NULL;
}

static void kernel_frame_find(
	const struct watch_names *names, uint64_t return_address, struct watch_frame *ret)
{
	*ret = (struct watch_frame){
		.module = SIZE_MAX, .address = return_address, .is_kernel = true};
	if (names->kernel)
		(void)kernel_symbols_find(names->kernel, return_address, &ret->kernel);
}

struct error *watch_names_find(struct watch_names *names, const struct watch_modules *modules,
	uint64_t return_address, struct watch_frame *ret)
{
	if (!modules) {
		kernel_frame_find(names, return_address, ret);
		return NULL;
	}
	/* The call, not what comes after it: another line, or another function. */
	uint64_t address = return_address - 1;
	*ret = (struct watch_frame){
		.module = watch_modules_find(modules, address), .address = address};
	if (ret->module == SIZE_MAX)
		return NULL;
	struct error *error = modules_add(names, modules);
	if (error)
		return error;
	ret->address = address - modules->data[ret->module].bias;
	return symbols_resolve(names->symbols, names->modules.data[ret->module], ret->address,
		&ret->symbols, &ret->count);
}
