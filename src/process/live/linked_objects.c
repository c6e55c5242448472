/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/linked_objects.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/proc_info.h"

/* More than any process has: what says more is no list. */
#define OBJECTS_MAX 8192u
/* Namespaces: glibc has 16 (DL_NNS). */
#define SPACES_MAX 64u
#define PATH_BYTES 4096u
#define DYNAMIC_MAX 1024u
#define TABLE_BYTES_MAX (512u << 20)
#define AUXV_MAX 64u

/* What a dynamic section says, addresses as they are in memory. */
struct dynamic {
	uint64_t symbols, strings, string_bytes, hash, gnu_hash, relocations, relocation_bytes,
		plt_relocations, plt_relocation_bytes, debug;
	bool is_rela;
};

/* glibc writes addresses into the section as it loads an object, musl leaves those of the file. */
static uint64_t loaded_address(uint64_t bias, uint64_t value)
{
	return value >= bias ? value : value + bias;
}

static bool read_dynamic(
	const struct process_memory *memory, uint64_t bias, uint64_t at, struct dynamic *ret)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	size_t count =
		process_memory_read(memory, at, entries, sizeof(entries)) / sizeof(Elf64_Dyn);
	*ret = (struct dynamic){.is_rela = true};
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_val;
		switch (entries[i].d_tag) {
		case DT_SYMTAB:
			ret->symbols = loaded_address(bias, value);
			break;
		case DT_STRTAB:
			ret->strings = loaded_address(bias, value);
			break;
		case DT_STRSZ:
			ret->string_bytes = value;
			break;
		case DT_HASH:
			ret->hash = loaded_address(bias, value);
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = loaded_address(bias, value);
			break;
		case DT_RELA:
			ret->relocations = loaded_address(bias, value);
			break;
		case DT_RELASZ:
			ret->relocation_bytes = value;
			break;
		case DT_JMPREL:
			ret->plt_relocations = loaded_address(bias, value);
			break;
		case DT_PLTRELSZ:
			ret->plt_relocation_bytes = value;
			break;
		case DT_PLTREL:
			ret->is_rela = value == DT_RELA;
			break;
		case DT_DEBUG:
			ret->debug = value;
			break;
		default:
			break;
		}
	}
	return count;
}

/* A copy of memory; NULL if it can't be read or is too large. */
static void *copy_table(
	const struct process_memory *memory, uint64_t address, size_t bytes, size_t room)
{
	if (!address || !bytes || bytes > TABLE_BYTES_MAX)
		return NULL;
	_cleanup_free_ char *table = calloc(1, bytes + room);
	if (!table || process_memory_read(memory, address, table, bytes) != bytes)
		return NULL;
	return steal_ptr(table);
}

/* The largest number of a symbol in a GNU hash table, + 1: the last chain's end (binutils'
 * bfd/elflink.c describes the form). 0: it can't be told. */
