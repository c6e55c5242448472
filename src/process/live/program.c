/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads only what it needs of an ELF file (header, program headers, dynamic strings), each with its
 * bounds checked: the file may be anything.
 */
#include "process/program.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "process/space/elf_image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 4

/* What speaks against it, in words. `fix` may be NULL. */
static struct error *refuse_program(struct program *p, enum program_state state, const char *fix,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

static struct error *refuse_program(
	struct program *p, enum program_state state, const char *fix, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (vasprintf(&p->why, format, args) < 0)
		p->why = NULL;
	va_end(args);
	p->fix = fix;
	p->state = state;
	return p->why ? NULL : error_no_memory();
}

static struct error *find_program_in_path(struct program *p, const char *name)
{
	const char *path = getenv("PATH");
	if (!path)
		path = "/usr/local/bin:/bin:/usr/bin";
	bool denied = false;
	for (const char *at = path;; at++) {
		size_t length = strcspn(at, ":");
		_cleanup_free_ char *file = NULL;
		if (asprintf(&file, "%.*s%s%s", (int)length, at, length ? "/" : "", name) < 0) {
			file = NULL;
			return error_no_memory();
		}
		struct stat st;
		if (!stat(file, &st) && S_ISREG(st.st_mode)) {
			if (!access(file, X_OK)) {
				p->path = steal_ptr(file);
				return NULL;
			}
			denied = true;
		}
		at += length;
		if (!*at)
			break;
	}
	return denied ? refuse_program(p, PROGRAM_NOT_EXECUTABLE, NULL,
				"found in $PATH, but not executable")
		      : refuse_program(p, PROGRAM_NOT_FOUND, NULL, "no such program in $PATH");
}

/* What no recorder can share a process with, by a name that only it has. */
static const char *sanitizer_in(const struct elf_image *strings)
{
	static const struct {
		const char *symbol, *name;
	} known[] = {{"__asan_init", "AddressSanitizer"}, {"__tsan_init", "ThreadSanitizer"},
		{"__msan_init", "MemorySanitizer"}, {"__hwasan_init", "HWAddressSanitizer"},
		{"__lsan_init", "LeakSanitizer"}, {"liblsan.so.0", "LeakSanitizer"}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].symbol) + 1;
		if (strings->data && memmem(strings->data, strings->bytes, known[i].symbol, length))
			return known[i].name;
	}
	return NULL;
}

/* Both classes have type and machine at the same place, in the byte order that they name. */
static uint16_t header_field(const struct elf_image *image, size_t offset)
{
	const uint8_t *b = image->data + offset;
	bool big = image->data[EI_DATA] == ELFDATA2MSB;
	return (uint16_t)(big ? b[0] << 8 | b[1] : b[1] << 8 | b[0]);
}

