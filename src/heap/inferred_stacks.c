/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inference from variables on stacks. A variable that has no value yet holds what was there before;
 * so these come last, those that are declared further down say nothing, and what they point to must
 * be a structure that fits, or what is known to be a container's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "heap/inferred_find.h"

/* Of all threads: unwinding takes time, and threads that are many do the same. */
#define FRAMES_MOST 4096u
#define THREADS_MOST 256u
#define VARIABLES_MOST (1u << 16)
/* Of one variable. */
#define VARIABLE_BYTES_MAX (64u << 10)

struct taking {
	struct inferring *f;
	unsigned variables; /* that are left */
	uint8_t bytes[VARIABLE_BYTES_MAX];
};

static void take_pointer(struct inferring *f, uint64_t address, uint32_t target)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (block == SPACE_NONE)
		return;
	if (offset) {
		inferred_claim_counted(f, block, offset, target);
		return;
	}
	uint32_t known = heap_types_of_site(&f->survey->types, search_block_site(f->search, block));
	if (known != HEAP_TYPE_NONE || type_has_members(types_get(f->types, target)))
		inferred_claim(f, block, target);
}

static void take_variable(void *context, uint32_t type, uint64_t address)
{
	struct taking *t = context;
	struct inferring *f = t->f;
	if (!t->variables || f->failed)
		return;
	t->variables--;
	struct fact *fact = inferred_fact(f, types_plain(f->types, type));
	if (!fact || !fact->slots.len)
		return;
	const struct slot *last = &fact->slots.data[fact->slots.len - 1];
	size_t wanted = (size_t)min(last->offset + 8, (uint64_t)VARIABLE_BYTES_MAX);
	size_t len = address_space_read(f->survey->heap.space, address, t->bytes, wanted);
	for (size_t i = 0; i < fact->slots.len && !f->failed; i++) {
		const struct slot *slot = &fact->slots.data[i];
		uint64_t word;
		if (slot->offset > len || len - slot->offset < sizeof(word))
			break;
		memcpy(&word, t->bytes + slot->offset, sizeof(word));
		if (word)
			take_pointer(f, word, slot->target);
	}
}

/* Where in its source the function is, not what was inlined into it; 0: not known. */
static uint32_t line_of(struct inferring *f, uint32_t module, uint64_t pc)
{
	const struct symbol *symbols;
	size_t count;
	struct error *error =
		symbols_resolve(f->survey->names->symbols, module, pc, &symbols, &count);
	f->failed |= error != NULL;
	error_destroy(error);
	return f->failed ? 0 : symbols[count - 1].line;
}

static void take_thread(struct taking *t, size_t thread, unsigned *frames)
{
	struct inferring *f = t->f;
	bool any = true;
	for (size_t i = 0; any && *frames && !f->failed; i++) {
		struct local_frame frame;
		const struct address_module *module;
		uint32_t number;
		struct error *error =
			stack_places_frame(f->survey->stacks, thread, i, &frame, &module, &any);
		f->failed |= error != NULL;
		error_destroy(error);
		if (!any || !inferred_know_module(f, module, &number))
			continue;
		--*frames;
		types_locals(
			f->types, number, &frame, line_of(f, number, frame.pc), take_variable, t);
	}
}

void inferred_take_stacks(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct taking *t = calloc(1, sizeof(*t));
	unsigned frames = FRAMES_MOST;
	f->failed |= !t;
	if (!t)
		return;
	t->f = f;
	t->variables = VARIABLES_MOST;
	size_t threads = min(f->survey->heap.space->threads.len, (size_t)THREADS_MOST);
	for (size_t i = 0; i < threads && frames && !f->failed; i++)
		take_thread(t, i, &frames);
	free(t);
}