static size_t count_by_gnu_hash(const struct process_memory *memory, uint64_t at)
{
	uint32_t head[4];
	if (process_memory_read(memory, at, head, sizeof(head)) != sizeof(head) ||
		head[0] > TABLE_BYTES_MAX / 4 || head[2] > TABLE_BYTES_MAX / 8)
		return 0;
	uint64_t buckets_at = at + sizeof(head) + (uint64_t)head[2] * 8;
	uint64_t chains_at = buckets_at + (uint64_t)head[0] * 4;
	_cleanup_free_ uint32_t *buckets = copy_table(memory, buckets_at, (size_t)head[0] * 4, 0);
	uint32_t last = 0, link;
	for (uint32_t i = 0; buckets && i < head[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < head[1])
		return head[1];
	do {
		if (process_memory_read(
			    memory, chains_at + (uint64_t)(last - head[1]) * 4, &link, 4) != 4)
			return 0;
		last++;
	} while (!(link & 1) && last < TABLE_BYTES_MAX / sizeof(Elf64_Sym));
	return last;
}

static size_t count_symbols(const struct process_memory *memory, const struct dynamic *dynamic)
{
	uint32_t head[2];
	if (dynamic->hash &&
		process_memory_read(memory, dynamic->hash, head, sizeof(head)) == sizeof(head))
		return head[1];
	return dynamic->gnu_hash ? count_by_gnu_hash(memory, dynamic->gnu_hash) : 0;
}

/* A table of references may name symbols that no hash table has. */
static size_t count_referred(const struct linked_object *object, size_t count)
{
	for (size_t i = 0; i < object->relocation_count; i++) {
		size_t symbol = ELF64_R_SYM(object->relocations[i].r_info);
		count = symbol >= count ? symbol + 1 : count;
	}
	return count;
}

static struct error *read_relocations(const struct process_memory *memory,
	const struct dynamic *dynamic, struct linked_object *object)
{
	size_t data = dynamic->relocation_bytes / sizeof(Elf64_Rela);
	size_t plt = dynamic->is_rela ? dynamic->plt_relocation_bytes / sizeof(Elf64_Rela) : 0;
	if (data + plt == 0 || (data + plt) * sizeof(Elf64_Rela) > TABLE_BYTES_MAX)
		return NULL;
	object->relocations = calloc(data + plt, sizeof(Elf64_Rela));
	if (!object->relocations)
		return error_no_memory();
	size_t got = process_memory_read(memory, dynamic->relocations, object->relocations,
			     data * sizeof(Elf64_Rela)) /
		     sizeof(Elf64_Rela);
	got += process_memory_read(memory, dynamic->plt_relocations, object->relocations + got,
		       plt * sizeof(Elf64_Rela)) /
	       sizeof(Elf64_Rela);
	object->relocation_count = got;
	return NULL;
}

static struct error *read_object(const struct process_memory *memory, struct linked_object *object,
	struct dynamic *ret_dynamic)
{
	if (!read_dynamic(memory, object->bias, object->dynamic, ret_dynamic))
		return NULL;
	struct error *error = read_relocations(memory, ret_dynamic, object);
	if (error)
		return error;
	size_t count = count_referred(object, count_symbols(memory, ret_dynamic));
	object->symbols = copy_table(memory, ret_dynamic->symbols, count * sizeof(Elf64_Sym), 0);
	object->symbol_count = object->symbols ? count : 0;
	object->strings = copy_table(memory, ret_dynamic->strings, ret_dynamic->string_bytes, 1);
	object->string_bytes = object->strings ? ret_dynamic->string_bytes : 0;
	return NULL;
}

static void find_code(const struct process_maps *maps, struct linked_object *object)
{
	const struct process_map *own = process_maps_find(maps, object->dynamic);
	if (!own || !own->inode)
		return;
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (!map->executable || map->inode != own->inode || strcmp(map->path, own->path))
			continue;
		if (!object->code_start)
			object->code_start = map->start;
		object->code_end = map->end;
	}
}

/* The auxiliary vector (getauxval(3)), the program's own headers and where its dynamic section is.
 */
static struct error *read_auxv(
	struct linked_objects *o, uint64_t *ret_dynamic, uint64_t *ret_linker, uint64_t *ret_bias)
{
	char path[64];
	uint64_t vector[AUXV_MAX][2];
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)process_first_live_thread(o->pid));
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, vector, sizeof(vector));
	*ret_dynamic = *ret_linker = *ret_bias = 0;
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(vector[0]); i++) {
		if (vector[i][0] == AT_PHDR)
			o->program_headers = vector[i][1];
		else if (vector[i][0] == AT_PHNUM)
			o->program_header_count = vector[i][1];
		else if (vector[i][0] == AT_BASE)
			*ret_linker = vector[i][1];
	}
	uint64_t own = 0, dynamic = 0;
	if (!o->program_headers)
		return error_create(ERROR_INPUT,
			"process %d has no program headers that the kernel knows of: it is being "
			"started, or is no usual program",
			(int)o->pid);
	for (uint64_t i = 0; i < o->program_header_count && i < 256; i++) {
		Elf64_Phdr part;
		if (process_memory_read(&o->memory, o->program_headers + i * sizeof(part), &part,
			    sizeof(part)) != sizeof(part))
			break;
		if (part.p_type == PT_PHDR)
			own = part.p_vaddr;
		else if (part.p_type == PT_DYNAMIC)
			dynamic = part.p_vaddr;
	}
	*ret_bias = own ? o->program_headers - own : 0;
	*ret_dynamic = dynamic ? dynamic + *ret_bias : 0;
	return NULL;
}

