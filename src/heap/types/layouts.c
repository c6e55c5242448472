/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/layouts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/heap_scan.h"
#include "heap/limits.h"
#include "heap/types/virtual_bases.h"

void heap_layouts_close(struct heap_layouts *layouts)
{
	plain_names_deinit(&layouts->names);
	if (layouts->has_names)
		arena_deinit(&layouts->arena);
	layouts->has_names = false;
}

static bool take_name(void *context, const char *name)
{
	struct heap_layouts *layouts = context;
	if (!strchr(name, '<'))
		return true;
	_cleanup_(text_deinit) struct text plain;
	text_init(&plain);
	cxx_add_plain_name(&plain, name);
	struct plain_name fresh = {
		plain.data ? arena_strdup(&layouts->arena, plain.data) : NULL, name};
	return fresh.plain && plain_names_push(&layouts->names, fresh);
}

static int by_plain(const void *a, const void *b)
{
	const struct plain_name *x = a, *y = b;
	int order = strcmp(x->plain, y->plain);
	return order ? order : strcmp(x->whole, y->whole);
}

static void make_names(struct heap_layouts *layouts)
{
	if (layouts->has_names)
		return;
	layouts->has_names = true;
	arena_init(&layouts->arena);
	types_each_name(layouts->types, take_name, layouts);
	if (layouts->names.len)
		qsort(layouts->names.data, layouts->names.len, sizeof(*layouts->names.data),
			by_plain);
}

static bool layouts_fits(struct heap_layouts *layouts, uint32_t type, uint64_t usable)
{
	uint64_t size = types_get(layouts->types, type)->size;
	return type != TYPE_VOID && size && size <= usable;
}

/* Of several that are shown alike, the largest is the one that the block was made for. */
uint32_t heap_layouts_find(struct heap_layouts *layouts, const char *plain, uint64_t usable)
{
	uint32_t best = types_find(layouts->types, plain);
	if (layouts_fits(layouts, best, usable))
		return best;
	best = TYPE_VOID;
	/* Without arguments a name is the same in both, but for "shared_ptr control block of". */
	if (!strchr(plain, '<') && !strchr(plain, ' '))
		return best;
	make_names(layouts);
	struct plain_name *all = layouts->names.data;
	size_t low = 0, high = layouts->names.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(all[middle].plain, plain) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	uint64_t most = 0;
	for (; low < layouts->names.len && !strcmp(all[low].plain, plain); low++) {
		uint32_t type = types_find(layouts->types, all[low].whole);
		uint64_t size = types_get(layouts->types, type)->size;
		if (!layouts_fits(layouts, type, usable) || size <= most)
			continue;
		best = type;
		most = size;
	}
	return best;
}

void heap_layouts_of_class(struct heap_scan *scan, uint32_t class)
{
	uint32_t number = scan->types.of_shape[class];
	struct heap_type *type = number == HEAP_TYPE_NONE ? NULL : &scan->types.types.data[number];
	const struct heap_shape *of = &scan->classes.classes.data[class];
	if (type && type->kind == HEAP_TYPE_CXX && type->layout == TYPE_VOID)
		type->layout = virtual_bases_place(scan->layouts.types, scan->heap.space,
			heap_layouts_find(&scan->layouts, type->name, of->key.size), of->example);
}

static void lay_out_objects(struct heap_scan *scan)
{
	for (uint32_t class = 0; class < scan->types.shape_count; class ++)
		heap_layouts_of_class(scan, class);
}

struct error *heap_layouts_open(struct heap_scan *scan, bool *ret_any)
{
	struct heap_layouts *layouts = &scan->layouts;
	struct error *error = NULL;
	if (!layouts->has_all) {
		layouts->has_all = true;
		error = heap_names_all_types(
			scan->names, scan->heap.space, &layouts->types, &layouts->has_any);
		if (!error && layouts->types && types_are_cut(layouts->types))
			heap_limit_reach(scan, REACHED_TYPE_ENTRIES);
		if (!error)
			lay_out_objects(scan);
	}
	*ret_any = layouts->has_any;
	return error;
}

