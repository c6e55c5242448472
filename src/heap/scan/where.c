/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/where.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "heap/cxx.h"
#include "heap/texts.h"
#include "heap/thread_locals.h"

/* The number of the thread whose stack an address is on, by what counts as a root of it. */
static bool is_on_stack(const struct heap_scan *scan, uint64_t address, uint32_t *ret)
{
	for (size_t i = 0; i < scan->roots.len; i++) {
		const struct heap_root *root = &scan->roots.data[i];
		if (root->kind == HEAP_ROOT_STACK && address >= root->start &&
			address < root->end) {
			*ret = root->thread;
			return true;
		}
	}
	return false;
}

/* The member that an address after a block's start is in. */
static void find_member(const struct heap_scan *scan, struct heap_where *where)
{
	struct heap_layout layout;
	struct text text;
	text_init(&text);
	if (where->tid)
		thread_locals_add_member(scan, where->block, where->offset, &text);
	else
		pools_add_member(scan, where->block, where->offset, &text);
	if (!where->tid && !text.len && where->offset &&
		heap_layout_of(scan, where->block, &layout))
		heap_layout_add_member(scan, &layout, where->offset, &text);
	if (text.len && text.len < sizeof(where->member))
		memcpy(where->member, text.data, text.len + 1);
	text_deinit(&text);
}

static void find_text(const struct heap_scan *scan, struct heap_where *where)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	texts_add_quoted(scan, where->block, &text);
	if (text.len && text.len < sizeof(where->text))
		memcpy(where->text, text.data, text.len + 1);
}

static bool in_block(const struct heap_scan *scan, uint64_t address, struct heap_where *ret)
{
	uint32_t block = search_block_at(scan->search, address, &ret->offset);
	if (block == SPACE_NONE)
		return false;
	ret->kind = HEAP_WHERE_BLOCK;
	ret->block = block;
	ret->start = address - ret->offset;
	ret->type = scan->types.types.data[heap_scan_type_of(scan, block)].name;
	ret->tid = thread_locals_owner(scan, ret->block);
	find_member(scan, ret);
	find_text(scan, ret);
	return true;
}

struct error *heap_where(const struct heap_scan *scan, uint64_t address, struct heap_where *ret)
{
	const struct address_space *space = scan->heap.space;
	*ret = (struct heap_where){.map = address_space_map(space, address)};
	if (!ret->map || in_block(scan, address, ret))
		return NULL;
	ret->start = ret->map->start;
	ret->offset = address - ret->start;
	uint32_t thread;
	if (thread_locals_has(scan, address, &thread)) {
		ret->kind = HEAP_WHERE_THREAD_LOCAL;
		ret->tid = space->threads.data[thread].tid;
		struct error *error = thread_locals_place(scan, address, &ret->place);
		ret->offset = ret->place.offset;
		return error;
	}
	if (is_on_stack(scan, address, &thread)) {
		ret->kind = HEAP_WHERE_STACK;
		ret->tid = space->threads.data[thread].tid;
		return stack_places_find(scan->stacks, thread, address, &ret->frame);
	}
	if (heap_areas_find(&scan->heap.areas, address)) {
		ret->kind = HEAP_WHERE_ALLOCATOR;
		return NULL;
	}
	ret->kind = address_space_module(space, address) ? HEAP_WHERE_MODULE : HEAP_WHERE_MAPPING;
	if (ret->kind == HEAP_WHERE_MAPPING)
		return NULL;
	struct error *error = heap_names_place(scan->names, space, address, &ret->place);
	ret->offset = ret->place.offset;
	return error;
}

struct error *heap_where_block(const struct heap_scan *scan, uint64_t address, uint32_t *ret)
{
	struct heap_where where;
	struct error *error = heap_where(scan, address, &where);
	if (error)
		return error;
	*ret = where.block;
	if (where.kind == HEAP_WHERE_BLOCK)
		return NULL;
	struct text text;
	text_init(&text);
	heap_where_describe(&where, &text);
	error = error_create(ERROR_INPUT, "0x%" PRIx64 " is in no block that is in use: %s",
		address, text.data ? text.data : "");
	text_deinit(&text);
	return error;
}

static void describe_frame(const struct heap_stack_place *frame, struct text *text)
{
	if (frame->function) {
		text_add(text, ", in ");
		text_add_shown(text, frame->function, 120);
	}
	if (frame->variable) {
		text_add(text, ": ");
		text_add_shown(text, frame->variable, 120);
		if (frame->offset)
			text_printf(text, " + %" PRIu64, frame->offset);
	}
}

static void describe_place(const struct heap_where *where, struct text *text)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	if (where->place.name)
		cxx_add_symbol(&name, where->place.name);
	else
		text_add(&name, path_last_part(where->place.module->path));
	text_add(text, "<");
	text_add_shown(text, name.data ? name.data : "", 120);
	if (where->offset)
		text_printf(text, "+0x%" PRIx64, where->offset);
	text_add(text, ">");
	if (where->place.name) {
		text_add(text, " in ");
		text_add_shown(text, path_last_part(where->place.module->path), 120);
	}
}

static void describe_thread_local(const struct heap_where *where, struct text *text)
{
	text_add(text, where->place.name ? "thread-local " : "thread-local storage");
	if (where->place.name) {
		describe_place(where, text);
	} else if (where->place.module) {
		text_add(text, " of ");
		text_add_shown(text, path_last_part(where->place.module->path), 120);
		text_printf(text, " + 0x%" PRIx64, where->offset);
	}
	text_printf(text, " of thread %d", (int)where->tid);
}

static void describe_block(const struct heap_where *where, struct text *text)
{
	text_printf(text, "block 0x%" PRIx64, where->start);
	if (where->offset)
		text_printf(text, " + %" PRIu64, where->offset);
	text_add(text, ", ");
	text_add_shown(text, where->type, 120);
	text_add(text, where->text);
	if (where->tid)
		text_printf(text, " of thread %d", (int)where->tid);
	if (*where->member)
		text_add(text, where->tid ? ": " : *where->member == '[' ? "" : ".");
	text_add(text, where->member);
}

void heap_where_describe(const struct heap_where *where, struct text *text)
{
	switch (where->kind) {
	case HEAP_WHERE_NOWHERE:
		text_add(text, "nothing is mapped there");
		return;
	case HEAP_WHERE_BLOCK:
		describe_block(where, text);
		return;
	case HEAP_WHERE_ALLOCATOR:
		text_add(text, "memory of the allocator: free, or its own");
		return;
	case HEAP_WHERE_STACK:
		text_printf(text, "stack of thread %d", (int)where->tid);
		describe_frame(&where->frame, text);
		return;
	case HEAP_WHERE_MODULE:
		describe_place(where, text);
		return;
	case HEAP_WHERE_THREAD_LOCAL:
		describe_thread_local(where, text);
		return;
	case HEAP_WHERE_MAPPING:
		text_add(text, "mapping ");
		text_add_shown(text, *where->map->path ? where->map->path : "without a file", 200);
		text_printf(text, " + 0x%" PRIx64, where->offset);
		return;
	}
}