/* Where a program without a linker lies: its own headers seldom say it (PT_PHDR), but its first
 * part has the file's beginning, a page before them at most. */
static uint64_t find_static_bias(const struct linked_objects *o)
{
	uint64_t start = o->program_headers & ~4095ull;
	Elf64_Ehdr head;
	if (process_memory_read(&o->memory, start, &head, sizeof(head)) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		start + head.e_phoff != o->program_headers)
		return 0;
	for (uint64_t i = 0; i < o->program_header_count && i < 256; i++) {
		Elf64_Phdr part;
		if (process_memory_read(&o->memory, o->program_headers + i * sizeof(part), &part,
			    sizeof(part)) != sizeof(part))
			break;
		if (part.p_type == PT_LOAD && !part.p_offset)
			return start - part.p_vaddr;
	}
	return 0;
}

static struct error *add_static_program(struct linked_objects *o)
{
	struct linked_object object = {.path = strdup(""), .bias = find_static_bias(o)};
	if (object.path && linked_object_vec_push(&o->objects, object))
		return NULL;
	free(object.path);
	return error_no_memory();
}

struct loaded { /* struct link_map, as debuggers know it */
	uint64_t bias, name, dynamic, next, previous;
};

static struct error *add_object(
	struct linked_objects *o, uint64_t at, const struct loaded *map, uint64_t linker)
{
	char path[PATH_BYTES] = "";
	size_t n = process_memory_read(&o->memory, map->name, path, sizeof(path) - 1);
	path[n] = 0;
	struct linked_object object = {.map = at,
		.bias = map->bias,
		.dynamic = map->dynamic,
		.path = strdup(path),
		.is_linker = map->bias == linker};
	struct dynamic dynamic;
	struct error *error =
		object.path ? read_object(&o->memory, &object, &dynamic) : error_no_memory();
	find_code(&o->maps, &object);
	if (!error && linked_object_vec_push(&o->objects, object))
		return NULL;
	free(object.path);
	free(object.symbols);
	free(object.strings);
	free(object.relocations);
	return error ? error : error_no_memory();
}

static bool is_listed(const struct linked_objects *o, uint64_t dynamic)
{
	for (size_t i = 0; i < o->objects.len; i++) {
		if (o->objects.data[i].dynamic == dynamic)
			return true;
	}
	return false;
}

/* Of one namespace; the dynamic linker is in each. */
static size_t count_space(const struct linked_objects *o, uint64_t first)
{
	struct loaded map;
	size_t found = 0;
	for (uint64_t next = first, i = 0; next && i < OBJECTS_MAX; next = map.next, i++) {
		if (process_memory_read(&o->memory, next, &map, sizeof(map)) != sizeof(map))
			break;
		found += !is_listed(o, map.dynamic);
	}
	return found;
}

/* struct r_debug_extended of glibc 2.35 and later: its other namespaces follow it. */
static size_t count_apart(const struct linked_objects *o)
{
	struct {
		uint64_t version, objects, fields[3], next;
	} space;
	size_t found = 0;
	uint64_t at = o->debug;
	for (unsigned i = 0; at && i <= SPACES_MAX; i++, at = space.next) {
		if (process_memory_read(&o->memory, at, &space, sizeof(space)) != sizeof(space) ||
			(uint32_t)space.version < 2)
			break;
		if (i)
			found += count_space(o, space.objects);
	}
	return found;
}

