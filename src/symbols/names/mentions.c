/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/mentions.h"

#include <string.h>

#include "base/cleanup.h"
#include "symbols/split/object.h"

/* Sections that have names of functions and files, wherever they are in them. */
static bool mentions_has_names(const char *section, uint32_t type)
{
	static const char *const debug[] = {".debug_str", ".debug_line_str", ".debug_info",
		".debug_line", ".debug_str.dwo", ".debug_info.dwo", ".debug_line.dwo"};
	if (type == SHT_STRTAB)
		return true;
	for (size_t i = 0; i < sizeof(debug) / sizeof(debug[0]); i++)
		if (strcmp(section, debug[i]) == 0)
			return true;
	return false;
}

/* The linker lets a name are at the end of a longer one: what comes before it says nothing. */
static bool mentions_has_name(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		return true;
	Elf_Data *data = elf_rawdata(section, NULL);
	return data && data->d_buf && memmem(data->d_buf, data->d_size, name, strlen(name) + 1);
}

static void count_functions(
	Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name, unsigned *count)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *other = elf_strptr(elf, header->sh_link, symbol.st_name);
		*count += GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			  symbol.st_shndx != SHN_UNDEF && other && strcmp(other, name) == 0;
	}
}

static void mentions_look_at(const char *path, const char *name, struct symbols_mention *ret)
{
	_cleanup_(object_cleanup) struct object *object = object_open(path);
	size_t names;
	if (!object || elf_getshdrstrndx(object->elf, &names) < 0)
		return;
	unsigned functions = 0;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		const char *called = elf_strptr(object->elf, names, header.sh_name);
		called = called ? called : "";
		ret->known |= header.sh_type == SHT_SYMTAB || strcmp(called, ".debug_info") == 0;
		if (header.sh_type == SHT_SYMTAB)
			count_functions(object->elf, section, &header, name, &functions);
		if (mentions_has_names(called, header.sh_type))
			ret->found |= mentions_has_name(section, &header, name);
	}
	/* A program and its debug file may both have the table. */
	if (functions > ret->functions)
		ret->functions = functions;
}

struct error *symbols_mention(
	struct symbols *symbols, uint32_t module, const char *name, struct symbols_mention *ret)
{
	*ret = (struct symbols_mention){.known = false};
	_cleanup_(symbols_used_vec_deinit) struct symbols_used_vec used;
	symbols_used_vec_init(&used);
	struct error *error = symbols_module_used(symbols, module, &used);
	for (size_t i = 0; i < used.len && !error; i++)
		mentions_look_at(used.data[i].path, name, ret);
	/* Parts that are missing may have it, and a file that is another one. */
	bool sure = used.len && symbols_module_has_id(symbols, module) &&
		    !symbols_module_lacks(symbols, module);
	ret->known &= sure;
	return error;
}
