/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where inference begins in what threads have of their own. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/inferred/inferred_find.h"
#include "heap/thread_locals.h"
#include "heap/types/system_types.h"

#define PIECE_BYTES (64u << 10)

/* A variable whose words are looked at. */
struct variable {
	uint64_t start, end;
	struct slot_vec slots;
};

/* Whether a block is still there: one in the heap may have been freed, and be something else. */
static bool is_there(const struct inferring *f, const struct thread_block *block)
{
	uint64_t offset;
	uint32_t number = search_block_at(f->search, block->start, &offset);
	const struct heap_types *types = &f->scan->types;
	if (number == SPACE_NONE)
		return !heap_areas_find(&f->scan->heap.areas, block->start);
	uint32_t type = heap_types_of_label(types, block_label(f->search, number));
	return type != HEAP_TYPE_NONE && system_types_is_thread_memory(&types->types.data[type]);
}

static void find_variable(struct inferring *f, uint64_t address, struct variable *variable)
{
	struct heap_global global;
	slot_vec_clear(&variable->slots);
	variable->start = address;
	variable->end = address + 8;
	if (!thread_locals_declared(f->scan, address, &global))
		return;
	variable->start = global.start;
	variable->end = global.start + types_get(f->types, global.variable.type)->size;
	inferred_find_slots(f, global.variable.type, &variable->slots);
}

static void inferred_threads_take_word(
	struct inferring *f, uint64_t address, uint64_t word, struct variable *variable)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, word, &offset);
	if (block == SPACE_NONE)
		return;
	if (address < variable->start || address >= variable->end)
		find_variable(f, address, variable);
	const struct slot *slot = slots_at_address(
		&variable->slots, address - variable->start, f->scan->heap.space, address);
	if (slot)
		inferred_claim_slot(f, slot, word, address);
}

static void inferred_threads_take_block(struct inferring *f, uint64_t start, uint64_t end,
	uint64_t *words, struct variable *variable)
{
	for (uint64_t at = (start + 7) & ~7ull; at + 8 <= end && !f->failed; at += PIECE_BYTES) {
		size_t wanted = min((size_t)(end - at), (size_t)PIECE_BYTES);
		size_t count = address_space_read(f->scan->heap.space, at, words, wanted) / 8;
		for (size_t i = 0; i < count && !f->failed; i++) {
			if (words[i])
				inferred_threads_take_word(f, at + 8 * i, words[i], variable);
		}
	}
}

void inferred_take_thread_locals(struct inferring *inferring)
{
	struct inferring *f = inferring;
	const struct thread_block_vec *blocks = &f->scan->thread_blocks.blocks;
	const struct address_module *modules = f->scan->heap.space->modules.data;
	_cleanup_free_ uint64_t *words = malloc(PIECE_BYTES);
	struct variable variable = {.start = 0};
	uint32_t number;
	f->failed |= !words;
	for (size_t i = 0; i < blocks->len && !f->failed; i++) {
		const struct thread_block *block = &blocks->data[i];
		if (!is_there(f, block) ||
			!inferred_know_module(f, &modules[block->module], &number))
			continue;
		inferred_threads_take_block(f, block->start, block->end, words, &variable);
	}
	slot_vec_deinit(&variable.slots);
}
