/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/changed_code.h"

#include "base/util.h"
#include "capture/watch/probe_place.h"
#include "process/elf_file.h"
#include "process/memory.h"

/* The longest instruction of x86 has 15. */
#define INSTRUCTION_BYTES 16u
#define BREAKPOINT 0xccu

struct code_search {
	struct process_memory memory;
	struct elf_file elf;
};

static bool code_differs(const uint8_t *in_file, const uint8_t *in_process, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (in_file[i] != in_process[i] && in_process[i] != BREAKPOINT)
			return true;
	}
	return false;
}

/* From the function's start to the end of the instruction that is probed. What can't be read is
 * not mapped there. */
static bool place_is_changed(
	const struct code_search *search, uint64_t bias, const struct watched_place *place)
{
	uint8_t now[PROBE_PLACE_BYTES + INSTRUCTION_BYTES];
	uint64_t offset;
	if (!elf_file_offset(&search->elf, place->address, &offset) || place->offset < offset)
		return false;
	uint64_t bytes = min(place->offset - offset + INSTRUCTION_BYTES, (uint64_t)sizeof(now));
	bytes = min(bytes, search->elf.bytes - offset);
	if (place->bytes)
		bytes = min(bytes, max(place->bytes, place->offset - offset + 1));
	size_t got = process_memory_read(&search->memory, bias + place->address, now, bytes);
	return code_differs(search->elf.data + offset, now, got);
}

static struct error *module_refuse(const struct code_search *search,
	const struct module_table *table, const struct watch_module *module)
{
	const struct watch_file *file = &table->files.data[module->file];
	for (size_t i = 0; i < file->places.len; i++) {
		const struct watched_place *place = &file->places.data[i];
		uint64_t address = module->bias + place->address;
		if (address < module->start || address >= module->end ||
			!place_is_changed(search, module->bias, place))
			continue;
		return error_create(ERROR_INPUT,
			"the code of %s in process %d is not that of %s: 'heapwise attach' or "
			"another "
			"tool has changed it, and a probe there would end the process; let it go "
			"first ('heapwise detach %d')",
			watched_functions[place->function].name, (int)table->pid, file->path,
			(int)table->pid);
	}
	return NULL;
}

struct error *changed_code_refuse(const struct module_table *table, size_t file)
{
	const struct watch_file *about = &table->files.data[file];
	struct code_search search;
	struct error *error = process_memory_open(table->pid, table->pid, NULL, &search.memory);
	if (error) { /* who may set probes need not have the right to read memory: nothing is known
		      */
		error_destroy(error);
		return NULL;
	}
	error = elf_file_open(about->open_path ? about->open_path : about->path, &search.elf);
	if (!error) {
		for (size_t i = 0; i < table->modules.len && !error; i++) {
			const struct watch_module *module = &table->modules.data[i];
			if (!module->is_gone && module->file == file)
				error = module_refuse(&search, table, module);
		}
		elf_file_close(&search.elf);
	}
	process_memory_close(&search.memory);
	return error;
}
