/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/impl/go_program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "golang/impl/go_buckets.h"
#include "golang/impl/go_references.h"
#include "process/proc_info.h"

#define AUXV_MAX 65536u
/* Words of runtime.moduledata; those behind are two further from Go 1.20 on. */
#define MODULE_WORDS 41u
#define MODULE_NAMES 1u
#define MODULE_TEXT 22u
#define MODULE_DATA 38u
#define MODULE_DATA_NEWER 40u
#define PIECE_BYTES 65536u

/* What debug/buildinfo reads: these bytes, then facts, then strings. */
#define BUILD_INFO_MARK "\xff Go buildinf:"
#define BUILD_INFO_STRINGS 32u
#define BUILD_INFO_HAS_STRINGS 2u

bool go_program_word(const struct go_program *program, uint64_t address, uint64_t *ret)
{
	return process_memory_read(&program->memory, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/* The part of the file that has an address, as linked; NULL: none. */
static const Elf64_Phdr *file_part(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->part_count; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		if (part->p_type == PT_LOAD && address >= part->p_vaddr &&
			address - part->p_vaddr < part->p_memsz)
			return part;
	}
	return NULL;
}

/* The bytes of the file from an address, as linked, to the end of its part; NULL: none. */
static const uint8_t *file_bytes(const struct elf_file *file, uint64_t address, size_t *ret)
{
	const Elf64_Phdr *part = file_part(file, address);
	uint64_t offset = part ? address - part->p_vaddr : 0;
	if (!part || offset >= part->p_filesz)
		return NULL;
	*ret = (size_t)(part->p_filesz - offset);
	return elf_file_at(file, part->p_offset + offset, *ret);
}

static const Elf64_Shdr *table_section(const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, ".gopclntab");
	return section ? section : elf_file_section(file, ".data.rel.ro.gopclntab");
}

/* Finds the table of functions of a file, and its address as linked. */
static bool table_find(const struct elf_file *file, struct go_functions *ret, uint64_t *ret_address)
{
	const Elf64_Shdr *section = table_section(file);
	size_t bytes = 0;
	const uint8_t *data = section ? file_bytes(file, section->sh_addr, &bytes) : NULL;
	if (data && go_functions_open(data, bytes, ret)) {
		*ret_address = section->sh_addr;
		return true;
	}
	for (size_t i = 0; i < file->part_count; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		data = elf_file_at(file, part->p_offset, part->p_filesz);
		if (part->p_type != PT_LOAD || part->p_flags & PF_X || !data)
			continue;
		for (uint64_t at = 0; part->p_filesz - at >= GO_TABLE_HEADER_BYTES; at += 8) {
			if (!go_functions_open(data + at, (size_t)(part->p_filesz - at), ret))
				continue;
			*ret_address = part->p_vaddr + at;
			return true;
		}
	}
	return false;
}

bool go_file_recognise(const struct elf_file *file)
{
	struct go_functions functions;
	uint64_t address;
	return elf_file_section(file, ".go.buildinfo") || table_section(file) ||
	       table_find(file, &functions, &address);
}

static void version_read(struct go_program *program)
{
	const Elf64_Shdr *section = elf_file_section(&program->file, ".go.buildinfo");
	const char *data =
		section ? elf_file_at(&program->file, section->sh_offset, section->sh_size) : NULL;
	size_t mark = strlen(BUILD_INFO_MARK);
	if (!data || section->sh_size <= BUILD_INFO_STRINGS ||
		memcmp(data, BUILD_INFO_MARK, mark) != 0 ||
		!(data[mark + 1] & BUILD_INFO_HAS_STRINGS))
		return;
	/* Its length is a number below 128: a byte. */
	size_t bytes = (uint8_t)data[BUILD_INFO_STRINGS];
	if (bytes >= sizeof(program->version) || bytes >= section->sh_size - BUILD_INFO_STRINGS)
		return;
	for (size_t i = 0; i < bytes; i++) {
		char letter = data[BUILD_INFO_STRINGS + 1 + i];
		if (letter <= ' ' || letter >= 0x7f)
			letter = '?';
		program->version[i] = letter;
	}
}

