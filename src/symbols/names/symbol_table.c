/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One array sorted by address. A symbol with a size holds the addresses inside it and no other: in
 * a stripped library the nearest exported function below is mostly not the one that was called, and
 * a wrong name is worse than none. A symbol without a size (assembly) reaches to the next symbol of
 * its section.
 *
 * Symbols overlap (aliases, entry points inside a function), so the search goes back from the
 * nearest start until `reach` says that nothing before can hold the address.
 */
#include "symbols/names/symbol_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

void symbol_table_init(struct symbol_table *table, enum table_content content)
{
	table->content = content;
	table_symbol_vec_init(&table->symbols);
	table_section_vec_init(&table->sections);
	table->mini = NULL;
}

void symbol_table_deinit(struct symbol_table *table)
{
	table_symbol_vec_deinit(&table->symbols);
	table_section_vec_deinit(&table->sections);
	if (table->mini)
		dwfl_end(table->mini);
	table->mini = NULL;
}

/*
 * Of several names for one place the one that people know: sized before unsized, global before weak
 * before local, then the one with fewer leading underscores (malloc, not __libc_malloc).
 */
static uint8_t symbol_rank(const GElf_Sym *sym, const char *name)
{
	size_t underscores = strspn(name, "_");
	uint8_t rank = (uint8_t)(3 - min(underscores, (size_t)3));
	if (GELF_ST_BIND(sym->st_info) == STB_GLOBAL)
		rank |= 8;
	else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank |= 4;
	if (sym->st_size)
		rank |= 16;
	return rank;
}

static bool is_code(const struct symbol_table *table, const GElf_Sym *sym, uint32_t section)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return section != SHN_UNDEF;
	/* Labels of assembly; not those that mark data or the ends of sections. */
	if (type != STT_NOTYPE || section == SHN_UNDEF)
		return false;
	for (size_t i = 0; i < table->sections.len; i++) {
		const struct table_section *code = &table->sections.data[i];
		if (code->index == section)
			return sym->st_value >= code->start && sym->st_value < code->end;
	}
	return false;
}

/* What has no size holds nothing. */
static bool symbol_table_is_wanted(
	const struct symbol_table *table, const GElf_Sym *sym, uint32_t section)
{
	if (table->content == TABLE_FUNCTIONS)
		return is_code(table, sym, section);
	unsigned type = GELF_ST_TYPE(sym->st_info);
	if (table->content == TABLE_THREAD_LOCALS)
		return type == STT_TLS && section != SHN_UNDEF && sym->st_size;
	return (type == STT_OBJECT || type == STT_COMMON) && section != SHN_UNDEF && sym->st_size;
}

static struct error *add_symbol(
	struct symbol_table *table, const GElf_Sym *sym, uint32_t section, const char *name)
{
	/* '$' starts the mapping symbols of some assemblers, '.' local labels. */
	if (!name || name[0] == '\0' || name[0] == '$' || name[0] == '.' ||
		!symbol_table_is_wanted(table, sym, section))
		return NULL;
	struct table_symbol symbol = {
		.start = sym->st_value,
		.name = name,
		.section = section,
		.rank = symbol_rank(sym, name),
	};
	if (__builtin_add_overflow(sym->st_value, sym->st_size, &symbol.end))
		symbol.end = UINT64_MAX;
	return table_symbol_vec_push(&table->symbols, symbol) ? NULL : error_no_memory();
}

static struct error *add_sections(struct symbol_table *table, const struct object *object)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(object->elf, scn));) {
		GElf_Shdr header;
		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		struct table_section section = {
			.start = header.sh_addr,
			.end = header.sh_addr + header.sh_size,
			.index = (uint32_t)elf_ndxscn(scn),
		};
		if (!table_section_vec_push(&table->sections, section))
			return error_no_memory();
	}
	return NULL;
}

/* The section of symbol `index`; numbers beyond 16 bits are in a section of their own. */
static uint32_t symbol_section(const GElf_Sym *sym, Elf_Data *extended, int index)
{
	GElf_Word section = sym->st_shndx;
	GElf_Sym unused;
	if (section == SHN_XINDEX &&
		(!extended || !gelf_getsymshndx(NULL, extended, index, &unused, &section)))
		section = SHN_UNDEF;
	return section;
}

