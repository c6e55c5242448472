/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See inner_names.h. Functions are distinguished by the table of .eh_frame_hdr, which has where
 * each begins; a branch counts only if it leads to such a beginning, outside the function that it
 * is in.
 */
#include "symbols/names/inner_names.h"

#include <string.h>

#include "base/util.h"

/* How a table of .eh_frame_hdr is written: pointers in 4 bytes, from where they are; a count in
 * 4; pairs of 4, from the header's beginning (LSB 5.0, 10.6.2). */
static const uint8_t usual_table[] = {1, 0x1b, 0x03, 0x3b};
#define TABLE_OFFSET 12u
/* Exported functions are short. */
#define CODE_BYTES_MOST 4096u

static const struct inner {
	const char *exported;
	bool calls; /* it calls the function; else it ends with a jump to it */
	const char *name;
} inners[] = {
	{"localtime", false, "__tz_convert"},
	{"localtime_r", false, "__tz_convert"},
	{"tzset", true, "tzset_internal"},
	{"setenv", false, "__add_to_environ"},
	{"__nss_database_get", false, "nss_database_check_reload_and_get"},
	{"gettext", false, "__dcigettext"},
	{"dcgettext", false, "__dcigettext"},
	{"dcngettext", false, "__dcigettext"},
};

/* What a file has at an address. */
static const uint8_t *bytes_at(Elf *elf, uint64_t address, size_t len)
{
	size_t count = 0;
	if (elf_getphdrnum(elf, &count) != 0)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr part;
		if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_LOAD ||
			address < part.p_vaddr || len > part.p_filesz ||
			address - part.p_vaddr > part.p_filesz - len)
			continue;
		Elf_Data *data = elf_getdata_rawchunk(
			elf, (int64_t)(part.p_offset + (address - part.p_vaddr)), len, ELF_T_BYTE);
		return data && data->d_size == len ? data->d_buf : NULL;
	}
	return NULL;
}

/* Where functions begin, in order. */
struct beginnings {
	const uint8_t *pairs; /* NULL: unknown */
	uint64_t base;
	size_t count;
};

static int32_t read_offset(const uint8_t *at)
{
	int32_t offset;
	memcpy(&offset, at, sizeof(offset));
	return offset;
}

static struct beginnings find_beginnings(Elf *elf)
{
	struct beginnings found = {.pairs = NULL};
	size_t count = 0;
	if (elf_getphdrnum(elf, &count) != 0)
		return found;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr part;
		if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_GNU_EH_FRAME ||
			part.p_filesz < TABLE_OFFSET)
			continue;
		const uint8_t *bytes = bytes_at(elf, part.p_vaddr, part.p_filesz);
		if (!bytes || memcmp(bytes, usual_table, sizeof(usual_table)) != 0)
			continue;
		uint32_t pairs;
		memcpy(&pairs, bytes + 8, sizeof(pairs));
		found.base = part.p_vaddr;
		found.count = min((size_t)pairs, (part.p_filesz - TABLE_OFFSET) / 8);
		found.pairs = bytes + TABLE_OFFSET;
	}
	return found;
}

static uint64_t inner_names_beginning(const struct beginnings *all, size_t i)
{
	return all->base + (uint64_t)(int64_t)read_offset(all->pairs + 8 * i);
}

/* Sets the range of the function that begins at an address; false: none does. */
static bool find_range(const struct beginnings *all, uint64_t address, struct inner_range *ret)
{
	size_t low = 0, high = all->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (inner_names_beginning(all, middle) < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low + 1 >= all->count || inner_names_beginning(all, low) != address)
		return false;
	ret->start = address;
	ret->end = inner_names_beginning(all, low + 1);
	return ret->start < ret->end;
}

/* Where a branch at an offset leads: a jump, or a call; false: there is none. */
static bool branch_at(uint16_t machine, const uint8_t *code, size_t len, size_t at, bool calls,
	int64_t *ret_from_start)
{
	if (machine == EM_X86_64) {
		if (len - at < 5 || code[at] != (calls ? 0xe8 : 0xe9))
			return false;
		*ret_from_start = (int64_t)at + 5 + read_offset(code + at + 1);
		return true;
	}
	uint32_t word;
	if (machine != EM_AARCH64 || at % 4 || len - at < 4)
		return false;
	memcpy(&word, code + at, sizeof(word));
	if (word >> 26 != (calls ? 0x25u : 0x05u))
		return false;
	int64_t steps = word & 0x3ffffff;
	*ret_from_start = (int64_t)at + 4 * (steps & 0x2000000 ? steps - 0x4000000 : steps);
	return true;
}

static void inner_names_add_range(struct inner_names *names, struct inner_range range)
{
	for (size_t i = 0; i < names->count; i++)
		if (names->ranges[i].start == range.start)
			return;
	if (names->count < INNER_NAMES_MOST)
		names->ranges[names->count++] = range;
}

static void add_targets(Elf *elf, uint16_t machine, const struct beginnings *all,
	const struct inner *inner, const GElf_Sym *symbol, struct inner_names *ret)
{
	size_t len = min(symbol->st_size, (uint64_t)CODE_BYTES_MOST);
	const uint8_t *code = len ? bytes_at(elf, symbol->st_value, len) : NULL;
	for (size_t at = 0; code && at < len; at++) {
		int64_t to;
		struct inner_range range = {.name = inner->name};
		if (!branch_at(machine, code, len, at, inner->calls, &to) ||
			(to >= 0 && (uint64_t)to < symbol->st_size))
			continue;
		if (find_range(all, symbol->st_value + (uint64_t)to, &range))
			inner_names_add_range(ret, range);
	}
}

void inner_names_read(const struct object *libc, struct inner_names *ret)
{
	GElf_Shdr header;
	GElf_Ehdr file;
	ret->count = 0;
	Elf_Scn *section = object_section_of_type(libc, SHT_DYNSYM, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	struct beginnings all = find_beginnings(libc->elf);
	if (!data || !all.pairs || !gelf_getehdr(libc->elf, &file) ||
		file.e_ident[EI_DATA] != ELFDATA2LSB)
		return;
	GElf_Sym symbol;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(libc->elf, header.sh_link, symbol.st_name);
		if (!name || symbol.st_shndx == SHN_UNDEF ||
			GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(inners); k++)
			if (strcmp(name, inners[k].exported) == 0)
				add_targets(
					libc->elf, file.e_machine, &all, &inners[k], &symbol, ret);
	}
}

const char *inner_names_find(const struct inner_names *names, uint64_t address)
{
	for (size_t i = 0; i < names->count; i++)
		if (address >= names->ranges[i].start && address < names->ranges[i].end)
			return names->ranges[i].name;
	return NULL;
}
