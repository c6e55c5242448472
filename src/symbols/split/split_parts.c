/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See split_parts.h. The index: DWARF 5, 7.3.5.3. */
#include "symbols/split/split_parts.h"

#include <dwarf.h>

#define INDEX_HEADER_BYTES 16u /* of .debug_cu_index */
#define OLD_INDEX_VERSION 2u   /* that of GCC's extension */

static const char *const part_sections[SPLIT_PARTS] = {
	[SPLIT_INFO] = ".debug_info.dwo",
	[SPLIT_ABBREV] = ".debug_abbrev.dwo",
	[SPLIT_LINE] = ".debug_line.dwo",
	[SPLIT_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[SPLIT_RNGLISTS] = ".debug_rnglists.dwo",
};

struct split_bytes split_section(const struct object *object, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section(object, name, &header);
	if (section && header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		section = NULL;
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf)
		return (struct split_bytes){NULL, 0};
	return (struct split_bytes){data->d_buf, data->d_size};
}

/* Cuts the unit with the id out of what holds units one after another. An old one does not say it
 * here. */
static struct split_bytes find_unit(struct split_bytes info, uint64_t id, bool *ret_old)
{
	for (size_t at = 0; at < info.len;) {
		uint64_t len = split_number(info, at, 4);
		struct split_bytes unit = split_slice(info, at, len + 4);
		if (len >= 0xfffffff0 || unit.len < SPLIT_UNIT_HEADER_BYTES)
			break;
		uint64_t version = split_number(unit, 4, 2);
		*ret_old = version >= 2 && version <= 4;
		if (*ret_old || (version == 5 && split_number(unit, 6, 1) == DW_UT_split_compile &&
					split_number(unit, 12, 8) == id))
			return unit;
		at += unit.len;
	}
	return (struct split_bytes){NULL, 0};
}

/* The row of a unit in an index, from 1; 0: it is not there. */
static uint64_t index_row(struct split_bytes index, uint64_t units, uint64_t slots, uint64_t id)
{
	uint64_t mask = slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;
	for (uint64_t tries = 0; tries < slots; tries++) {
		uint64_t row = split_number(index, INDEX_HEADER_BYTES + slots * 8 + slot * 4, 4);
		if (!row || row > units)
			return 0;
		if (split_number(index, INDEX_HEADER_BYTES + slot * 8, 8) == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* Narrows parts of a package to what belongs to one unit. */
static bool split_parts_narrow(struct split_bytes index, uint64_t id, struct split_parts *parts)
{
	uint64_t columns = split_number(index, 4, 4), units = split_number(index, 8, 4),
		 slots = split_number(index, 12, 4);
	bool old = split_number(index, 0, 4) == OLD_INDEX_VERSION;
	if ((!old && split_number(index, 0, 2) != 5) || !slots || slots & (slots - 1) ||
		columns > 16 ||
		INDEX_HEADER_BYTES + slots * 12 + columns * 4 + units * columns * 8 > index.len)
		return false;
	uint64_t row = index_row(index, units, slots, id);
	if (!row)
		return false;
	size_t names = INDEX_HEADER_BYTES + slots * 12, offsets = names + columns * 4,
	       lengths = offsets + units * columns * 4;
	struct split_parts narrowed = {.strings = parts->strings};
	for (uint64_t column = 0; column < columns; column++) {
		uint64_t part = split_number(index, names + column * 4, 4);
		size_t at = ((row - 1) * columns + column) * 4;
		if (part < SPLIT_PARTS && !(old && part == SPLIT_RNGLISTS))
			narrowed.of[part] =
				split_slice(parts->of[part], split_number(index, offsets + at, 4),
					split_number(index, lengths + at, 4));
	}
	*parts = narrowed;
	return true;
}

bool split_parts_find(const struct object *object, uint64_t id, struct split_parts *ret)
{
	for (unsigned i = 0; i < SPLIT_PARTS; i++)
		if (part_sections[i])
			ret->of[i] = split_section(object, part_sections[i]);
	ret->strings = split_section(object, ".debug_str.dwo");
	struct split_bytes index = split_section(object, ".debug_cu_index");
	if (index.len && !split_parts_narrow(index, id, ret))
		return false;
	ret->of[SPLIT_INFO] = find_unit(ret->of[SPLIT_INFO], id, &ret->old);
	return ret->of[SPLIT_INFO].len && ret->of[SPLIT_ABBREV].len;
}
