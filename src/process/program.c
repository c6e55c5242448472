/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads only what it needs of an ELF file (header, program headers, dynamic strings), each with its
 * bounds checked: the file may be anything.
 */
#include "process/program.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 4

static struct error *refuse(const char *path, const char *why, enum program_state *ret)
{
	*ret = PROGRAM_CANNOT_RECORD;
	return error_create(ERROR_ENVIRONMENT, "%s can't be recorded: %s", path, why);
}

static struct error *find_in_path(const char *name, char **ret_path)
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
				*ret_path = steal_ptr(file);
				return NULL;
			}
			denied = true;
		}
		at += length;
		if (!*at)
			break;
	}
	*ret_path = NULL;
	return denied ? error_create(
				ERROR_ENVIRONMENT, "%s: found in $PATH, but not executable", name)
		      : error_create(ERROR_ENVIRONMENT, "%s: no such program in $PATH", name);
}

/* A file's bytes as an ELF image with checked access. */
struct image {
	const uint8_t *data;
	size_t bytes;
};

static const void *at(const struct image *image, uint64_t offset, uint64_t bytes)
{
	if (offset > image->bytes || bytes > image->bytes - offset)
		return NULL;
	return image->data + offset;
}

static const Elf64_Phdr *phdr_of(const struct image *image, uint32_t type)
{
	const Elf64_Ehdr *e = at(image, 0, sizeof(*e));
	if (!e || e->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	const Elf64_Phdr *p = at(image, e->e_phoff, (uint64_t)e->e_phnum * sizeof(*p));
	for (unsigned i = 0; p && i < e->e_phnum; i++) {
		Elf64_Phdr copy;
		memcpy(&copy, &p[i], sizeof(copy));
		if (copy.p_type == type)
			return &p[i];
	}
	return NULL;
}

static uint64_t offset_of(const struct image *image, uint64_t address)
{
	const Elf64_Ehdr *e = at(image, 0, sizeof(*e));
	const Elf64_Phdr *p = at(image, e->e_phoff, (uint64_t)e->e_phnum * sizeof(*p));
	for (unsigned i = 0; p && i < e->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && address - p[i].p_vaddr < p[i].p_filesz)
			return p[i].p_offset + (address - p[i].p_vaddr);
	}
	return UINT64_MAX;
}

/* The dynamic string table: every name that the program defines, needs or asks for. */
static struct image dynamic_strings(const struct image *image)
{
	const Elf64_Phdr *dynamic = phdr_of(image, PT_DYNAMIC);
	struct image none = {NULL, 0};
	if (!dynamic)
		return none;
	const Elf64_Dyn *d = at(image, dynamic->p_offset, dynamic->p_filesz);
	uint64_t address = 0, bytes = 0;
	for (uint64_t i = 0; d && i < dynamic->p_filesz / sizeof(*d) && d[i].d_tag != DT_NULL;
		i++) {
		if (d[i].d_tag == DT_STRTAB)
			address = d[i].d_un.d_ptr;
		else if (d[i].d_tag == DT_STRSZ)
			bytes = d[i].d_un.d_val;
	}
	const uint8_t *strings = address ? at(image, offset_of(image, address), bytes) : NULL;
	return strings ? (struct image){strings, bytes} : none;
}

/* What no recorder can share a process with, by a name that only it has. */
static const char *sanitizer_in(const struct image *strings)
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
static uint16_t header_field(const struct image *image, size_t offset)
{
	const uint8_t *b = image->data + offset;
	bool big = image->data[EI_DATA] == ELFDATA2MSB;
	return (uint16_t)(big ? b[0] << 8 | b[1] : b[1] << 8 | b[0]);
}

/* The class, the type, the machine: junk behind the magic is no program of any kind. */
static struct error *check_header(
	const char *path, const struct image *image, enum program_state *ret_state)
{
	bool narrow = image->bytes > EI_CLASS && image->data[EI_CLASS] == ELFCLASS32;
	bool known = narrow || (image->bytes > EI_CLASS && image->data[EI_CLASS] == ELFCLASS64);
	bool ordered = image->bytes >= EI_NIDENT &&
		       (image->data[EI_DATA] == ELFDATA2LSB || image->data[EI_DATA] == ELFDATA2MSB);
	size_t bytes = narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
	uint16_t type = known && ordered && image->bytes >= bytes
				? header_field(image, offsetof(Elf64_Ehdr, e_type))
				: ET_NONE;
	if (type != ET_EXEC && type != ET_DYN) {
		*ret_state = PROGRAM_NOT_EXECUTABLE;
		return error_create(ERROR_ENVIRONMENT, "%s: is not a valid ELF program", path);
	}
	uint16_t machine = header_field(image, offsetof(Elf64_Ehdr, e_machine));
	if (narrow)
		return refuse(path, "it is a 32-bit program; only x86-64 ones can be", ret_state);
	if (machine != EM_X86_64 || image->data[EI_DATA] != ELFDATA2LSB)
		return refuse(path, "it is not an x86-64 program", ret_state);
	return NULL;
}

