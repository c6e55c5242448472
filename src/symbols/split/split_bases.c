/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/split/split_bases.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/util.h"

void split_bases_deinit(struct split_bases *bases)
{
	base_vec_deinit(&bases->addresses);
	base_vec_deinit(&bases->ranges);
}

uint64_t split_base_of(Dwarf_Die *skeleton, unsigned attribute, uint64_t missing)
{
	Dwarf_Attribute found;
	Dwarf_Word base;
	bool is_there =
		dwarf_attr(skeleton, attribute, &found) && dwarf_formudata(&found, &base) == 0;
	return is_there ? base : missing;
}

static int split_bases_compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static void split_bases_sort(struct base_vec *bases)
{
	if (bases->len)
		qsort(bases->data, bases->len, sizeof(*bases->data), split_bases_compare);
}

void split_bases_read(struct split_bases *bases, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die root;
	Dwarf_Half version;
	uint8_t type;
	bool room = !bases->read;
	bases->read = true;
	while (room && dwarf_get_units(dwarf, unit, &unit, &version, &type, &root, NULL) == 0)
		if (type == DW_UT_skeleton && version < 5)
			room = base_vec_push(&bases->addresses,
				       split_base_of(&root, DW_AT_GNU_addr_base, 0)) &&
			       base_vec_push(&bases->ranges,
				       split_base_of(&root, DW_AT_GNU_ranges_base, 0));
	split_bases_sort(&bases->addresses);
	split_bases_sort(&bases->ranges);
}

uint64_t split_bases_end(const struct base_vec *bases, uint64_t base, uint64_t most)
{
	size_t low = 0, high = bases->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (bases->data[middle] <= base)
			low = middle + 1;
		else
			high = middle;
	}
	return low < bases->len ? min(bases->data[low], most) : most;
}