/* Of how many elements an array is: as it says, or as many as there is room for. */
static uint64_t count_of(const struct heap_scan *scan, uint32_t block,
	const struct heap_layout *layout, uint64_t usable)
{
	uint64_t room = usable > layout->header ? (usable - layout->header) / layout->size : 0,
		 counted;
	uint64_t address = search_block_address(scan->search, block) + layout->header - 8;
	bool is_plausible = layout->header >= 8 &&
			    address_space_word(scan->heap.space, address, &counted) &&
			    counted < room;
	return is_plausible ? counted : room;
}

bool heap_layout_of(const struct heap_scan *scan, uint32_t block, struct heap_layout *ret)
{
	const struct heap_type *type = &scan->types.types.data[heap_scan_type_of(scan, block)];
	uint64_t usable = search_block_size(scan->search, block);
	*ret = (struct heap_layout){.type = TYPE_VOID};
	if (!scan->layouts.types || type->layout == TYPE_VOID)
		return false;
	uint64_t size = types_get(scan->layouts.types, type->layout)->size;
	if (!size || size > usable)
		return false;
	*ret = (struct heap_layout){.type = type->layout,
		.size = size,
		.count = 1,
		.is_array = type->is_array,
		.header = type->header,
		.after = type->has_more ? usable - size : 0};
	if (type->is_array)
		ret->count = count_of(scan, block, ret, usable);
	const struct vector_end *end = heap_types_vector_end(&scan->types, block);
	if (end && ret->is_array && !ret->header && end->end % size == 0) {
		ret->room = end->room / size;
		ret->count = end->end / size;
	}
	return true;
}

void heap_layout_add_extent(const struct heap_layout *layout, struct text *text)
{
	const char *plural = layout->count == 1 ? "" : "s";
	if (layout->is_array && layout->size > 1)
		text_printf(text, ", %s%" PRIu64 " element%s",
			layout->header || layout->room ? "" : "room for ", layout->count, plural);
	if (layout->is_array && layout->room)
		text_printf(text, ", room for %" PRIu64, layout->room);
	if (layout->after)
		text_printf(text, ", of these %" PRIu64 " bytes after the object", layout->after);
}

bool heap_layouts_global(const struct heap_scan *scan, uint64_t address, struct heap_global *ret)
{
	const struct address_module *module = address_space_module(scan->heap.space, address);
	uint32_t number;
	*ret = (struct heap_global){.start = 0};
	if (!module || !scan->layouts.types || !heap_names_symbols(scan->names, module, &number))
		return false;
	types_variable(scan->layouts.types, number, address - module->bias, &ret->variable);
	ret->start = ret->variable.start + module->bias;
	ret->offset = address - ret->start;
	return ret->variable.name != NULL;
}

/* A member of the elements that are after a structure: "items[3].name". */
static void add_open_end(
	struct types *types, const struct heap_layout *layout, uint64_t offset, struct text *text)
{
	uint32_t element;
	uint64_t at;
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	struct types_place place;
	bool is_open = types_open_end(types, layout->type, &element, &at, &path);
	uint64_t size = types_get(types, element)->size;
	if (!is_open || !size || offset < at)
		return;
	text_printf(&path, "[%" PRIu64 "]", (offset - at) / size);
	types_locate(types, element, (offset - at) % size, &place, &path);
	text_add_shown(text, path.data ? path.data : "", 200);
}

void heap_layout_add_member(const struct heap_scan *scan, const struct heap_layout *layout,
	uint64_t offset, struct text *text)
{
	if (offset < layout->header) {
		text_add(text, offset + 8 >= layout->header ? "(number of elements)" : "");
		return;
	}
	offset -= layout->header;
	uint64_t element = offset / layout->size;
	if (element >= layout->count && !layout->is_array)
		add_open_end(scan->layouts.types, layout, offset, text);
	if (element >= layout->count && layout->room)
		text_add(text, "(after the vector's end)");
	if (element >= layout->count)
		return;
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	struct types_place place;
	types_locate(scan->layouts.types, layout->type, offset % layout->size, &place, &path);
	if (layout->is_array)
		text_printf(text, "[%llu]%s", (unsigned long long)element, path.len ? "." : "");
	if (path.len)
		text_add_shown(text, path.data, 200);
	else if (!layout->is_array)
		add_open_end(scan->layouts.types, layout, offset, text);
}
