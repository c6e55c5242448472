/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading debug information is what a report would spend its time on, so as little as possible is
 * read: .debug_aranges leads to the unit; only if it does not know the address (clang writes none)
 * the root DIEs of all units are read, once. In a unit, a table of its functions' ranges is made:
 * first from the outer level and namespaces, stepping over everything else, then, for an address
 * not found there (nested functions), from all of it.
 *
 * dwarf_addrdie and dwarf_getscopes of libdw walk a unit from its start for every address.
 */
#include "symbols/types/unit_index.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/util.h"

/* Deeper nesting is no program's. */
#define DIE_DEPTH_MAX 200u

bool die_child(Dwarf_Die *parent, Dwarf_Die *ret)
{
	return dwarf_child(parent, ret) == 0;
}

bool die_next(Dwarf_Die *die)
{
	Dwarf_Die next;
	if (dwarf_siblingof(die, &next) != 0 || (char *)next.addr <= (char *)die->addr)
		return false;
	*die = next;
	return true;
}

void unit_index_init(struct unit_index *index, Dwarf *dwarf, const struct split_files *split)
{
	*index = (struct unit_index){.dwarf = dwarf, .split = *split};
	unit_map_init(&index->units);
	die_range_vec_init(&index->ranges);
	size_t count;
	if (dwarf_getaranges(dwarf, &index->aranges, &count) != 0)
		index->aranges = NULL;
}

void unit_index_deinit(struct unit_index *index)
{
	uint32_t position = 0;
	for (struct unit **unit; (unit = unit_map_next(&index->units, &position, NULL));) {
		if (*unit) {
			die_range_vec_deinit(&(*unit)->functions);
			image_deinit(&(*unit)->image);
		}
		free(*unit);
	}
	unit_map_deinit(&index->units);
	die_range_vec_deinit(&index->ranges);
	if (index->dwarf)
		split_files_deinit(&index->split);
}

/* Adds the code of a DIE. What was dropped at link time often remains as ranges from 0. */
static struct error *add_ranges(struct die_range_vec *ranges, Dwarf_Die *die)
{
	Dwarf_Addr base = 0, low, high;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
		struct die_range range = {.low = low, .high = high, .die = *die};
		if (low != 0 && low < high && !die_range_vec_push(ranges, range))
			return error_no_memory();
	}
	return NULL;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct die_range *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	/* The shorter one last, which is found first. */
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return (char *)a->die.addr < (char *)b->die.addr ? -1 : 1;
}

static void sort_ranges(struct die_range_vec *ranges)
{
	if (ranges->len)
		qsort(ranges->data, ranges->len, sizeof(*ranges->data), compare_ranges);
	uint64_t reach = 0;
	for (size_t i = 0; i < ranges->len; i++)
		ranges->data[i].reach = reach = max(reach, ranges->data[i].high);
}

/* The range with the highest start that holds the address; NULL: none. */
static struct die_range *find_range(const struct die_range_vec *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->data[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && ranges->data[i - 1].reach > address; i--)
		if (ranges->data[i - 1].high > address)
			return &ranges->data[i - 1];
	return NULL;
}

/* libdw goes by the paths in the file, which are another machine's below a system root. */
static bool split_by_libdw(const struct unit_index *index, Dwarf_Die *root, Dwarf_Die *ret)
{
	return !index->split.settings->sysroot && !index->split.settings->own_split &&
	       dwarf_cu_info(root->cu, NULL, NULL, NULL, ret, NULL, NULL, NULL) == 0 && ret->addr;
}

/* Finds what a skeleton stands for. */
static void find_split(struct unit_index *index, struct unit *unit, uint64_t id)
{
	Dwarf_Die die = {.addr = NULL};
	bool found = split_by_libdw(index, &unit->skeleton, &die) ||
		     split_open(&index->split, &unit->skeleton, id, &unit->image, &die);
	index->split.found += found;
	index->split.missing += !found;
	if (found)
		unit->die = die;
}

