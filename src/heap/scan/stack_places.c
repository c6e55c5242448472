/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/stack_places.h"

#include <elf.h>
#include <stdlib.h>

#include "heap/limits.h"
#include "heap/stacks.h"

struct unwound {
	struct unwind_frame *frames; /* innermost first */
	size_t count;
	bool done, is_cut;
};

struct stack_places {
	const struct address_space *space;
	struct heap_names *names;
	struct unwinder *unwinder; /* NULL: not asked for yet */
	struct unwound *threads;
};

struct error *stack_places_create(
	const struct address_space *space, struct heap_names *names, struct stack_places **ret)
{
	struct stack_places *places = calloc(1, sizeof(*places));
	*ret = places;
	if (!places)
		return error_no_memory();
	places->space = space;
	places->names = names;
	places->threads = calloc(space->threads.len + 1, sizeof(*places->threads));
	return places->threads ? NULL : error_no_memory();
}

void stack_places_destroy(struct stack_places *places)
{
	if (!places)
		return;
	for (size_t i = 0; places->threads && i < places->space->threads.len; i++)
		free(places->threads[i].frames);
	free(places->threads);
	unwinder_destroy(places->unwinder);
	free(places);
}

static struct error *stack_places_unwind(struct stack_places *places, size_t thread)
{
	struct unwound *to = &places->threads[thread];
	if (to->done)
		return NULL;
	to->done = true;
	struct error *error =
		places->unwinder ? NULL : heap_stacks_open(places->space, &places->unwinder);
	if (error)
		return error;
	/* Few stacks are deep. */
	size_t room = HEAP_STACK_FRAMES;
	for (;; room = LIMIT_STACK_FRAMES) {
		free(to->frames);
		to->frames = malloc(room * sizeof(*to->frames));
		if (!to->frames)
			return error_no_memory();
		to->count = heap_stack_unwind(
			places->unwinder, places->space, thread, to->frames, room);
		if (to->count < room || room == LIMIT_STACK_FRAMES)
			break;
	}
	to->is_cut = to->count == room;
	struct unwind_frame *fitted = realloc(to->frames, to->count * sizeof(*fitted) + 1);
	to->frames = fitted ? fitted : to->frames;
	return NULL;
}

bool stack_places_is_cut(const struct stack_places *places, size_t thread)
{
	return places->threads[thread].is_cut;
}

/* An address in the instruction that a frame is at. */
static uint64_t code_of(const struct unwind_frame *frame)
{
	return frame->exact ? frame->pc : frame->pc - 1;
}

static struct local_frame local_frame_of(const struct stack_places *places,
	const struct unwind_frame *frame, uint64_t cfa, const struct address_module *module)
{
	bool x86 = places->space->machine == EM_X86_64;
	return (struct local_frame){.pc = code_of(frame) - module->bias,
		.cfa = cfa,
		.stack_pointer = frame->stack_pointer,
		.frame_pointer = frame->frame_pointer,
		.stack_register = x86 ? 7 : 31,
		.frame_register = x86 ? 6 : 29};
}

static struct error *name_variable(struct stack_places *places, const struct unwind_frame *frame,
	uint64_t cfa, uint64_t address, struct heap_stack_place *ret)
{
	uint64_t at = code_of(frame);
	const struct address_module *module = address_space_module(places->space, at);
	uint32_t number;
	if (!module || !heap_names_symbols(places->names, module, &number))
		return NULL;
	const struct symbol *symbols;
	size_t count;
	struct symbols *from = places->names->symbols;
	struct error *error = symbols_resolve(from, number, at - module->bias, &symbols, &count);
	if (error)
		return error;
	ret->function = symbols[count - 1].function;
	struct local_frame local = local_frame_of(places, frame, cfa, module);
	return symbols_local(from, number, &local, address, &ret->variable, &ret->offset);
}

struct error *stack_places_find(
	struct stack_places *places, size_t thread, uint64_t address, struct heap_stack_place *ret)
{
	*ret = (struct heap_stack_place){.function = NULL};
	struct error *error = stack_places_unwind(places, thread);
	const struct unwound *from = &places->threads[thread];
	for (size_t i = 0; !error && i + 1 < from->count; i++) {
		uint64_t cfa = from->frames[i + 1].stack_pointer;
		if (cfa && address < cfa)
			return name_variable(places, &from->frames[i], cfa, address, ret);
	}
	return error;
}

struct error *stack_places_frame(struct stack_places *places, size_t thread, size_t number,
	struct local_frame *ret, const struct address_module **ret_module, bool *ret_any)
{
	struct error *error = stack_places_unwind(places, thread);
	const struct unwound *from = &places->threads[thread];
	*ret_module = NULL;
	*ret_any = !error && number + 1 < from->count;
	if (!*ret_any)
		return error;
	const struct unwind_frame *frame = &from->frames[number];
	uint64_t cfa = frame[1].stack_pointer, at = code_of(frame);
	const struct address_module *module = cfa ? address_space_module(places->space, at) : NULL;
	if (module)
		*ret = local_frame_of(places, frame, cfa, module);
	*ret_module = module;
	return NULL;
}