/* Finds by how much addresses differ from those of the file, by where its headers are. */
static struct error *bias_find(struct go_program *program)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)program->file.data;
	_cleanup_free_ char *auxv = NULL;
	size_t bytes = 0;
	struct error *error = process_read(program->pid, "auxv", AUXV_MAX, &auxv, &bytes);
	if (error)
		return error;
	uint64_t headers = 0;
	for (size_t i = 0; i + 16 <= bytes; i += 16) {
		uint64_t entry[2];
		memcpy(entry, auxv + i, sizeof(entry));
		if (entry[0] == AT_PHDR)
			headers = entry[1];
	}
	for (size_t i = 0; i < program->file.part_count; i++) {
		const Elf64_Phdr *part = &program->file.parts[i];
		if (part->p_type != PT_LOAD || header->e_phoff < part->p_offset ||
			header->e_phoff - part->p_offset >= part->p_filesz)
			continue;
		program->bias = headers - (header->e_phoff - part->p_offset + part->p_vaddr);
		return NULL;
	}
	return error_create(
		ERROR_INPUT, "%s: no part of the file has its program headers", program->path);
}

/* Whether the table that the file has is the one in memory; `text` is only known there. */
static bool table_check(struct go_program *program, uint64_t address)
{
	uint8_t head[GO_TABLE_HEADER_BYTES];
	if (process_memory_read(&program->memory, address, head, sizeof(head)) != sizeof(head) ||
		memcmp(head, program->functions.table, 24) != 0)
		return false;
	memcpy(&program->functions.text, head + 24, sizeof(program->functions.text));
	return true;
}

/* Takes from what may be the module's data what the table lacks. */
static bool module_take(struct go_program *program, const uint64_t words[static MODULE_WORDS])
{
	struct go_functions *functions = &program->functions;
	uint64_t text = words[MODULE_TEXT];
	uint64_t data = words[functions->is_newer ? MODULE_DATA_NEWER : MODULE_DATA];
	const Elf64_Phdr *code = file_part(&program->file, text - program->bias);
	const Elf64_Phdr *part = file_part(&program->file, data - program->bias);
	if ((functions->text && functions->text != text) || !code || !(code->p_flags & PF_X) ||
		!part || part->p_flags & PF_X)
		return false;
	functions->inlines =
		file_bytes(&program->file, data - program->bias, &functions->inline_bytes);
	functions->text = text;
	return functions->inlines != NULL;
}

/* Finds the module's data (runtime.firstmoduledata): they begin with the address of the table and
 * that of its names. */
static bool module_find(struct go_program *program, uint64_t table)
{
	uint64_t words[PIECE_BYTES / 8], module[MODULE_WORDS];
	for (size_t i = 0; i < program->file.part_count; i++) {
		const Elf64_Phdr *part = &program->file.parts[i];
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
			continue;
		uint64_t start = align_up(part->p_vaddr, 8), end = part->p_vaddr + part->p_filesz;
		for (uint64_t at = start; at < end; at += PIECE_BYTES) {
			size_t got = process_memory_read(&program->memory, at + program->bias,
				words, (size_t)min(end - at, (uint64_t)PIECE_BYTES));
			for (size_t k = 0; k < got / 8; k++) {
				uint64_t here = at + program->bias + k * 8;
				if (words[k] == table &&
					process_memory_read(&program->memory, here, module,
						sizeof(module)) == sizeof(module) &&
					module[MODULE_NAMES] == table + program->functions.names &&
					module_take(program, module))
					return true;
			}
		}
	}
	return false;
}