/* Names of malloc: the plain one, and those of allocators that programs are linked with. */
static bool is_malloc(const char *name, bool plain_only)
{
	static const char *const names[] = {"malloc", "je_malloc", "_rjem_malloc", "mi_malloc",
		"mi_malloc_aligned", /* all that Rust links */
		"tc_malloc", "rpmalloc", "sn_malloc"};
	size_t count = plain_only ? 1 : sizeof(names) / sizeof(names[0]);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool table_defines_malloc(
	const struct elf_image *image, const Elf64_Shdr *table, const struct elf_image *strings)
{
	const uint8_t *symbols = elf_at(image, table->sh_offset, table->sh_size);
	for (uint64_t n = 0; symbols && n < table->sh_size / sizeof(Elf64_Sym); n++) {
		Elf64_Sym symbol;
		memcpy(&symbol, symbols + n * sizeof(symbol), sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		const char *name = elf_string(strings, symbol.st_name);
		if (name && is_malloc(name, table->sh_type == SHT_DYNSYM))
			return true;
	}
	return false;
}

/*
 * Whether a table of that type has malloc. Of SHT_DYNSYM: then the executable comes before every
 * library in the search for it. A file without section headers says nothing here; the runtime finds
 * out.
 */
static bool defines_malloc(const struct elf_image *image, uint32_t type)
{
	const Elf64_Ehdr *e = elf_at(image, 0, sizeof(*e));
	const Elf64_Shdr *s = e->e_shentsize == sizeof(*s)
				      ? elf_at(image, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s))
				      : NULL;
	for (unsigned i = 0; s && i < e->e_shnum; i++) {
		Elf64_Shdr table, named;
		memcpy(&table, &s[i], sizeof(table));
		if (table.sh_type != type || table.sh_link >= e->e_shnum)
			continue;
		memcpy(&named, &s[table.sh_link], sizeof(named));
		struct elf_image strings = {
			elf_at(image, named.sh_offset, named.sh_size), named.sh_size};
		if (strings.data && table_defines_malloc(image, &table, &strings))
			return true;
	}
	return false;
}

static bool file_defines_malloc(const char *path, bool exported_only)
{
	struct file_map map;
	struct error *error = file_map_open(path, &map);
	if (error) {
		error_destroy(error);
		return false;
	}
	struct elf_image image = {map.data, map.len};
	const Elf64_Ehdr *header = elf_at(&image, 0, sizeof(*header));
	bool defines = false;
	if (header && !memcmp(image.data, ELFMAG, SELFMAG) && image.data[EI_CLASS] == ELFCLASS64)
		defines = defines_malloc(&image, SHT_DYNSYM) ||
			  (!exported_only && defines_malloc(&image, SHT_SYMTAB));
	file_map_deinit(&map);
	return defines;
}

bool program_defines_malloc(const char *path)
{
	return file_defines_malloc(path, true);
}

bool program_has_own_malloc(const char *path)
{
	return file_defines_malloc(path, false);
}

#define BUILD_FOR_X86_64 "build it for x86-64"

/* The class, the type, the machine: junk after the magic is no program of any kind. */
static struct error *check_header(struct program *p, const struct elf_image *image)
{
	bool narrow = image->bytes > EI_CLASS && image->data[EI_CLASS] == ELFCLASS32;
	bool known = narrow || (image->bytes > EI_CLASS && image->data[EI_CLASS] == ELFCLASS64);
	bool ordered = image->bytes >= EI_NIDENT &&
		       (image->data[EI_DATA] == ELFDATA2LSB || image->data[EI_DATA] == ELFDATA2MSB);
	size_t bytes = narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
	uint16_t type = known && ordered && image->bytes >= bytes
				? header_field(image, offsetof(Elf64_Ehdr, e_type))
				: ET_NONE;
	if (type != ET_EXEC && type != ET_DYN)
		return refuse_program(
			p, PROGRAM_NOT_EXECUTABLE, NULL, "is not a valid ELF program");
	uint16_t machine = header_field(image, offsetof(Elf64_Ehdr, e_machine));
	if (narrow)
		return refuse_program(p, PROGRAM_CANNOT_RECORD, BUILD_FOR_X86_64,
			"it is a 32-bit program; only x86-64 ones can be");
	if (machine != EM_X86_64 || image->data[EI_DATA] != ELFDATA2LSB)
		return refuse_program(
			p, PROGRAM_CANNOT_RECORD, BUILD_FOR_X86_64, "it is not an x86-64 program");
	return NULL;
}

#define ATTACH_INSTEAD "record it while it runs (heapwise attach PID)"
/* Go links statically unless it uses C, and has a heap of its own even then. */
#define GO_INSTEAD                                                                                 \
	"it is a Go program: its heap is not malloc's. 'go tool pprof' takes its profiles "        \
	"(net/http/pprof, runtime/pprof), and 'heapwise report' reads them"

static bool is_go(const struct elf_image *image)
{
	static const char mark[] = "\xff Go buildinf:";
	const void *all = elf_at(image, 0, image->bytes);
	return all && memmem(all, image->bytes, mark, sizeof(mark) - 1);
}

static struct error *check_elf(struct program *p, const struct elf_image *image)
{
	struct error *error = check_header(p, image);
	if (error || p->state != PROGRAM_OK)
		return error;
	const Elf64_Phdr *interp = elf_program_header(image, PT_INTERP);
	if (!interp)
		return refuse_program(p, PROGRAM_CANNOT_RECORD,
			is_go(image) ? GO_INSTEAD : "link it dynamically, or " ATTACH_INSTEAD,
			"it is linked statically, so no library can be loaded into it");
	const char *loader = elf_at(image, interp->p_offset, interp->p_filesz);
	if (loader && interp->p_filesz && memmem(loader, interp->p_filesz, "ld-musl", 7))
		return refuse_program(p, PROGRAM_CANNOT_RECORD,
			"build it with glibc, or " ATTACH_INSTEAD,
			"it uses musl; only glibc programs can be recorded");
	struct elf_image strings = elf_dynamic_strings(image);
	p->sanitizer = sanitizer_in(&strings);
	if (p->sanitizer)
		return refuse_program(p, PROGRAM_CANNOT_RECORD, "build it without",
			"it is built with %s, which replaces the allocator itself", p->sanitizer);
	p->own_malloc = defines_malloc(image, SHT_DYNSYM);
	p->is_elf = true;
	return NULL;
}

/* The kernel starts it with other rights than ours, and the dynamic linker then ignores LD_PRELOAD.
 */
static struct error *check_rights(struct program *p, const struct stat *st)
{
	if ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
		(st->st_mode & S_ISGID && st->st_gid != getegid()))
		return refuse_program(p, PROGRAM_CANNOT_RECORD,
			"record it as the user that it becomes, or a copy without the bit",
			"it is set-user-ID or set-group-ID, and the system loads no libraries into "
			"such programs");
	if (geteuid() != 0 && getxattr(p->image, "security.capability", NULL, 0) > 0)
		return refuse_program(p, PROGRAM_CANNOT_RECORD, "record a copy without them",
			"it has file capabilities, and the system loads no libraries into such "
			"programs");
	return NULL;
}

