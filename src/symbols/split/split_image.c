/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See split_image.h. A unit is copied the way that libdw reads by itself:
 *
 *	.debug_info         the unit                    from .debug_info.dwo
 *	.debug_abbrev       its abbreviations           from .debug_abbrev.dwo
 *	.debug_str_offsets  its table of strings        numbered anew:
 *	.debug_str          these strings alone         those of a .dwp are of all its units
 *	.debug_rnglists     its ranges                  with absolute addresses: their base, the
 *	                                                skeleton's address, is in the program
 *	.debug_line         its files                   from .debug_line.dwo
 *	.debug_addr         its addresses               from the program, at the skeleton's base
 *
 * Before DWARF 5 (GCC's extension of DWARF 4, https://gcc.gnu.org/wiki/DebugFission) the id is an
 * attribute of the unit, tables of strings and addresses have no headers, and ranges are in the
 * program: .debug_ranges, from the skeleton's base on, made absolute here too.
 */
#include "symbols/split/split_image.h"

#include <dwarf.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "symbols/split/split_ranges.h"

#define OLD_HEADER_BYTES 11u    /* DWARF 2 to 4, 32 bits */
#define OFFSETS_HEADER_BYTES 8u /* of .debug_str_offsets and .debug_addr */
#define STRING_BYTES_MAX (1u << 20)

/* Strings in the order of the table, which then counts anew. */
static void add_strings(struct image *image, const struct split_parts *parts)
{
	struct split_bytes table = parts->of[SPLIT_STR_OFFSETS], all = parts->strings;
	const size_t header = parts->old ? 0 : OFFSETS_HEADER_BYTES;
	_cleanup_(buf_deinit) struct buf strings;
	buf_init(&strings);
	if (header && (table.len < header || split_number(table, 4, 2) != 5))
		return;
	/* Another unit's may follow. */
	if (header)
		table = split_slice(
			table, 0, min((uint64_t)table.len, split_number(table, 0, 4) + 4));
	image_add(image, ".debug_str_offsets", table.data, min(table.len, header));
	for (size_t at = header; at + 4 <= table.len; at += 4) {
		uint64_t offset = split_number(table, at, 4);
		buf_u32(&image->bytes, (uint32_t)strings.len);
		size_t most =
			offset < all.len ? min(all.len - offset, (size_t)STRING_BYTES_MAX) : 0;
		const uint8_t *string = most ? all.data + offset : NULL;
		buf_bytes(&strings, string, string ? strnlen((const char *)string, most) : 0);
		buf_u8(&strings, 0);
	}
	image_add(image, ".debug_str", strings.data, strings.len);
	image->bytes.failed |= strings.failed;
}

/* The skeleton's addresses, from its base on. */
static struct split_bytes addresses_of(const struct object *source, Dwarf_Die *skeleton)
{
	struct split_bytes all = split_section(source, ".debug_addr");
	uint64_t base = split_base_of(skeleton, DW_AT_addr_base, OFFSETS_HEADER_BYTES);
	if (base < OFFSETS_HEADER_BYTES || base > all.len)
		return (struct split_bytes){NULL, 0};
	uint64_t table = split_number(all, base - OFFSETS_HEADER_BYTES, 4);
	return table < 4 ? (struct split_bytes){NULL, 0} : split_slice(all, base, table - 4);
}

/* An old skeleton's part of a section, from its base on to where another unit's begins. */
static struct split_bytes old_part(const struct object *source, const char *section, uint64_t base,
	const struct base_vec *bases)
{
	struct split_bytes all = split_section(source, section);
	return base > all.len
		       ? (struct split_bytes){NULL, 0}
		       : split_slice(all, base, split_bases_end(bases, base, all.len) - base);
}

static bool has_id(const Dwarf_Die *die, uint64_t id)
{
	uint8_t type;
	uint64_t unit_id;
	return dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, &unit_id, NULL, NULL) == 0 &&
	       type == DW_UT_split_compile && unit_id == id;
}

/* What the program has of a unit: ranges, if they are not in the unit's own file, and addresses. */
static void add_of_program(const struct split_wanted *wanted, const struct split_parts *parts)
{
	struct split_files *files = wanted->files;
	Dwarf_Addr low_pc = 0;
	struct split_bytes addresses;
	if (dwarf_lowpc(wanted->skeleton, &low_pc) != 0)
		low_pc = 0;
	if (parts->old) {
		uint64_t base = split_base_of(wanted->skeleton, DW_AT_GNU_ranges_base, 0);
		split_bases_read(&files->bases, dwarf_cu_getdwarf(wanted->skeleton->cu));
		split_add_old_ranges(wanted->image,
			old_part(files->source, ".debug_ranges", base, &files->bases.ranges),
			low_pc);
		base = split_base_of(wanted->skeleton, DW_AT_GNU_addr_base, 0);
		addresses = old_part(files->source, ".debug_addr", base, &files->bases.addresses);
	} else {
		addresses = addresses_of(files->source, wanted->skeleton);
		split_add_ranges(wanted->image, parts->of[SPLIT_RNGLISTS], addresses, low_pc);
	}
	if (addresses.len)
		image_add(wanted->image, ".debug_addr", addresses.data, addresses.len);
}

bool split_image_make(const struct split_wanted *wanted, const struct split_parts *parts)
{
	struct image *image = wanted->image;
	const struct split_bytes *of = parts->of;
	image_init(image);
	image_add(image, ".debug_info", of[SPLIT_INFO].data, of[SPLIT_INFO].len);
	image_add(image, ".debug_abbrev", of[SPLIT_ABBREV].data, of[SPLIT_ABBREV].len);
	add_strings(image, parts);
	if (of[SPLIT_LINE].len)
		image_add(image, ".debug_line", of[SPLIT_LINE].data, of[SPLIT_LINE].len);
	add_of_program(wanted, parts);
	Dwarf *dwarf = image_dwarf(image);
	size_t header = parts->old ? OLD_HEADER_BYTES : SPLIT_UNIT_HEADER_BYTES;
	if (dwarf && dwarf_offdie(dwarf, header, wanted->ret) && has_id(wanted->ret, wanted->id))
		return true;
	image_deinit(image);
	return false;
}