static struct error *read_objects(struct linked_objects *o)
{
	uint64_t at, linker, bias, head[2];
	struct dynamic program;
	struct error *error = read_auxv(o, &at, &linker, &bias);
	if (error)
		return error;
	if (!at || !linker)
		return add_static_program(o);
	if (!read_dynamic(&o->memory, bias, at, &program) || !program.debug ||
		process_memory_read(&o->memory, program.debug, head, sizeof(head)) != sizeof(head))
		return error_create(ERROR_INPUT,
			"process %d has no list of its libraries yet: it is being started, or its "
			"dynamic linker keeps none",
			(int)o->pid);
	o->debug = program.debug;
	struct loaded map;
	for (uint64_t next = head[1]; next && !error && o->objects.len < OBJECTS_MAX;
		next = map.next) {
		if (process_memory_read(&o->memory, next, &map, sizeof(map)) != sizeof(map))
			break;
		error = add_object(o, next, &map, linker);
	}
	o->apart = error ? 0 : count_apart(o);
	return error;
}

struct error *linked_objects_read(pid_t pid, struct linked_objects *ret)
{
	*ret = (struct linked_objects){.pid = pid, .memory = {-1, -1, -1, NULL, NULL, NULL}};
	pid_t thread = process_first_live_thread(pid); /* the first may have ended */
	struct error *error = process_maps_read(thread, &ret->maps);
	if (error)
		return error;
	error = process_memory_open(thread, thread, NULL, &ret->memory);
	return error ? error : read_objects(ret);
}

void linked_objects_deinit(struct linked_objects *objects)
{
	for (size_t i = 0; i < objects->objects.len; i++) {
		struct linked_object *object = &objects->objects.data[i];
		free(object->path);
		free(object->symbols);
		free(object->strings);
		free(object->relocations);
	}
	linked_object_vec_deinit(&objects->objects);
	process_memory_close(&objects->memory);
	process_maps_deinit(&objects->maps);
}

static const char *symbol_name(const struct linked_object *object, const Elf64_Sym *symbol)
{
	return symbol->st_name < object->string_bytes ? object->strings + symbol->st_name : "";
}

/* A reference of the executable can have an address, that of its PLT, and defines nothing. */
static const Elf64_Sym *find_definition(const struct linked_object *object, const char *name)
{
	for (size_t i = 0; i < object->symbol_count; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		unsigned bind = ELF64_ST_BIND(symbol->st_info);
		if (symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
			ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
			(bind == STB_GLOBAL || bind == STB_WEAK) &&
			!strcmp(symbol_name(object, symbol), name))
			return symbol;
	}
	return NULL;
}

bool linked_defines(const struct linked_object *object, const char *name)
{
	return find_definition(object, name);
}

/* As linked_defines(), and also of one that is chosen when it is bound (IFUNC). */
static bool defines_any(const struct linked_object *object, const char *name)
{
	for (size_t i = 0; i < object->symbol_count; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		unsigned type = ELF64_ST_TYPE(symbol->st_info);
		if (symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
			(type == STT_FUNC || type == STT_GNU_IFUNC) &&
			!strcmp(symbol_name(object, symbol), name))
			return true;
	}
	return false;
}

bool linked_function_range(const struct linked_object *object, const char *name,
	uint64_t *ret_start, uint64_t *ret_end)
{
	const Elf64_Sym *symbol = find_definition(object, name);
	if (!symbol || !symbol->st_size)
		return false;
	*ret_start = object->bias + symbol->st_value;
	*ret_end = *ret_start + symbol->st_size;
	return true;
}

uint64_t linked_function(const struct linked_objects *objects, const char *name,
	const struct linked_object **ret_object)
{
	for (size_t i = 0; i < objects->objects.len; i++) {
		const struct linked_object *object = &objects->objects.data[i];
		const Elf64_Sym *symbol = find_definition(object, name);
		if (!symbol)
			continue;
		if (ret_object)
			*ret_object = object;
		return object->bias + symbol->st_value;
	}
	return 0;
}