/* The interpreter of a script that begins with #!; NULL: none is named. */
static struct error *script_interpreter(const struct elf_image *image, char **ret)
{
	size_t limit = image->bytes < 512 ? image->bytes : 512, start = 2;
	while (start < limit && (image->data[start] == ' ' || image->data[start] == '\t'))
		start++;
	size_t end = start;
	while (end < limit && !strchr(" \t\n\r", image->data[end]))
		end++;
	*ret = end > start ? strndup((const char *)image->data + start, end - start) : NULL;
	return end > start && !*ret ? error_no_memory() : NULL;
}

static struct error *check_program_file(struct program *p)
{
	struct stat st;
	if (stat(p->image, &st))
		return refuse_program(p, PROGRAM_NOT_FOUND, NULL, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse_program(
			p, PROGRAM_NOT_EXECUTABLE, NULL, "is a directory, not a program");
	if (!S_ISREG(st.st_mode) || access(p->image, X_OK))
		return refuse_program(p, PROGRAM_NOT_EXECUTABLE, NULL, "is not executable");
	struct error *error = check_rights(p, &st);
	struct file_map map;
	if (error || p->state != PROGRAM_OK)
		return error;
	if ((error = file_map_open(p->image, &map))) {
		/* Executable but not readable: the kernel can run what we can't look into. */
		error_destroy(error);
		return NULL;
	}
	struct elf_image image = {map.data, map.len};
	char *interpreter = NULL;
	if (image.bytes >= 4 && !memcmp(image.data, ELFMAG, SELFMAG))
		error = check_elf(p, &image);
	else if (image.bytes > 2 && !memcmp(image.data, "#!", 2) && p->scripts < SCRIPTS_MAX)
		error = script_interpreter(&image, &interpreter);
	file_map_deinit(&map);
	if (error || !interpreter) /* without a name it is as if there were no #! */
		return error;
	free(p->image);
	p->image = interpreter;
	p->scripts++;
	return check_program_file(p);
}

struct error *program_examine(const char *name, struct program *ret)
{
	*ret = (struct program){.state = PROGRAM_OK};
	struct error *error = NULL;
	if (!strchr(name, '/'))
		error = find_program_in_path(ret, name);
	else if (!(ret->path = strdup(name)))
		error = error_no_memory();
	if (error || ret->state != PROGRAM_OK)
		return error;
	ret->image = strdup(ret->path);
	return ret->image ? check_program_file(ret) : error_no_memory();
}

void program_deinit(struct program *program)
{
	free(program->path);
	free(program->image);
	free(program->why);
	*program = (struct program){.path = NULL};
}

struct error *program_find(
	const char *name, char **ret_path, char **ret_image, enum program_state *ret_state)
{
	_cleanup_(program_deinit) struct program p;
	struct error *error = program_examine(name, &p);
	*ret_state = error ? PROGRAM_NOT_FOUND : p.state;
	if (error)
		return error;
	const char *at_fault = p.image ? p.image : name;
	if (p.state == PROGRAM_CANNOT_RECORD)
		return error_create(
			ERROR_ENVIRONMENT, "%s can't be recorded: %s; %s", at_fault, p.why, p.fix);
	if (p.state != PROGRAM_OK)
		return error_create(ERROR_ENVIRONMENT, "%s: %s", at_fault, p.why);
	*ret_path = steal_ptr(p.path);
	*ret_image = steal_ptr(p.image);
	return NULL;
}
