/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/texts.h"

#include <string.h>

#include "base/cleanup.h"
#include "heap/blocks/window.h"
#include "heap/inferred/inferred_subset.h"
#include "heap/types/recognisers.h"
#include "search/graph.h"

/* A shorter text may be a number as well. */
#define TEXT_LEAST 8u
/* glibc's smallest block, and what its sizes are multiples of, less what is kept in front. */
#define GLIBC_LEAST 24u
#define GLIBC_STEP 16u
#define GLIBC_HEAD 8u
/* Blocks that are mappings of their own end with a page. */
#define MAPPED_FROM (128u << 10)
#define PAGE_BYTES 4096u
/* Other allocators give at most a quarter more, or this many bytes. */
#define OTHERS_SPARE 16u

static const char name[] = "text";

bool texts_is(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_STRING && !strcmp(type->name, name);
}

/* What was read of a text so far. */
struct reading {
	uint64_t len, words; /* bytes; of these this many of letters and digits */
	unsigned more;       /* bytes that the last character still has */
	bool is_ended, is_bad;
};

/* How many bytes follow the first one of a character of UTF-8; 4: none begins so. */
static unsigned bytes_after(uint8_t first)
{
	return first < 0xc2 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 4;
}

static bool texts_is_word(uint8_t byte)
{
	uint8_t small = byte | 0x20;
	return byte >= 0x80 || (byte >= '0' && byte <= '9') || (small >= 'a' && small <= 'z');
}

static bool is_printable(uint8_t byte)
{
	return (byte >= ' ' && byte < 127) || byte == '\t' || byte == '\n' || byte == '\r';
}

static void read_piece(struct reading *r, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && !r->is_bad; i++) {
		uint8_t byte = bytes[i];
		if (!byte) {
			r->is_ended = true;
			r->is_bad = r->more > 0;
			return;
		}
		if (r->more) {
			r->is_bad = (byte & 0xc0) != 0x80;
			r->more--;
		} else if (byte >= 0x80) {
			r->more = bytes_after(byte);
			r->is_bad = r->more > 3;
		} else {
			r->is_bad = !is_printable(byte);
		}
		r->len++;
		r->words += texts_is_word(byte);
	}
}

/* Whether an allocator gives a block of that size for this many bytes. */
static bool is_tight(uint64_t bytes, uint64_t usable, enum heap_allocator allocator)
{
	if (allocator != HEAP_GLIBC) {
		uint64_t spare = usable / 4 > OTHERS_SPARE ? usable / 4 : OTHERS_SPARE;
		return usable - bytes <= spare;
	}
	if (usable >= MAPPED_FROM && (usable + 2ull * GLIBC_HEAD) % PAGE_BYTES == 0)
		return usable - bytes < PAGE_BYTES + 2 * GLIBC_HEAD;
	uint64_t chunk = (bytes + GLIBC_HEAD + GLIBC_STEP - 1) / GLIBC_STEP * GLIBC_STEP;
	uint64_t given = chunk - GLIBC_HEAD;
	return usable == (given > GLIBC_LEAST ? given : GLIBC_LEAST);
}

struct assigner {
	struct heap_scan *scan;
	struct window window;
	const struct heap_area *area; /* of the last block */
	uint32_t type;
	uint64_t high; /* after all blocks */
};

static enum heap_allocator allocator_of(struct assigner *w, uint64_t address)
{
	if (!w->area || address < w->area->start || address >= w->area->end)
		w->area = heap_areas_find(&w->scan->heap.areas, address);
	return w->area ? w->area->allocator : HEAP_ALLOCATORS;
}

static bool texts_is_text(struct assigner *w, uint64_t address, uint64_t size)
{
	struct reading reading = {.len = 0};
	for (uint64_t at = 0; at < size && !reading.is_ended && !reading.is_bad;
		at += WINDOW_BYTES) {
		size_t len = size - at < WINDOW_BYTES ? (size_t)(size - at) : WINDOW_BYTES;
		const uint8_t *bytes = window_at(&w->window, address + at, len, w->high);
		reading.is_bad = !bytes;
		if (bytes)
			read_piece(&reading, bytes, len);
	}
	return reading.is_ended && !reading.is_bad && reading.len >= TEXT_LEAST &&
	       2 * reading.words >= reading.len &&
	       is_tight(reading.len + 1, size, allocator_of(w, address));
}

/* Nothing is known of it, and it has no pointers. */
static bool may_be(const struct heap_scan *s, uint32_t block)
{
	uint32_t class = heap_types_shape(&s->types, block_label(s->search, block));
	return class != HEAP_SHAPE_NONE && s->types.of_shape[class] == HEAP_TYPE_NONE &&
	       !s->classes.classes.data[class].key.pointers;
}

static void texts_look_at(struct assigner *w, uint32_t block, uint64_t address, uint64_t size)
{
	struct heap_scan *s = w->scan;
	if (texts_is_text(w, address, size))
		block_set_label(s->search, block, heap_types_label(&s->types, w->type));
}

static void look_at_all(struct assigner *w)
{
	struct heap_scan *s = w->scan;
	struct space_walk walk = {search_graph(s->search)->space, 0, 0};
	uint32_t count = search_block_count(s->search);
	for (; walk.block < count; walk.block++) {
		if (may_be(s, walk.block))
			texts_look_at(w, walk.block, space_walk_address(&walk),
				search_block_size(s->search, walk.block));
	}
}

struct error *texts_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	struct assigner w = {.scan = scan, .high = search_graph(scan->search)->space->high};
	struct error *error = heap_types_add(&scan->types, HEAP_TYPE_STRING, name, &w.type);
	if (!error)
		error = window_open(scan->heap.space, &w.window);
	if (error)
		return error;
	const struct space_u32 *blocks =
		subset && subset->is_complete ? &subset->reverse->blocks : NULL;
	for (size_t i = 0; blocks && i < blocks->len; i++) {
		uint32_t block = blocks->data[i];
		if (may_be(scan, block))
			texts_look_at(&w, block, search_block_address(scan->search, block),
				search_block_size(scan->search, block));
	}
	if (!blocks)
		look_at_all(&w);
	window_close(&w.window);
	return NULL;
}

#define BEGINNING_ROOM 64u

bool texts_add_beginning(const struct heap_scan *scan, uint32_t block, const uint8_t *bytes,
	size_t len, size_t most, struct text *ret)
{
	uint8_t read[BEGINNING_ROOM + 1];
	size_t count = 0;
	if (!texts_is(&scan->types.types.data[heap_scan_type_of(scan, block)]))
		return false;
	if (!bytes) {
		uint64_t size = search_block_size(scan->search, block);
		len = size < most + 1 ? (size_t)size : most + 1;
		len = address_space_read(
			scan->heap.space, search_block_address(scan->search, block), read, len);
		bytes = read;
	}
	while (count < len && count < most && bytes[count])
		count++;
	bool is_cut = count < len && bytes[count];
	/* What follows the first byte of a character begins with 10. */
	while (count && count < len && (bytes[count] & 0xc0) == 0x80)
		count--;
	text_add_n(ret, (const char *)bytes, count);
	return is_cut;
}

void texts_add_quoted(const struct heap_scan *scan, uint32_t block, struct text *ret)
{
	_cleanup_(text_deinit) struct text beginning;
	text_init(&beginning);
	bool is_cut = texts_add_beginning(scan, block, NULL, 0, TEXTS_BEGINNING_BYTES, &beginning);
	if (!beginning.len)
		return;
	text_add(ret, " \"");
	text_add_shown(ret, beginning.data, BEGINNING_ROOM);
	text_add(ret, is_cut ? "…\"" : "\"");
}