static struct error *add_table(
	struct symbol_table *table, const struct object *object, uint32_t type)
{
	GElf_Shdr header, extended_header;
	Elf_Scn *scn = object_section_of_type(object, type, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data)
		return NULL;
	Elf_Scn *extended_scn = object_section_of_type(object, SHT_SYMTAB_SHNDX, &extended_header);
	Elf_Data *extended = NULL;
	if (extended_scn && extended_header.sh_link == elf_ndxscn(scn))
		extended = elf_getdata(extended_scn, NULL);
	GElf_Sym sym;
	for (int i = 1; gelf_getsym(data, i, &sym); i++) {
		struct error *error = add_symbol(table, &sym, symbol_section(&sym, extended, i),
			elf_strptr(object->elf, header.sh_link, sym.st_name));
		if (error)
			return error;
	}
	return NULL;
}

static int find_no_debuginfo(Dwfl_Module *module, void **userdata, const char *name,
	Dwarf_Addr base, const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)userdata, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)ret;
	return -1;
}

/*
 * .gnu_debugdata is an xz-packed ELF file with the local functions. libdwfl unpacks it; whatever
 * goes wrong there leaves .dynsym alone.
 */
static struct error *add_mini(struct symbol_table *table, const struct object *object)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	table->mini = dwfl_begin(&callbacks);
	int fd = table->mini ? dup(object->fd) : -1;
	if (fd < 0)
		return NULL;
	/* With the addresses of the file itself. It takes the descriptor if it succeeds. */
	Dwfl_Module *module = dwfl_report_elf(table->mini, "main", object->path, fd, 0, true);
	if (!module)
		close(fd);
	if (!module || dwfl_report_end(table->mini, NULL, NULL) != 0)
		return NULL;
	int count = dwfl_module_getsymtab(module);
	for (int i = 1; i < count; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		GElf_Word section;
		const char *name =
			dwfl_module_getsym_info(module, i, &sym, &address, &section, NULL, NULL);
		struct error *error = name ? add_symbol(table, &sym, section, name) : NULL;
		if (error)
			return error;
	}
	return NULL;
}

static struct error *add_best(
	struct symbol_table *table, const struct object *main, const struct object *separate)
{
	GElf_Shdr header;
	if (separate && object_section_of_type(separate, SHT_SYMTAB, &header))
		return add_table(table, separate, SHT_SYMTAB);
	if (!main)
		return NULL;
	if (object_section_of_type(main, SHT_SYMTAB, &header))
		return add_table(table, main, SHT_SYMTAB);
	struct error *error = add_table(table, main, SHT_DYNSYM);
	if (!error && object_section(main, ".gnu_debugdata", &header))
		error = add_mini(table, main);
	return error;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct table_symbol *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	/* So that the answer does not depend on the order in the file. */
	return strcmp(b->name, a->name);
}

struct error *symbol_table_load(
	struct symbol_table *table, const struct object *main, const struct object *separate)
{
	const struct object *any = main ? main : separate;
	struct error *error = any ? add_sections(table, any) : NULL;
	if (!error)
		error = add_best(table, main, separate);
	if (error)
		return error;
	struct table_symbol_vec *symbols = &table->symbols;
	if (symbols->len)
		qsort(symbols->data, symbols->len, sizeof(*symbols->data), compare_symbols);
	uint64_t reach = 0;
	for (size_t i = 0; i < symbols->len; i++)
		symbols->data[i].reach = reach = max(reach, symbols->data[i].end);
	return NULL;
}

/* The number of symbols that start at or before the address. */
static size_t symbols_until(const struct table_symbol_vec *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symbols->data[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool same_section(
	const struct symbol_table *table, const struct table_symbol *symbol, uint64_t address)
{
	for (size_t i = 0; i < table->sections.len; i++) {
		const struct table_section *section = &table->sections.data[i];
		if (section->index == symbol->section)
			return address >= section->start && address < section->end;
	}
	return false;
}

const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	const struct table_symbol *symbols = table->symbols.data;
	size_t nearest = symbols_until(&table->symbols, address);
	for (size_t i = nearest; i > 0 && symbols[i - 1].reach > address; i--)
		if (symbols[i - 1].end > address)
			return &symbols[i - 1];
	if (nearest == 0)
		return NULL;
	const struct table_symbol *last = &symbols[nearest - 1];
	return last->start == last->end && same_section(table, last, address) ? last : NULL;
}

size_t symbol_table_names(
	const struct symbol_table *table, uint64_t address, const char **names, size_t max)
{
	const struct table_symbol *best = symbol_table_find(table, address);
	size_t count = 0;
	if (!best)
		return 0;
	for (const struct table_symbol *symbol = best;; symbol--) {
		if (symbol->start != best->start || count == max)
			break;
		if (symbol->end > address || symbol == best)
			names[count++] = symbol->name;
		if (symbol == table->symbols.data)
			break;
	}
	return count;
}
