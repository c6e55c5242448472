/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/split/debug_file.h"

static bool inspect_has(const struct object *object, const char *section)
{
	GElf_Shdr header;
	return object && object_section(object, section, &header);
}

static void look_at_lines(struct object *object, bool *ret_lines, struct inspection *ret)
{
	if (!object || !(inspect_has(object, ".debug_info") || inspect_has(object, ".zdebug_info")))
		return;
	if (object_is_unreadable(object)) {
		ret->zstd_unreadable = true;
		return;
	}
	Dwarf *dwarf = object_dwarf(object);
	*ret_lines = dwarf &&
		     (inspect_has(object, ".debug_line") || inspect_has(object, ".zdebug_line"));
	ret->alt_missing |= object->alt_missing;
}

static bool defines_malloc(const struct object *object, uint32_t type)
{
	GElf_Shdr header;
	Elf_Scn *section = object ? object_section_of_type(object, type, &header) : NULL;
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Sym symbol;
	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(object->elf, header.sh_link, symbol.st_name);
		if (symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			name && !strcmp(name, "malloc"))
			return true;
	}
	return false;
}

static void inspect_look(struct debug_files *files, struct inspection *ret)
{
	const struct object *main = files->main;
	for (size_t i = 0; i < main->build_id_len && i < sizeof(ret->build_id) / 2 - 1; i++)
		snprintf(ret->build_id + 2 * i, 3, "%02x", main->build_id[i]);
	look_at_lines(files->main, &ret->own_lines, ret);
	look_at_lines(files->separate, &ret->separate_lines, ret);
	if (files->separate)
		ret->separate = strdup(files->separate->path);
	uint32_t crc;
	const char *link = object_debug_link(main, &crc);
	if (link)
		ret->link = strdup(link);
	ret->symbol_table = inspect_has(main, ".symtab") || inspect_has(files->separate, ".symtab");
	ret->mini = inspect_has(main, ".gnu_debugdata");
	ret->dynamic_symbols = inspect_has(main, ".dynsym");
	ret->own_malloc =
		!defines_malloc(main, SHT_DYNSYM) &&
		(defines_malloc(main, SHT_SYMTAB) || defines_malloc(files->separate, SHT_SYMTAB));
	ret->go = inspect_has(main, ".gopclntab") || inspect_has(main, ".go.buildinfo");
	ret->unwind = inspect_has(main, ".eh_frame") || inspect_has(main, ".debug_frame");
}

bool inspection_make(const char *path, struct inspection *ret)
{
	*ret = (struct inspection){.separate = NULL};
	_cleanup_(symbols_settings_cleanup) struct symbols_settings *settings = NULL;
	struct error *error = symbols_settings_create(&settings);
	if (error) {
		error_destroy(error);
		return false;
	}
	const struct debug_query query = {.path = path, .settings = settings};
	struct debug_files files;
	elf_version(EV_CURRENT);
	debug_files_open(&files, &query);
	bool found = files.main;
	if (found)
		inspect_look(&files, ret);
	debug_files_close(&files);
	return found;
}

void inspection_deinit(struct inspection *inspection)
{
	free(inspection->separate);
	free(inspection->link);
	inspection->separate = inspection->link = NULL;
}

size_t inspect_code(const char *path, struct inspect_segment *ret, size_t most)
{
	const uint64_t page = 4096;
	size_t headers = 0, count = 0;
	elf_version(EV_CURRENT);
	struct object *object = object_open(path);
	if (!object)
		return 0;
	if (elf_getphdrnum(object->elf, &headers) != 0)
		headers = 0;
	for (size_t i = 0; i < headers && count < most; i++) {
		GElf_Phdr one;
		if (!gelf_getphdr(object->elf, (int)i, &one) || one.p_type != PT_LOAD ||
			!(one.p_flags & PF_X) || !one.p_filesz)
			continue;
		uint64_t before = one.p_vaddr % page;
		ret[count++] = (struct inspect_segment){
			.address = one.p_vaddr - before,
			.end = (one.p_vaddr + one.p_filesz + page - 1) / page * page,
			.offset = one.p_offset - before,
		};
	}
	object_close(object);
	return count;
}

char *inspect_section_text(const char *path, const char *section)
{
	elf_version(EV_CURRENT);
	struct object *object = object_open(path);
	if (!object)
		return NULL;
	GElf_Shdr header;
	Elf_Scn *found = object_section(object, section, &header);
	Elf_Data *data = found ? elf_rawdata(found, NULL) : NULL;
	char *text = data && data->d_buf ? strndup(data->d_buf, data->d_size) : NULL;
	object_close(object);
	return text;
}
