/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libdw (0.188) knows .dwo files beside a program and where they were compiled, and no .dwp. So a
 * unit that lies elsewhere is copied to an image of its own, the way that libdw reads by itself:
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
 * In a .dwo file these are whole sections, in a .dwp a part of each, which .debug_cu_index tells.
 *
 * Before DWARF 5 (GCC's extension of DWARF 4, https://gcc.gnu.org/wiki/DebugFission) the id is an
 * attribute of the unit, tables of strings and addresses have no headers, and ranges are in the
 * program: .debug_ranges, from the skeleton's base on, made absolute here too.
 */
#include "symbols/split.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "base/util.h"

#define UNIT_HEADER_BYTES 20u   /* DWARF 5, 32 bits, with the id */
#define OLD_HEADER_BYTES 11u    /* DWARF 2 to 4, 32 bits */
#define OFFSETS_HEADER_BYTES 8u /* of .debug_str_offsets and .debug_addr */
#define RANGES_HEADER_BYTES 12u /* of .debug_rnglists */
#define INDEX_HEADER_BYTES 16u  /* of .debug_cu_index */
#define OLD_INDEX_VERSION 2u    /* that of GCC's extension */
#define STRING_BYTES_MAX (1u << 20)

struct bytes {
	const uint8_t *data;
	size_t len;
};

/* What a unit needs, as numbered in an index (DWARF 5, 7.3.5.3); an old one has something else for
 * PART_RNGLISTS. */
enum part {
	PART_INFO = 1,
	PART_ABBREV = 3,
	PART_LINE,
	PART_STR_OFFSETS = 6,
	PART_RNGLISTS = 8,
	PARTS
};

static const char *const part_sections[PARTS] = {
	[PART_INFO] = ".debug_info.dwo",
	[PART_ABBREV] = ".debug_abbrev.dwo",
	[PART_LINE] = ".debug_line.dwo",
	[PART_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[PART_RNGLISTS] = ".debug_rnglists.dwo",
};

struct parts {
	struct bytes of[PARTS];
	struct bytes strings;
	bool old; /* before DWARF 5 */
};

static uint64_t number_at(struct bytes bytes, size_t at, size_t width)
{
	uint64_t value = 0;
	if (at > bytes.len || bytes.len - at < width)
		return 0;
	memcpy(&value, bytes.data + at, width);
	return value;
}

static struct bytes slice(struct bytes bytes, uint64_t start, uint64_t len)
{
	if (start > bytes.len || bytes.len - start < len)
		return (struct bytes){NULL, 0};
	return (struct bytes){bytes.data + start, len};
}

/* What is in a section, unpacked; nothing if there is none. */
static struct bytes section_bytes(const struct object *object, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section(object, name, &header);
	if (section && header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		section = NULL;
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf)
		return (struct bytes){NULL, 0};
	return (struct bytes){data->d_buf, data->d_size};
}

/* Cuts the unit with the id out of what holds units one behind the other. An old one does not say
 * it here. */
static struct bytes find_unit(struct bytes info, uint64_t id, bool *ret_old)
{
	for (size_t at = 0; at < info.len;) {
		uint64_t len = number_at(info, at, 4);
		struct bytes unit = slice(info, at, len + 4);
		if (len >= 0xfffffff0 || unit.len < UNIT_HEADER_BYTES)
			break;
		uint64_t version = number_at(unit, 4, 2);
		*ret_old = version >= 2 && version <= 4;
		if (*ret_old || (version == 5 && number_at(unit, 6, 1) == DW_UT_split_compile &&
					number_at(unit, 12, 8) == id))
			return unit;
		at += unit.len;
	}
	return (struct bytes){NULL, 0};
}

/* The row of a unit in an index, from 1; 0: it is not there. */
static uint64_t index_row(struct bytes index, uint64_t units, uint64_t slots, uint64_t id)
{
	uint64_t mask = slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;
	for (uint64_t tries = 0; tries < slots; tries++) {
		uint64_t row = number_at(index, INDEX_HEADER_BYTES + slots * 8 + slot * 4, 4);
		if (!row || row > units)
			return 0;
		if (number_at(index, INDEX_HEADER_BYTES + slot * 8, 8) == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* Narrows parts of a package to what belongs to one unit. */
static bool narrow(struct bytes index, uint64_t id, struct parts *parts)
{
	uint64_t columns = number_at(index, 4, 4), units = number_at(index, 8, 4),
		 slots = number_at(index, 12, 4);
	bool old = number_at(index, 0, 4) == OLD_INDEX_VERSION;
	if ((!old && number_at(index, 0, 2) != 5) || !slots || slots & (slots - 1) ||
		columns > 16 ||
		INDEX_HEADER_BYTES + slots * 12 + columns * 4 + units * columns * 8 > index.len)
		return false;
	uint64_t row = index_row(index, units, slots, id);
	if (!row)
		return false;
	size_t names = INDEX_HEADER_BYTES + slots * 12, offsets = names + columns * 4,
	       lengths = offsets + units * columns * 4;
	struct parts narrowed = {.strings = parts->strings};
	for (uint64_t column = 0; column < columns; column++) {
		uint64_t part = number_at(index, names + column * 4, 4);
		size_t at = ((row - 1) * columns + column) * 4;
		if (part < PARTS && !(old && part == PART_RNGLISTS))
			narrowed.of[part] =
				slice(parts->of[part], number_at(index, offsets + at, 4),
					number_at(index, lengths + at, 4));
	}
	*parts = narrowed;
	return true;
}

static bool find_parts(const struct object *object, uint64_t id, struct parts *ret)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (part_sections[i])
			ret->of[i] = section_bytes(object, part_sections[i]);
	ret->strings = section_bytes(object, ".debug_str.dwo");
	struct bytes index = section_bytes(object, ".debug_cu_index");
	if (index.len && !narrow(index, id, ret))
		return false;
	ret->of[PART_INFO] = find_unit(ret->of[PART_INFO], id, &ret->old);
	return ret->of[PART_INFO].len && ret->of[PART_ABBREV].len;
}

/* Strings in the order of the table, which then counts anew. */
static void add_strings(struct image *image, const struct parts *parts)
{
	struct bytes table = parts->of[PART_STR_OFFSETS], all = parts->strings;
	const size_t header = parts->old ? 0 : OFFSETS_HEADER_BYTES;
	_cleanup_(buf_deinit) struct buf strings;
	buf_init(&strings);
	if (header && (table.len < header || number_at(table, 4, 2) != 5))
		return;
	/* Another unit's may follow. */
	if (header)
		table = slice(table, 0, min((uint64_t)table.len, number_at(table, 0, 4) + 4));
	image_add(image, ".debug_str_offsets", table.data, min(table.len, header));
	for (size_t at = header; at + 4 <= table.len; at += 4) {
		uint64_t offset = number_at(table, at, 4);
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
static struct bytes addresses_of(const struct object *source, Dwarf_Die *skeleton)
{
	struct bytes all = section_bytes(source, ".debug_addr");
	uint64_t base = split_base_of(skeleton, DW_AT_addr_base, OFFSETS_HEADER_BYTES);
	if (base < OFFSETS_HEADER_BYTES || base > all.len)
		return (struct bytes){NULL, 0};
	uint64_t table = number_at(all, base - OFFSETS_HEADER_BYTES, 4);
	return table < 4 ? (struct bytes){NULL, 0} : slice(all, base, table - 4);
}

/* An old skeleton's part of a section, from its base on to where another unit's begins. */
static struct bytes old_part(const struct object *source, const char *section, uint64_t base,
	const struct base_vec *bases)
{
	struct bytes all = section_bytes(source, section);
	return base > all.len ? (struct bytes){NULL, 0}
			      : slice(all, base, split_bases_end(bases, base, all.len) - base);
}

struct list {
	struct bytes bytes, addresses;
	size_t at;
	bool bad;
};

static uint64_t list_number(struct list *list)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (list->at >= list->bytes.len)
			break;
		uint8_t byte = list->bytes.data[list->at++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	list->bad = true;
	return 0;
}

static uint64_t list_address(struct list *list)
{
	uint64_t value = number_at(list->bytes, list->at, 8);
	list->bad |= list->bytes.len - list->at < 8;
	list->at += list->bad ? 0 : 8;
	return value;
}

static uint64_t list_addressx(struct list *list)
{
	uint64_t index = list_number(list);
	list->bad |= index >= list->addresses.len / 8;
	return list->bad ? 0 : number_at(list->addresses, index * 8, 8);
}

/* Writes a list of ranges with whole addresses (DWARF 5, 2.17.3). */
static void add_list(struct buf *out, struct list *list, uint64_t base)
{
	while (!list->bad && list->at < list->bytes.len) {
		uint64_t low, high;
		switch (list->bytes.data[list->at++]) {
		case DW_RLE_base_addressx:
			base = list_addressx(list);
			continue;
		case DW_RLE_base_address:
			base = list_address(list);
			continue;
		case DW_RLE_startx_endx:
			low = list_addressx(list);
			high = list_addressx(list);
			break;
		case DW_RLE_startx_length:
			low = list_addressx(list);
			high = low + list_number(list);
			break;
		case DW_RLE_offset_pair:
			low = base + list_number(list);
			high = base + list_number(list);
			break;
		case DW_RLE_start_end:
			low = list_address(list);
			high = list_address(list);
			break;
		case DW_RLE_start_length:
			low = list_address(list);
			high = low + list_number(list);
			break;
		default: /* the end, or nothing that is known */
			list->bad = true;
			continue;
		}
		if (list->bad)
			break;
		buf_u8(out, DW_RLE_start_end);
		buf_u64(out, low);
		buf_u64(out, high);
	}
	buf_u8(out, DW_RLE_end_of_list);
}

static void add_ranges(
	struct image *image, struct bytes table, struct bytes addresses, uint64_t base)
{
	uint64_t count = number_at(table, 8, 4);
	if (table.len < RANGES_HEADER_BYTES || number_at(table, 4, 2) != 5 ||
		count > (table.len - RANGES_HEADER_BYTES) / 4)
		return;
	struct bytes lists = slice(table, RANGES_HEADER_BYTES, table.len - RANGES_HEADER_BYTES);
	_cleanup_(buf_deinit) struct buf offsets;
	_cleanup_(buf_deinit) struct buf out;
	buf_init(&offsets);
	buf_init(&out);
	for (uint64_t i = 0; i < count; i++) {
		buf_u32(&offsets, (uint32_t)(count * 4 + out.len));
		struct list list = {
			.bytes = lists, .addresses = addresses, .at = number_at(lists, i * 4, 4)};
		list.bad = list.at > lists.len;
		add_list(&out, &list, base);
	}
	image_begin(image, ".debug_rnglists");
	buf_u32(&image->bytes, (uint32_t)(RANGES_HEADER_BYTES - 4 + offsets.len + out.len));
	buf_bytes(&image->bytes, table.data + 4, RANGES_HEADER_BYTES - 4);
	buf_bytes(&image->bytes, offsets.data, offsets.len);
	buf_bytes(&image->bytes, out.data, out.len);
	image->bytes.failed |= offsets.failed || out.failed;
}

/* Pairs of addresses, up to one of zeros; the base is added unless the list has its own. */
static void add_old_ranges(struct image *image, struct bytes table, uint64_t base)
{
	bool own = false;
	image_begin(image, ".debug_ranges");
	for (size_t at = 0; at + 16 <= table.len; at += 16) {
		uint64_t low = number_at(table, at, 8), high = number_at(table, at + 8, 8);
		bool is_end = !low && !high, is_base = low == UINT64_MAX;
		uint64_t add = is_end || is_base || own ? 0 : base;
		own = (own || is_base) && !is_end;
		buf_u64(&image->bytes, low + add);
		buf_u64(&image->bytes, high + add);
	}
}

static bool has_id(const Dwarf_Die *die, uint64_t id)
{
	uint8_t type;
	uint64_t unit_id;
	return dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, &unit_id, NULL, NULL) == 0 &&
	       type == DW_UT_split_compile && unit_id == id;
}

struct wanted {
	struct split_files *files;
	Dwarf_Die *skeleton;
	uint64_t id;
	struct image *image;
	Dwarf_Die *ret;
};

/* What the program has of a unit: ranges, if they are not in the unit's own file, and addresses. */
static void add_of_program(const struct wanted *wanted, const struct parts *parts)
{
	struct split_files *files = wanted->files;
	Dwarf_Addr low_pc = 0;
	struct bytes addresses;
	if (dwarf_lowpc(wanted->skeleton, &low_pc) != 0)
		low_pc = 0;
	if (parts->old) {
		uint64_t base = split_base_of(wanted->skeleton, DW_AT_GNU_ranges_base, 0);
		split_bases_read(&files->bases, dwarf_cu_getdwarf(wanted->skeleton->cu));
		add_old_ranges(wanted->image,
			old_part(files->source, ".debug_ranges", base, &files->bases.ranges),
			low_pc);
		base = split_base_of(wanted->skeleton, DW_AT_GNU_addr_base, 0);
		addresses = old_part(files->source, ".debug_addr", base, &files->bases.addresses);
	} else {
		addresses = addresses_of(files->source, wanted->skeleton);
		add_ranges(wanted->image, parts->of[PART_RNGLISTS], addresses, low_pc);
	}
	if (addresses.len)
		image_add(wanted->image, ".debug_addr", addresses.data, addresses.len);
}

/* Copies a unit; false: it is damaged, or another one. */
static bool make_image(const struct wanted *wanted, const struct parts *parts)
{
	struct image *image = wanted->image;
	const struct bytes *of = parts->of;
	image_init(image);
	image_add(image, ".debug_info", of[PART_INFO].data, of[PART_INFO].len);
	image_add(image, ".debug_abbrev", of[PART_ABBREV].data, of[PART_ABBREV].len);
	add_strings(image, parts);
	if (of[PART_LINE].len)
		image_add(image, ".debug_line", of[PART_LINE].data, of[PART_LINE].len);
	add_of_program(wanted, parts);
	Dwarf *dwarf = image_dwarf(image);
	size_t header = parts->old ? OLD_HEADER_BYTES : UNIT_HEADER_BYTES;
	if (dwarf && dwarf_offdie(dwarf, header, wanted->ret) && has_id(wanted->ret, wanted->id))
		return true;
	image_deinit(image);
	return false;
}

static bool take_from(const struct wanted *wanted, const struct object *object)
{
	struct parts parts = {.old = false};
	return find_parts(object, wanted->id, &parts) && make_image(wanted, &parts);
}

static bool try_file(const struct wanted *wanted, const char *path)
{
	_cleanup_(object_cleanup) struct object *object = path ? object_open(path) : NULL;
	if (!object || !object_is_whole(object) || !take_from(wanted, object))
		return false;
	/* What is not noted will only be missing from a bundle. */
	struct split_file used = {.path = strdup(path), .id = wanted->id};
	if (!used.path || !split_file_vec_push(&wanted->files->used, used))
		free(used.path);
	return true;
}

/* FIRST/SECOND as it is on this machine. */
__attribute__((format(printf, 1, 2))) static char *path_of(const char *format, ...)
{
	char *path;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&path, format, args);
	va_end(args);
	return len < 0 ? NULL : path;
}

static bool try_here(const struct wanted *wanted, const char *folder, const char *name)
{
	_cleanup_free_ char *path = path_of("%s/%s", folder, name);
	return try_file(wanted, path);
}

static bool try_recorded(const struct wanted *wanted, const char *folder, const char *name)
{
	_cleanup_free_ char *path = name[0] == '/' ? strdup(name) : path_of("%s/%s", folder, name);
	_cleanup_free_ char *located =
		path ? symbols_settings_locate(wanted->files->settings, path) : NULL;
	return try_file(wanted, located);
}

static bool find_file(const struct wanted *wanted)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr(wanted->skeleton, DW_AT_dwo_name, &attribute));
	if (!name)
		name = dwarf_formstring(
			dwarf_attr(wanted->skeleton, DW_AT_GNU_dwo_name, &attribute));
	const char *folder =
		dwarf_formstring(dwarf_attr(wanted->skeleton, DW_AT_comp_dir, &attribute));
	if (!name || !name[0])
		return false;
	folder = folder ? folder : "";
	const struct split_files *files = wanted->files;
	const char *path = files->source->path;
	_cleanup_free_ char *beside = strndup(path, (size_t)(path_last_part(path) - path));
	if (!beside)
		return false;
	char by_id[32]; /* as bundles have them */
	snprintf(by_id, sizeof(by_id), ".dwo/%016" PRIx64 ".dwo", wanted->id);
	bool found = try_here(wanted, beside[0] ? beside : ".", path_last_part(name)) ||
		     try_recorded(wanted, folder, name);
	for (size_t i = 0; i < files->settings->paths.len && !found; i++) {
		const char *store = files->settings->paths.data[i];
		_cleanup_free_ char *whole = path_of("%s/%s", store, folder);
		found = try_here(wanted, store, by_id) || try_here(wanted, store, name) ||
			try_here(wanted, store, path_last_part(name)) ||
			(whole && try_here(wanted, whole, name));
	}
	return found;
}

static void add_package(struct split_files *files, const char *path)
{
	_cleanup_(object_cleanup) struct object *object = path ? object_open(path) : NULL;
	if (object && object_is_whole(object) && object_vec_push(&files->packages, object))
		(void)steal_ptr(object);
}

/* PROGRAM.dwp beside the program or its debug file, and in the folders that the user names. */
static void open_packages(struct split_files *files)
{
	files->has_packages = true;
	_cleanup_free_ char *beside = path_of("%s.dwp", files->source->path);
	add_package(files, beside);
	_cleanup_free_ char *recorded = path_of("%s.dwp", files->module_path);
	_cleanup_free_ char *located =
		recorded ? symbols_settings_locate(files->settings, recorded) : NULL;
	if (beside && located && strcmp(beside, located) != 0)
		add_package(files, located);
	for (size_t i = 0; i < files->settings->paths.len; i++) {
		_cleanup_free_ char *path = path_of("%s/%s.dwp", files->settings->paths.data[i],
			path_last_part(files->module_path));
		add_package(files, path);
	}
}

bool split_open(struct split_files *files, Dwarf_Die *skeleton, uint64_t id,
	struct image *ret_image, Dwarf_Die *ret)
{
	const struct wanted wanted = {files, skeleton, id, ret_image, ret};
	if (!files->has_packages)
		open_packages(files);
	bool found = false;
	for (size_t i = 0; i < files->packages.len && !found; i++)
		found = take_from(&wanted, files->packages.data[i]);
	if (!found)
		found = find_file(&wanted);
	return found;
}

void split_files_init(struct split_files *files, const struct symbols_settings *settings,
	const struct object *source, const char *module_path)
{
	*files = (struct split_files){
		.settings = settings, .source = source, .module_path = module_path};
	object_vec_init(&files->packages);
	split_file_vec_init(&files->used);
}

void split_files_deinit(struct split_files *files)
{
	for (size_t i = 0; i < files->packages.len; i++)
		object_close(files->packages.data[i]);
	object_vec_deinit(&files->packages);
	split_bases_deinit(&files->bases);
	for (size_t i = 0; i < files->used.len; i++)
		free(files->used.data[i].path);
	split_file_vec_deinit(&files->used);
}