static struct error *check_elf(
	const char *path, const struct image *image, enum program_state *ret_state)
{
	struct error *error = check_header(path, image, ret_state);
	if (error)
		return error;
	const Elf64_Phdr *interp = phdr_of(image, PT_INTERP);
	if (!interp)
		return refuse(path,
			"it is linked statically, so no library can be loaded into it; link it "
			"dynamically",
			ret_state);
	const char *loader = at(image, interp->p_offset, interp->p_filesz);
	if (loader && interp->p_filesz && memmem(loader, interp->p_filesz, "ld-musl", 7))
		return refuse(path, "it uses musl; only glibc programs can be recorded", ret_state);
	struct image strings = dynamic_strings(image);
	const char *sanitizer = sanitizer_in(&strings);
	if (sanitizer) {
		_cleanup_free_ char *why = NULL;
		if (asprintf(&why,
			    "it is built with %s, which replaces the allocator itself; build it "
			    "without",
			    sanitizer) < 0) {
			why = NULL;
			return error_no_memory();
		}
		return refuse(path, why, ret_state);
	}
	return NULL;
}

/* The kernel starts it with other rights than ours, and the dynamic linker then ignores LD_PRELOAD.
 */
static struct error *check_rights(
	const char *path, const struct stat *st, enum program_state *ret_state)
{
	if ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
		(st->st_mode & S_ISGID && st->st_gid != getegid()))
		return refuse(path,
			"it is set-user-ID or set-group-ID, and the system loads no libraries into "
			"such "
			"programs; record it as the user that it becomes, or a copy without the "
			"bit",
			ret_state);
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return refuse(path,
			"it has file capabilities, and the system loads no libraries into such "
			"programs; "
			"record a copy without them",
			ret_state);
	return NULL;
}

static struct error *check_file(const char *path, int scripts, enum program_state *ret_state)
{
	struct stat st;
	*ret_state = PROGRAM_NOT_FOUND;
	if (stat(path, &st))
		return error_errno(ERROR_ENVIRONMENT, errno, "%s", path);
	*ret_state = PROGRAM_NOT_EXECUTABLE;
	if (S_ISDIR(st.st_mode))
		return error_create(ERROR_ENVIRONMENT, "%s: is a folder, not a program", path);
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return error_create(ERROR_ENVIRONMENT, "%s: is not executable", path);
	struct error *error = check_rights(path, &st, ret_state);
	if (error)
		return error;
	struct file_map map;
	if ((error = file_map_open(path, &map))) {
		/* Executable but not readable: the kernel can run what we can't look into. */
		error_destroy(error);
		return NULL;
	}
	struct image image = {map.data, map.len};
	if (image.bytes >= 4 && !memcmp(image.data, ELFMAG, SELFMAG)) {
		error = check_elf(path, &image, ret_state);
	} else if (image.bytes > 2 && !memcmp(image.data, "#!", 2) && scripts < SCRIPTS_MAX) {
		size_t limit = image.bytes < 512 ? image.bytes : 512, start = 2;
		while (start < limit && (image.data[start] == ' ' || image.data[start] == '\t'))
			start++;
		size_t end = start;
		while (end < limit && !strchr(" \t\n\r", image.data[end]))
			end++;
		_cleanup_free_ char *interpreter =
			strndup((const char *)image.data + start, end - start);
		if (!interpreter)
			error = error_no_memory();
		else if (*interpreter) /* else it is as if there were no #! */
			error = check_file(interpreter, scripts + 1, ret_state);
	}
	file_map_deinit(&map);
	return error;
}

struct error *program_find(const char *name, char **ret_path, enum program_state *ret_state)
{
	_cleanup_free_ char *path = NULL;
	*ret_state = PROGRAM_NOT_FOUND;
	if (strchr(name, '/')) {
		path = strdup(name);
		if (!path)
			return error_no_memory();
	} else {
		struct error *error = find_in_path(name, &path);
		if (error) {
			if (strstr(error->message, "not executable"))
				*ret_state = PROGRAM_NOT_EXECUTABLE;
			return error;
		}
	}
	struct error *error = check_file(path, 0, ret_state);
	if (error)
		return error;
	*ret_state = PROGRAM_OK;
	*ret_path = steal_ptr(path);
	return NULL;
}
