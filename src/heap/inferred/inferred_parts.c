/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of containers that is known without its elements (containers.h). */
#include <string.h>

#include "base/util.h"
#include "heap/inferred/inferred_find.h"

#define TABLE_WORDS 512u

bool inferred_is_deque_table(const struct heap_type *part)
{
	return part->kind == HEAP_TYPE_CONTAINER && !strncmp(part->name, "std::deque map", 14);
}

bool inferred_can_be_part(const struct inferring *f, uint32_t known, uint32_t type)
{
	const struct heap_type *part = &f->scan->types.types.data[known];
	const struct type *of = types_get(f->types, type);
	if (part->kind != HEAP_TYPE_CONTAINER || part->layout != TYPE_VOID)
		return false;
	bool is_node = of->name && strstr(of->name, "_node<");
	if (strstr(part->name, " node"))
		return is_node;
	if (inferred_is_deque_table(part))
		return of->kind == TYPE_POINTER;
	return !is_node && (strstr(part->name, "vector") || strstr(part->name, "deque block"));
}

static void claim_part(struct inferring *f, uint64_t address, uint32_t type)
{
	uint64_t offset;
	uint32_t block = search_block_at(f->search, address, &offset);
	if (block == SPACE_NONE || offset)
		return;
	uint32_t known = heap_types_of_label(&f->scan->types, block_label(f->search, block));
	if (known != HEAP_TYPE_NONE && inferred_can_be_part(f, known, type))
		inferred_claim(f, block, type);
}

void inferred_follow_deque(struct inferring *inferring, uint32_t block, const struct fact *fact)
{
	struct inferring *f = inferring;
	uint64_t words[TABLE_WORDS], at = search_block_address(f->search, block);
	uint64_t end = at + search_block_size(f->search, block) / 8 * 8;
	const uint32_t element = fact->slots.data[0].target;
	while (at < end && !f->failed) {
		size_t wanted = min((size_t)(end - at), sizeof(words));
		size_t count = address_space_read(f->scan->heap.space, at, words, wanted) / 8;
		f->reads -= f->reads > 0;
		for (size_t i = 0; i < count; i++)
			claim_part(f, words[i], element);
		at += wanted;
	}
}