/* Whether an address is that of a word of the program's writable data. */
static bool place_is_data(const struct go_program *program, uint64_t address)
{
	const Elf64_Phdr *part = file_part(&program->file, address - program->bias);
	return address % 8 == 0 && part && part->p_flags & PF_W &&
	       part->p_memsz - (address - program->bias - part->p_vaddr) >= 8;
}

/* The address of the variable with this name, of 8 bytes; 0: no symbol tells. */
static uint64_t variable_named(const struct go_program *program, const char *name)
{
	const struct elf_file *file = &program->file;
	for (size_t i = 0; i < file->section_count; i++) {
		const Elf64_Shdr *section = &file->sections[i];
		if (section->sh_type != SHT_SYMTAB || section->sh_link >= file->section_count)
			continue;
		const Elf64_Shdr *text = &file->sections[section->sh_link];
		size_t count = section->sh_size / sizeof(Elf64_Sym), room = strlen(name) + 1;
		const uint8_t *symbols =
			elf_file_at(file, section->sh_offset, count * sizeof(Elf64_Sym));
		for (size_t k = 0; symbols && k < count; k++) {
			Elf64_Sym symbol;
			memcpy(&symbol, symbols + k * sizeof(symbol), sizeof(symbol));
			if (symbol.st_shndx == SHN_UNDEF || symbol.st_size != 8 ||
				symbol.st_name >= text->sh_size)
				continue;
			const char *at = elf_file_at(file, text->sh_offset + symbol.st_name, room);
			if (at && !memcmp(at, name, room))
				return symbol.st_value + program->bias;
		}
	}
	return 0;
}

/* Adds what a function's code refers to; one that is not there has nothing. */
static struct error *function_references(const struct go_program *program, const char *name,
	enum go_reference_kind kind, struct go_reference_vec *ret)
{
	uint64_t start, end;
	size_t bytes;
	if (!go_functions_named(&program->functions, name, &start, &end))
		return NULL;
	const uint8_t *code = file_bytes(&program->file, start - program->bias, &bytes);
	if (!code)
		return NULL;
	bytes = (size_t)min(end - start, (uint64_t)bytes);
	return go_references_find(code, bytes, start, kind, ret) ? NULL : error_no_memory();
}

/* A function that refers to a variable, and how. */
struct variable_user {
	const char *function;
	enum go_reference_kind kind;
};

/* Finds the one word of data to which all of these functions refer; 0: there is none, or several.
 */
static struct error *variable_used(const struct go_program *program,
	const struct variable_user *users, size_t count, uint64_t *ret)
{
	_cleanup_(go_reference_vec_deinit) struct go_reference_vec common = {.len = 0};
	struct error *error =
		function_references(program, users[0].function, users[0].kind, &common);
	for (size_t i = 1; i < count && !error; i++) {
		_cleanup_(go_reference_vec_deinit) struct go_reference_vec others = {.len = 0};
		error = function_references(program, users[i].function, users[i].kind, &others);
		go_references_common(&common, &others);
	}
	size_t found = 0;
	*ret = 0;
	for (size_t i = 0; i < common.len; i++) {
		if (!place_is_data(program, common.data[i]))
			continue;
		*ret = found++ ? 0 : common.data[i];
	}
	if (found != 1)
		*ret = 0;
	return error;
}