/* The executable's own entry for a function, whose address is that of the function for everybody;
 * 0: it has none. */
static uint64_t plt_entry(const struct linked_objects *objects, const char *name)
{
	const struct linked_object *program =
		objects->objects.len ? &objects->objects.data[0] : NULL;
	for (size_t i = 0; program && i < program->symbol_count; i++) {
		const Elf64_Sym *symbol = &program->symbols[i];
		if (symbol->st_shndx == SHN_UNDEF && symbol->st_value &&
			!strcmp(symbol_name(program, symbol), name))
			return program->bias + symbol->st_value;
	}
	return 0;
}

static bool is_reference(const Elf64_Rela *relocation)
{
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return true;
	case R_X86_64_64:
		return !relocation->r_addend;
	default:
		return false;
	}
}

/* Whether an address is where a reference leads that is not bound yet: code that pushes its number
 * and jumps to the linker (AMD64 ABI 1.0, section 5.2; with IBT endbr64 comes first, and MPX had a
 * prefix). */
static bool is_plt_stub(const struct process_memory *memory, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[11] = {0};
	if (process_memory_read(memory, address, code, sizeof(code)) != sizeof(code))
		return false;
	const uint8_t *at = memcmp(code, endbr64, sizeof(endbr64)) ? code : code + sizeof(endbr64);
	if (*at != 0x68) /* push imm32 */
		return false;
	at += 5;
	return *at == 0xe9 || (*at == 0xf2 && at[1] == 0xe9);
}

/* Whether a reference of an object is not bound yet. One that leads into its own code may be bound
 * to a function of it. */
static bool is_unbound(const struct linked_objects *objects, const struct linked_object *object,
	const Elf64_Rela *relocation, const char *name, uint64_t value)
{
	return ELF64_R_TYPE(relocation->r_info) == R_X86_64_JUMP_SLOT &&
	       value >= object->code_start && value < object->code_end &&
	       (!defines_any(object, name) || is_plt_stub(&objects->memory, value));
}

static size_t find_name(const char *name, const char *const *names, size_t count)
{
	size_t i = 0;
	while (i < count && strcmp(name, names[i]) != 0)
		i++;
	return i;
}

struct error *linked_slots(const struct linked_objects *objects, const struct linked_object *object,
	const char *const *names, const uint64_t *targets, size_t count,
	struct linked_slot_vec *slots, struct linked_slot_vec *others)
{
	for (size_t i = 0; i < object->relocation_count; i++) {
		const Elf64_Rela *relocation = &object->relocations[i];
		size_t number = ELF64_R_SYM(relocation->r_info);
		if (!is_reference(relocation) || !number || number >= object->symbol_count)
			continue;
		const char *name = symbol_name(object, &object->symbols[number]);
		size_t function = find_name(name, names, count);
		struct linked_slot slot = {
			.address = object->bias + relocation->r_offset, .function = function};
		if (function == count || !targets[function] ||
			process_memory_read(&objects->memory, slot.address, &slot.value, 8) != 8)
			continue;
		bool is_bound = slot.value == targets[function] ||
				(slot.value && slot.value == plt_entry(objects, name));
		slot.is_lazy =
			!is_bound && is_unbound(objects, object, relocation, name, slot.value);
		if (!linked_slot_vec_push(is_bound || slot.is_lazy ? slots : others, slot))
			return error_no_memory();
	}
	return NULL;
}

uint64_t linked_objects_state(const struct process_memory *memory, uint64_t debug)
{
	uint64_t head[2], state = 14695981039346656037ull;
	if (process_memory_read(memory, debug, head, sizeof(head)) != sizeof(head))
		return 0;
	uint64_t next = head[1];
	for (unsigned i = 0; next && i < OBJECTS_MAX; i++) {
		struct loaded map;
		if (process_memory_read(memory, next, &map, sizeof(map)) != sizeof(map))
			return 0;
		state = (state ^ next ^ map.bias ^ map.dynamic) * 1099511628211ull;
		next = map.next;
	}
	return state;
}
