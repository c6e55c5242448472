/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/stacks.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* x30, which has the return address of a function that calls no other. */
#define ARM_LINK 30u

/* Of a process the file that it has mapped itself, whatever has become of its path. */
static int open_mapped(const struct address_space *space, const struct address_module *module)
{
	char path[128];
	const struct process_map *map = address_space_map(space, module->start);
	if (!map)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)space->owner.pid,
		(unsigned long long)map->start, (unsigned long long)map->end);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

struct error *heap_stacks_open(const struct address_space *space, struct unwinder **ret)
{
	size_t count = space->modules.len, found = 0;
	_cleanup_free_ struct unwind_module *modules = calloc(count + 1, sizeof(*modules));
	if (!modules)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct address_module *from = &space->modules.data[i];
		int fd = space->is_live && *from->path == '/' ? open_mapped(space, from) : from->fd;
		if (fd >= 0)
			modules[found++] = (struct unwind_module){from->path, fd, from->start};
	}
	struct error *error = unwinder_create(modules, found, ret);
	for (size_t i = 0; space->is_live && i < found; i++)
		close(modules[i].fd);
	return error;
}

/*
 * aarch64 may sign return addresses in the bits that addresses do not have (Arm ARM, FEAT_PAuth):
 * without them, they lead to code. How many bits addresses have depends on the kernel.
 */
static uint64_t without_signature(const struct address_space *space, uint64_t word)
{
	static const unsigned bits[] = {48, 42, 39};
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		uint64_t address = word & ((1ull << bits[i]) - 1);
		const struct process_map *map =
			address == word ? NULL : address_space_map(space, address);
		if (map && map->executable)
			return address;
	}
	return word;
}

static bool stacks_read_word(void *context, uint64_t address, uint64_t *ret)
{
	const struct address_space *space = context;
	if (!address_space_word(space, address, ret))
		return false;
	if (space->machine == EM_AARCH64)
		*ret = without_signature(space, *ret);
	return true;
}

/* Of a return address that of the call. */
static uint64_t frame_instruction(const struct unwind_frame *frame)
{
	return frame->exact ? frame->pc : frame->pc - 1;
}

/* The functions at one address, inlined ones first. */
static struct error *stacks_add_frame(const struct address_space *space, struct heap_names *names,
	const struct made_code *code, const struct unwind_frame *from,
	struct heap_stack_frames *ret)
{
	uint64_t at = frame_instruction(from);
	const struct address_module *module = address_space_module(space, at);
	struct heap_stack_frame frame = {.pc = from->pc, .module = module};
	uint32_t number;
	if (!module)
		frame.function = made_code_name(code, at);
	if (!module || !heap_names_symbols(names, module, &number))
		return heap_stack_frames_push(ret, frame) ? NULL : error_no_memory();
	const struct symbol *symbols;
	size_t count;
	struct error *error =
		symbols_resolve(names->symbols, number, at - module->bias, &symbols, &count);
	for (size_t i = 0; i < count && !error; i++) {
		frame.function = symbols[i].function;
		frame.file = symbols[i].file;
		frame.line = symbols[i].line;
		frame.inlined = symbols[i].inlined;
		if (!heap_stack_frames_push(ret, frame))
			error = error_no_memory();
	}
	return error;
}

size_t heap_stack_unwind(struct unwinder *unwinder, const struct address_space *space,
	size_t thread, struct unwind_frame *ret, size_t room)
{
	uint64_t registers[CORE_REGISTERS_MAX];
	const struct unwind_thread from = {.machine = space->machine,
		.registers = registers,
		.context = (void *)space,
		.read_word = stacks_read_word};
	if (!space->threads.data[thread].stopped)
		return 0;
	memcpy(registers, space->threads.data[thread].registers, sizeof(registers));
	if (space->machine == EM_AARCH64)
		registers[ARM_LINK] = without_signature(space, registers[ARM_LINK]);
	return unwinder_run(unwinder, &from, ret, room);
}

struct error *heap_stacks_made_code(
	struct unwinder *unwinder, const struct address_space *space, struct made_code *ret)
{
	struct unwind_frame frames[HEAP_STACK_FRAMES];
	struct error *error = NULL;
	for (size_t thread = 0; thread < space->threads.len && !error; thread++) {
		size_t count =
			heap_stack_unwind(unwinder, space, thread, frames, HEAP_STACK_FRAMES);
		for (size_t i = 0; i < count && !error; i++) {
			uint64_t at = frame_instruction(&frames[i]);
			const struct process_map *map = address_space_map(space, at);
			if (map && map->executable && !address_space_module(space, at))
				error = made_code_want(ret, at);
		}
	}
	return error ? error : made_code_read(ret, space);
}

struct error *heap_stack_make(struct unwinder *unwinder, const struct address_space *space,
	struct heap_names *names, const struct made_code *code, size_t thread,
	struct heap_stack_frames *ret)
{
	struct unwind_frame frames[HEAP_STACK_FRAMES];
	struct error *error = NULL;
	heap_stack_frames_clear(ret);
	size_t count = heap_stack_unwind(unwinder, space, thread, frames, HEAP_STACK_FRAMES);
	for (size_t i = 0; i < count && !error; i++)
		error = stacks_add_frame(space, names, code, &frames[i], ret);
	return error;
}