/* The unit with that root DIE; NULL in *ret if it holds no code. */
static struct error *open_unit(struct unit_index *index, Dwarf_Die *root, struct unit **ret)
{
	bool is_new;
	struct unit **unit = unit_map_insert(&index->units, dwarf_dieoffset(root), &is_new);
	if (!unit)
		return error_no_memory();
	uint8_t type;
	uint64_t id = 0;
	if (is_new && root->cu &&
		dwarf_cu_info(root->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) == 0) {
		*unit = calloc(1, sizeof(**unit));
		if (!*unit)
			return error_no_memory();
		**unit = (struct unit){.die = *root, .skeleton = *root};
		die_range_vec_init(&(*unit)->functions);
		if (type == DW_UT_skeleton)
			find_split(index, *unit, id);
	}
	*ret = *unit;
	return NULL;
}

static struct error *scan_units(struct unit_index *index)
{
	index->scanned = true;
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die root;
	while (dwarf_get_units(index->dwarf, cu, &cu, &version, &type, &root, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		struct error *error = add_ranges(&index->ranges, &root);
		if (error)
			return error;
	}
	sort_ranges(&index->ranges);
	return NULL;
}

struct error *unit_index_find(struct unit_index *index, uint64_t address, struct unit **ret)
{
	*ret = NULL;
	Dwarf_Arange *arange =
		index->aranges ? dwarf_getarange_addr(index->aranges, address) : NULL;
	Dwarf_Off offset;
	Dwarf_Die root;
	if (arange && dwarf_getarangeinfo(arange, NULL, NULL, &offset) == 0 &&
		dwarf_offdie(index->dwarf, offset, &root))
		return open_unit(index, &root, ret);
	if (!index->scanned) {
		struct error *error = scan_units(index);
		if (error)
			return error;
	}
	struct die_range *range = find_range(&index->ranges, address);
	return range ? open_unit(index, &range->die, ret) : NULL;
}

static struct error *each_of(struct unit_index *index, Dwarf *dwarf,
	bool (*take)(void *context, Dwarf_Die *unit), void *context)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die root;
	while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &root, NULL) == 0) {
		struct unit *unit = NULL;
		struct error *error =
			type == DW_UT_skeleton ? open_unit(index, &root, &unit) : NULL;
		if (error)
			return error;
		if (!take(context, unit ? &unit->die : &root))
			return error_no_memory();
	}
	return NULL;
}

struct error *unit_index_each(
	struct unit_index *index, bool (*take)(void *context, Dwarf_Die *unit), void *context)
{
	struct error *error = each_of(index, index->dwarf, take, context);
	Dwarf *shared = error ? NULL : dwarf_getalt(index->dwarf);
	return shared ? each_of(index, shared, take, context) : error;
}

static bool holds_functions(int tag, enum unit_depth depth)
{
	return depth == UNIT_ALL || tag == DW_TAG_namespace || tag == DW_TAG_module;
}

static struct error *unit_index_collect(
	struct die_range_vec *functions, Dwarf_Die *parent, enum unit_depth depth, unsigned level)
{
	Dwarf_Die die;
	if (level > DIE_DEPTH_MAX)
		return NULL;
	for (bool ok = die_child(parent, &die); ok; ok = die_next(&die)) {
		int tag = dwarf_tag(&die);
		struct error *error = NULL;
		if (tag == DW_TAG_subprogram)
			error = add_ranges(functions, &die);
		if (!error && holds_functions(tag, depth))
			error = unit_index_collect(functions, &die, depth, level + 1);
		if (error)
			return error;
	}
	return NULL;
}

struct error *unit_function(struct unit *unit, uint64_t address, const Dwarf_Die **ret)
{
	*ret = NULL;
	for (;;) {
		struct die_range *range = find_range(&unit->functions, address);
		if (range)
			*ret = &range->die;
		if (range || unit->depth == UNIT_ALL)
			return NULL;
		unit->depth++;
		die_range_vec_clear(&unit->functions);
		struct error *error =
			unit_index_collect(&unit->functions, &unit->die, unit->depth, 0);
		if (error)
			return error;
		sort_ranges(&unit->functions);
	}
}
