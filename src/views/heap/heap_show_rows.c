/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members of a block as rows, each before those inside of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/cxx.h"
#include "views/heap/heap_show_parts.h"

#define BYTES_MOST (1u << 20)

/* What is shown on lines of its own. */
static bool is_nested(const struct show *s, uint32_t plain)
{
	const struct types *types = s->values.types;
	for (unsigned i = 0; i < TYPES_DEPTH_MAX && types_get(types, plain)->kind == TYPE_ARRAY;
		i++)
		plain = types_plain(types, types_get(types, plain)->target);
	return type_has_members(types_get(types, plain)) && !heap_values_is_text(&s->values, plain);
}

/* Takes the name. */
static struct shown_member *heap_show_rows_add_row(
	struct show *s, char *name, struct shown_member row)
{
	row.name = name;
	if (name && shown_members_push(&s->members, row)) {
		s->rows += !row.is_more;
		return &s->members.data[s->members.len - 1];
	}
	free(name);
	s->no_memory = true;
	return NULL;
}

static uint64_t add_members(struct show *s, uint32_t plain, uint64_t bits, unsigned level);

/* What a template keeps in bytes is shown as what it is. */
static void add_one(struct show *s, char *name, uint32_t number, uint64_t bits,
	const struct type_member *member, unsigned level)
{
	uint32_t plain = types_plain(s->values.types, number);
	uint32_t content = types_content(s->values.types, plain);
	if (content != TYPE_VOID)
		number = plain = content;
	struct contents contents;
	bool held = heap_contents_read(&s->values, plain, bits, &contents);
	bool nested = is_nested(s, plain) && level < TYPES_DEPTH_MAX;
	/* Beside its value a program gets what a container is made of. */
	bool opens = nested && (!held || !s->is_brief);
	size_t place = s->members.len;
	struct shown_member row = {.level = level,
		.type = number,
		.bits = bits,
		.bit_size = member ? member->bit_size : 0,
		.has_value = !nested || held,
		.is_held = held,
		.opens = opens};
	if (!heap_show_rows_add_row(s, name, row) || !opens)
		return;
	uint64_t more = add_members(s, plain, bits, level + 1);
	s->members.data[place].more = more;
}

/* A line that says how many are left out. */
static void add_more(struct show *s, uint64_t more, unsigned level)
{
	if (more && s->is_brief)
		heap_show_rows_add_row(s, strdup(""),
			(struct shown_member){.level = level, .is_more = true, .more = more});
}

/* Returns how many are left out. */
static uint64_t add_elements(
	struct show *s, uint32_t type, uint64_t count, uint64_t bits, unsigned level)
{
	uint64_t size = types_get(s->values.types, type)->size, i = 0;
	for (; i < count && i < s->elements && s->rows < SHOW_ROWS_MOST && !s->no_memory; i++) {
		char name[32];
		snprintf(name, sizeof(name), "[%" PRIu64 "]", i);
		add_one(s, strdup(name), type, bits + 8 * size * i, NULL, level);
	}
	add_more(s, count - i, level);
	return count - i;
}

static void heap_show_rows_add_name(
	struct types *types, const struct type_member *member, struct text *text)
{
	const struct type *type = types_get(types, types_plain(types, member->type));
	if (member->name && member->kind != MEMBER_BASE)
		text_add(text, member->name);
	else if (type->name)
		cxx_add_plain_name(text, type->name);
	else
		text_add(text, type->kind == TYPE_UNION ? "(union)" : "(struct)");
}

static void heap_show_rows_add_member(
	struct show *s, const struct type_member *member, uint64_t bits, unsigned level)
{
	struct text name;
	text_init(&name);
	heap_show_rows_add_name(s->values.types, member, &name);
	add_one(s, text_steal(&name), member->type, bits + member->bits, member, level);
}

/* A base class without members, as allocators are, has nothing to show. */
static bool is_empty(const struct types *types, uint32_t number, unsigned depth)
{
	const struct type *type = types_get(types, types_plain(types, number));
	if (!type_has_members(type) || depth > TYPES_DEPTH_MAX)
		return false;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (type->members[i].kind != MEMBER_BASE ||
			!is_empty(types, type->members[i].type, depth + 1))
			return false;
	}
	return true;
}

bool heap_show_has(const struct types *types, const struct type_member *member)
{
	return member->kind != MEMBER_VIRTUAL_BASE &&
	       (member->kind != MEMBER_BASE || !is_empty(types, member->type, 0));
}

