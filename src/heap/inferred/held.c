/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/inferred/held.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/cxx.h"
#include "heap/heap_scan.h"
#include "heap/types/recognisers.h"

const char *held_arguments(const char *symbol, size_t *ret_len)
{
	static const char *const before[] = {"_Manager_external<", "_LargeHandler<",
		"_Function_handler<", "_Base_manager<", "_Manager_internal<", "_SmallHandler<"};
	const char *at = NULL, *end = symbol + strlen(symbol);
	for (size_t i = 0; i < ARRAY_SIZE(before) && !at; i++) {
		at = strstr(symbol, before[i]);
		at = at ? at + strlen(before[i]) : NULL;
	}
	/* The function's own name has no brackets. */
	while (at && end > at && end[-1] != '>')
		end--;
	end -= at && end > at;
	while (at && end > at && end[-1] == ' ')
		end--;
	*ret_len = at ? (size_t)(end - at) : 0;
	return *ret_len ? at : NULL;
}

static void add_content(struct text *text, const char *symbol)
{
	size_t len;
	const char *at = held_arguments(symbol, &len);
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add_n(&name, at ? at : "", len);
	if (!name.len)
		return;
	text_add(text, "content of std::any: ");
	cxx_add_plain_name(text, name.data);
}

/* Chunks in which no object was found. */
static struct error *assign_chunks(struct heap_scan *scan)
{
	static const char *const names[] = {
		[HELD_BUFFER] = "std::pmr::monotonic_buffer_resource buffer",
		[HELD_POOL] = "std::pmr pool chunk",
	};
	struct heap_types *types = &scan->types;
	struct error *error = NULL;
	for (size_t i = 0; i < types->held.chunks.len && !error; i++) {
		struct held_chunk chunk = types->held.chunks.data[i];
		struct block_label label = block_label(scan->search, chunk.block);
		uint32_t type;
		if (heap_types_of_label(types, label) != HEAP_TYPE_NONE)
			continue;
		error = heap_types_add(types, HEAP_TYPE_CONTAINER, names[chunk.kind], &type);
		if (!error)
			block_set_label(scan->search, chunk.block, heap_types_label(types, type));
	}
	return error;
}

struct error *held_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	(void)subset;
	struct heap_types *types = &scan->types;
	struct error *error = NULL;
	for (size_t i = 0; i < types->held.blocks.len && !error; i++) {
		struct held_block block = types->held.blocks.data[i];
		const struct held_code *code = &types->held.codes.data[block.code];
		struct block_label label = block_label(scan->search, block.block);
		uint32_t type;
		if (code->kind != HELD_BY_ANY ||
			heap_types_of_label(types, label) != HEAP_TYPE_NONE)
			continue;
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		add_content(&name, code->symbol);
		if (!name.len)
			continue;
		error = heap_types_add(types, HEAP_TYPE_CONTAINER, name.data, &type);
		if (!error)
			block_set_label(scan->search, block.block, heap_types_label(types, type));
	}
	return error ? error : assign_chunks(scan);
}