static struct error *variables_find(struct go_program *program)
{
	/* It is chosen by its address, and read where cycles are completed. */
	static const struct variable_user buckets[] = {{"runtime.stkbucket", GO_REFERENCE_ADDRESS},
		{"runtime.mProf_FlushLocked", GO_REFERENCE_LOAD}};
	/* It is read where a sample is taken and where a processor's cache is made. */
	static const struct variable_user rate[] = {{"runtime.profilealloc", GO_REFERENCE_LOAD},
		{"runtime.allocmcache", GO_REFERENCE_LOAD}};
	struct error *error = NULL;
	program->buckets_at = variable_named(program, "runtime.mbuckets");
	program->rate_at = variable_named(program, "runtime.MemProfileRate");
	program->is_stripped = !program->buckets_at || !program->rate_at;
	if (program->is_stripped)
		error = variable_used(program, buckets, ARRAY_SIZE(buckets), &program->buckets_at);
	if (program->is_stripped && !error)
		error = variable_used(program, rate, ARRAY_SIZE(rate), &program->rate_at);
	if (error)
		return error;
	if (place_is_data(program, program->buckets_at) && place_is_data(program, program->rate_at))
		return NULL;
	return error_create(ERROR_INPUT,
		"%s has no symbols (stripped), and the code of its runtime%s%s does not tell where "
		"%s is, as that of Go 1.19 does; if it has net/http/pprof, its URL "
		"(http://HOST/debug/pprof/heap) can be read instead",
		program->path, program->version[0] ? ", " : "", program->version,
		place_is_data(program, program->buckets_at) ? "runtime.MemProfileRate"
							    : "runtime.mbuckets");
}

static size_t program_read(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct go_program *program = context;
	return process_memory_read(&program->memory, address, ret, bytes);
}

/* Whether the variables hold what they should: no bucket yet, or one. */
static struct error *variables_check(struct go_program *program)
{
	const struct go_memory memory = {program_read, program};
	uint64_t first, rate;
	if (!go_program_word(program, program->buckets_at, &first) ||
		!go_program_word(program, program->rate_at, &rate))
		return error_create(ERROR_INPUT, "the memory of process %d can't be read any more",
			(int)program->pid);
	if (first && !go_bucket_recognise(&memory, first))
		return error_create(ERROR_INPUT,
			"%s%s%s: what runtime.mbuckets leads to has another layout than that of "
			"Go 1.19 and later; nothing was changed",
			program->path, program->version[0] ? ", " : "", program->version);
	if (rate > INT64_MAX)
		return error_create(ERROR_INPUT,
			"%s: runtime.MemProfileRate has a value that is none (0x%" PRIx64
			"); nothing was changed",
			program->path, rate);
	return NULL;
}

static struct error *table_open(struct go_program *program)
{
	uint64_t address;
	if (!table_find(&program->file, &program->functions, &address))
		return error_create(ERROR_INPUT,
			go_file_recognise(&program->file)
				? "%s is of a version of Go whose table of functions is not known "
				  "(known: Go 1.18 and later)"
				: "%s is no program in Go: it has no table of functions "
				  "(.gopclntab)",
			program->path);
	address += program->bias;
	if (!table_check(program, address))
		return error_create(ERROR_INPUT,
			"%s: memory at 0x%" PRIx64 " has another table of functions than the file",
			program->path, address);
	if (!module_find(program, address))
		return error_create(ERROR_INPUT,
			"%s%s%s: where its runtime has what was inlined is not known "
			"(runtime.moduledata has another layout)",
			program->path, program->version[0] ? ", " : "", program->version);
	return NULL;
}

static struct error *program_read_file(struct go_program *program)
{
	char path[64];
	struct proc_info info;
	struct error *error = proc_info_read(program->pid, &info);
	program->path = steal_ptr(info.exe);
	proc_info_deinit(&info);
	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)program->pid);
	error = elf_file_open(path, &program->file);
	return error_prefix(error, "process %d", (int)program->pid);
}

struct error *go_program_open(pid_t pid, struct go_program *ret)
{
	*ret = (struct go_program){
		.pid = pid, .memory = {.memory = -1, .pages = -1, .shared_pages = -1}};
	struct error *error = program_read_file(ret);
	if (error)
		return error;
	version_read(ret);
	error = process_memory_open(pid, pid, NULL, &ret->memory);
	if (!error)
		error = bias_find(ret);
	if (!error)
		error = table_open(ret);
	if (!error)
		error = variables_find(ret);
	return error ? error : variables_check(ret);
}

void go_program_close(struct go_program *program)
{
	process_memory_close(&program->memory);
	elf_file_close(&program->file);
	free(program->path);
	program->path = NULL;
}