/* Returns how many elements are left out. */
static uint64_t add_members(struct show *s, uint32_t plain, uint64_t bits, unsigned level)
{
	struct types *types = s->values.types;
	struct type type = *types_get(types, plain);
	struct contents contents;
	/* A block that is a container: its value is a row. */
	bool held = !level && heap_contents_read(&s->values, plain, bits, &contents);
	if (type.kind == TYPE_ARRAY)
		return add_elements(
			s, type.target, heap_values_count(&s->values, &type, bits), bits, level);
	if (!is_nested(s, plain) || held) {
		add_one(s, strdup("value"), plain, bits, NULL, level);
		return 0;
	}
	for (uint32_t i = 0; i < type.member_count && s->rows < SHOW_ROWS_MOST && !s->no_memory;
		i++) {
		if (heap_show_has(types, &type.members[i]))
			heap_show_rows_add_member(s, &type.members[i], bits, level);
	}
	return 0;
}

/* What was asked for, if that is known, else what there is of it. */
static uint64_t room_of(const struct heap_page *page, uint32_t block)
{
	uint64_t usable = search_block_size(page->scan->search, block);
	const struct live_block *known =
		page->joined ? joined_find(page->joined,
				       search_block_address(page->scan->search, block), usable)
			     : NULL;
	return known && known->size < usable ? known->size : usable;
}

uint8_t *heap_show_read(
	struct show *show, uint32_t block, const struct heap_layout *layout, uint64_t offset)
{
	const struct heap_scan *scan = show->page->scan;
	uint64_t room = room_of(show->page, block);
	room = room > offset ? room - offset : 0;
	size_t wanted = (size_t)(room < BYTES_MOST ? room : BYTES_MOST);
	uint8_t *bytes = malloc(wanted + 1);
	if (bytes)
		show->values.len = address_space_read(scan->heap.space,
			search_block_address(scan->search, block) + offset, bytes, wanted);
	show->values.bytes = bytes;
	show->values.address = search_block_address(scan->search, block) + offset;
	show->values.size =
		layout->is_array || heap_show_is_pool(layout) ? UINT64_MAX : layout->size;
	return bytes;
}

struct heap_layout heap_show_layout(
	const struct show *show, const struct subtypes *subtypes, const struct heap_layout *layout)
{
	struct heap_layout own = *layout;
	const struct types *types = show->values.types;
	if (subtypes->layout != TYPE_VOID && layout->type != TYPE_VOID &&
		types_are_same(types, types_plain(types, layout->type),
			types_plain(types, subtypes->layout)))
		own.type = subtypes->layout;
	return own;
}

void heap_show_add_wide(
	struct heap_values *values, const struct heap_layout *layout, struct text *text)
{
	static const uint8_t nul[4] = {0};
	size_t at = (size_t)layout->header, unit = layout->unit, count = 0;
	while (at + (count + 1) * unit <= values->len &&
		memcmp(values->bytes + at + count * unit, nul, unit) != 0)
		count++;
	heap_values_add_wide_text(values, values->address + at, count, layout->unit, text);
}

bool heap_show_is_text(const struct show *s, const struct heap_layout *layout)
{
	const struct type *of =
		types_get(s->values.types, types_plain(s->values.types, layout->type));
	return heap_show_is_string(layout) ||
	       (layout->is_array && of->kind == TYPE_NUMBER && of->size == 1 &&
		       (of->encoding == TYPE_CHARACTER || of->encoding == TYPE_BYTE));
}

/* What lies in a pool, from the object on that was asked for. */
static uint64_t add_pool(struct show *s, uint64_t asked)
{
	const struct heap_scan *scan = s->page->scan;
	const struct pool *pool = pools_find(&scan->pools, s->block);
	const struct pool_object *objects = scan->pools.objects.data + pool->first;
	const struct pool_object *one = asked ? pools_object_at(scan, pool, asked) : NULL;
	size_t first = one ? (size_t)(one - objects) : 0, end = one ? first + 1 : pool->count;
	size_t i = first;
	for (; i < end && i - first < s->elements && s->rows < SHOW_ROWS_MOST && !s->no_memory;
		i++) {
		struct text name;
		text_init(&name);
		pools_add_name(scan, objects[i].type, &name);
		add_one(s, text_steal(&name), objects[i].type, 8 * objects[i].offset, NULL, 0);
	}
	add_more(s, end - i, 0);
	return end - i;
}

static void heap_show_rows_clear(struct show *s)
{
	for (size_t i = 0; i < s->members.len; i++)
		free(s->members.data[i].name);
	shown_members_clear(&s->members);
}

void heap_show_fill(struct show *show)
{
	struct show *s = show;
	const struct heap_layout *layout = &s->layout;
	heap_show_rows_clear(s);
	s->rows = 0;
	s->more = 0;
	if (heap_show_is_text(s, layout))
		return;
	if (layout->is_array)
		s->more = add_elements(s, layout->type, layout->count, 8 * layout->header, 0);
	else if (heap_show_is_pool(layout))
		s->more = add_pool(s, layout->header);
	else
		s->more = add_members(s, types_plain(s->values.types, layout->type), 0, 0);
}

void heap_show_deinit(struct show *show)
{
	heap_show_rows_clear(show);
	shown_members_deinit(&show->members);
	heap_contents_deinit(&show->held);
}
