/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inference from variables on stacks. A variable without a value yet has stale contents; so
 * variables come last, those declared further down are ignored, and what they point to must be a
 * structure that fits, or what is known to be a container's.
 */
#include "heap/inferred/inferred_find.h"
#include "heap/limits.h"

struct taking {
	struct inferring *f;
	unsigned frames; /* that are left: LIMIT_TYPED_FRAMES */
};

static void take_pointer(
	struct inferring *f, const struct slot *slot, uint64_t word, uint64_t address)
{
	uint64_t offset;
	const uint32_t target = slot->target;
	uint32_t block = search_block_at(f->search, word, &offset);
	if (block == SPACE_NONE)
		return;
	if (slot->container.form != RUST_NONE || slot->internal != TYPE_VOID) {
		inferred_claim_slot(f, slot, word, address);
		return;
	}
	if (offset) {
		inferred_claim_counted(f, block, offset, target);
		return;
	}
	uint32_t known = heap_types_of_label(&f->scan->types, block_label(f->search, block));
	if (known != HEAP_TYPE_NONE || type_has_members(types_get(f->types, target)))
		inferred_claim(f, block, target);
}

static void take_variable(void *context, uint32_t type, uint64_t address)
{
	struct taking *t = context;
	struct fact *fact =
		t->f->failed ? NULL : inferred_fact(t->f, types_plain(t->f->types, type));
	if (fact)
		inferred_each_word(t->f, address, &fact->slots, take_pointer);
}

/* Where in its source the function is, not what was inlined into it; 0: not known. */
static uint32_t line_of(struct inferring *f, uint32_t module, uint64_t pc)
{
	const struct symbol *symbols;
	size_t count;
	struct error *error =
		symbols_resolve(f->scan->names->symbols, module, pc, &symbols, &count);
	f->failed |= error != NULL;
	error_destroy(error);
	return f->failed ? 0 : symbols[count - 1].line;
}

static void take_thread(struct taking *t, size_t thread)
{
	struct inferring *f = t->f;
	bool any = true;
	for (size_t i = 0; any && t->frames && !f->failed; i++) {
		struct local_frame frame;
		const struct address_module *module;
		uint32_t number;
		struct error *error =
			stack_places_frame(f->scan->stacks, thread, i, &frame, &module, &any);
		f->failed |= error != NULL;
		error_destroy(error);
		if (!any || !inferred_know_module(f, module, &number))
			continue;
		t->frames--;
		types_locals(
			f->types, number, &frame, line_of(f, number, frame.pc), take_variable, t);
	}
}

void inferred_take_stacks(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct taking t = {f, LIMIT_TYPED_FRAMES};
	size_t threads = f->scan->heap.space->threads.len;
	for (size_t i = 0; i < threads && t.frames && !f->failed; i++)
		take_thread(&t, i);
	if (!t.frames)
		heap_limit_reach(f->scan, REACHED_TYPED_FRAMES);
	for (size_t i = 0; i < threads; i++) {
		if (stack_places_is_cut(f->scan->stacks, i))
			heap_limit_reach(f->scan, REACHED_STACK_FRAMES);
	}
}
