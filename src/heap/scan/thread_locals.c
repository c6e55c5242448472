/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/thread_locals.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "heap/types/system_types.h"

bool thread_locals_has(const struct heap_scan *scan, uint64_t address, uint32_t *ret_thread)
{
	const struct thread_block *block = thread_blocks_at(&scan->thread_blocks, address);
	if (block) {
		*ret_thread = block->thread;
		return true;
	}
	const struct thread_area_vec *areas = &scan->thread_blocks.areas;
	for (size_t i = 0; i < areas->len; i++) {
		if (address >= areas->data[i].start && address < areas->data[i].end) {
			*ret_thread = areas->data[i].thread;
			return true;
		}
	}
	return false;
}

struct error *thread_locals_place(
	const struct heap_scan *scan, uint64_t address, struct heap_place *ret)
{
	const struct thread_block *block = thread_blocks_at(&scan->thread_blocks, address);
	*ret = (struct heap_place){.module = NULL};
	if (!block)
		return NULL;
	ret->module = &scan->heap.space->modules.data[block->module];
	ret->offset = address - block->start;
	uint32_t number;
	struct symbol_variable variable;
	if (!heap_names_symbols(scan->names, ret->module, &number))
		return NULL;
	struct error *error =
		symbols_thread_local(scan->names->symbols, number, ret->offset, &variable);
	if (!error && variable.name) {
		ret->name = variable.name;
		ret->offset = variable.offset;
	}
	return error;
}

bool thread_locals_declared(const struct heap_scan *scan, uint64_t address, struct heap_global *ret)
{
	const struct thread_block *block = thread_blocks_at(&scan->thread_blocks, address);
	struct types *types = scan->layouts.types;
	uint32_t number;
	*ret = (struct heap_global){.start = 0};
	if (!block || !types)
		return false;
	const struct address_module *module = &scan->heap.space->modules.data[block->module];
	if (!heap_names_symbols(scan->names, module, &number))
		return false;
	uint64_t offset = address - block->start;
	types_thread_local(types, number, offset, &ret->variable);
	/* GCC (12) with -gsplit-dwarf has places in the file where offsets should be. */
	if (!ret->variable.name && module->tls_image) {
		types_thread_local(types, number, module->tls_image + offset, &ret->variable);
		ret->variable.start -= ret->variable.name ? module->tls_image : 0;
	}
	ret->start = block->start + ret->variable.start;
	ret->offset = address - ret->start;
	return ret->variable.name != NULL;
}

/* The table of a thread may still lead to where a library's was that has been unloaded since. */
static const struct thread_block *block_in(const struct heap_scan *scan, uint32_t block)
{
	uint64_t start = search_block_address(scan->search, block);
	uint64_t size = search_block_size(scan->search, block);
	const struct heap_types *types = &scan->types;
	if (!system_types_is_thread_memory(&types->types.data[heap_scan_type_of(scan, block)]))
		return NULL;
	/* It begins where the module's alignment wants it. */
	const struct thread_block *found = thread_blocks_from(&scan->thread_blocks, start);
	return found && found->start >= start && found->end <= start + size ? found : NULL;
}

pid_t thread_locals_owner(const struct heap_scan *scan, uint32_t block)
{
	const struct thread_block *found = block_in(scan, block);
	return found ? scan->heap.space->threads.data[found->thread].tid : 0;
}

const struct address_module *thread_locals_module(const struct heap_scan *scan, uint32_t block)
{
	const struct thread_block *found = block_in(scan, block);
	return found ? &scan->heap.space->modules.data[found->module] : NULL;
}

void thread_locals_add_member(
	const struct heap_scan *scan, uint32_t block, uint64_t offset, struct text *text)
{
	uint64_t address = search_block_address(scan->search, block) + offset;
	if (!block_in(scan, block) || !thread_blocks_at(&scan->thread_blocks, address))
		return;
	struct heap_global global;
	if (thread_locals_declared(scan, address, &global)) {
		_cleanup_(text_deinit) struct text path;
		text_init(&path);
		struct types_place place;
		types_locate(
			scan->layouts.types, global.variable.type, global.offset, &place, &path);
		text_add_shown(text, global.variable.name, 200);
		if (path.len && path.data[0] != '[')
			text_add_char(text, '.');
		if (path.len)
			text_add_shown(text, path.data, 200);
		return;
	}
	struct heap_place place;
	struct error *error = thread_locals_place(scan, address, &place);
	if (!error && place.name) {
		text_add_shown(text, place.name, 200);
		if (place.offset)
			text_printf(text, " + %" PRIu64, place.offset);
	}
	text->failed |= error != NULL;
	error_destroy(error);
}
