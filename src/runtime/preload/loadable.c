/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see loadable.h. May touch: the same, and PATH in the environment.
 *
 * The file is mapped, looked at with every offset checked, and unmapped again; nothing is kept,
 * since a vfork child does this in its parent's memory.
 */
#include "runtime/preload/loadable.h"

#include "runtime/core/sys.h"

#include <elf.h>
#include <linux/fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPTS_MAX 4
#define PATH_BYTES 4096
#define DEFAULT_PATH "/bin:/usr/bin"

struct file {
	const uint8_t *data;
	uint64_t bytes;
};

static const void *at(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ? f->data + offset : NULL;
}

/* Program header number i, checked; false: there is none. The table need not be aligned. */
static bool phdr_at(const struct file *f, unsigned i, Elf64_Phdr *ret)
{
	const Elf64_Ehdr *e = at(f, 0, sizeof(*e));
	if (!e || i >= e->e_phnum || e->e_phentsize != sizeof(*ret))
		return false;
	const void *p = at(f, e->e_phoff + (uint64_t)i * sizeof(*ret), sizeof(*ret));
	if (p)
		memcpy(ret, p, sizeof(*ret));
	return p;
}

static bool phdr_find(const struct file *f, uint32_t type, Elf64_Phdr *ret)
{
	for (unsigned i = 0; phdr_at(f, i, ret); i++) {
		if (ret->p_type == type)
			return true;
	}
	return false;
}

static const void *at_address(const struct file *f, uint64_t address, uint64_t bytes)
{
	Elf64_Phdr p;
	for (unsigned i = 0; phdr_at(f, i, &p); i++) {
		if (p.p_type == PT_LOAD && address - p.p_vaddr < p.p_filesz)
			return at(f, p.p_offset + (address - p.p_vaddr), bytes);
	}
	return NULL;
}

/* Whether a name of those that only a sanitizer's users have stands among the dynamic strings. */
static bool names_sanitizer(const char *strings, uint64_t bytes)
{
	static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init",
		"__hwasan_init", "__lsan_init", "liblsan.so.0"};
	for (const char *s = strings, *end = strings + bytes; s < end;
		s += strnlen(s, (size_t)(end - s)) + 1) {
		size_t left = (size_t)(end - s);
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (*s == *names[i] && strnlen(s, left) < left && !strcmp(s, names[i]))
				return true;
		}
	}
	return false;
}

static bool is_sanitized(const struct file *f)
{
	Elf64_Phdr p;
	if (!phdr_find(f, PT_DYNAMIC, &p))
		return false;
	uint64_t address = 0, bytes = 0;
	Elf64_Dyn d;
	for (uint64_t offset = 0; offset + sizeof(d) <= p.p_filesz; offset += sizeof(d)) {
		const void *entry = at(f, p.p_offset + offset, sizeof(d));
		if (!entry)
			return false;
		memcpy(&d, entry, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			address = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRSZ)
			bytes = d.d_un.d_val;
	}
	const char *strings = at_address(f, address, bytes);
	return strings && names_sanitizer(strings, bytes);
}

static bool uses_musl(const struct file *f)
{
	static const char musl[] = "ld-musl";
	Elf64_Phdr p;
	if (!phdr_find(f, PT_INTERP, &p))
		return false;
	const char *loader = at(f, p.p_offset, p.p_filesz);
	for (uint64_t i = 0; loader && i + sizeof(musl) - 1 <= p.p_filesz; i++) {
		if (!strncmp(loader + i, musl, sizeof(musl) - 1))
			return true;
	}
	return false;
}

static bool elf_loadable(const struct file *f)
{
	const Elf64_Ehdr *e = at(f, 0, sizeof(*e));
	if (!e || e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_X86_64)
		return false;
	return !uses_musl(f) && !is_sanitized(f);
}

/* Copies the interpreter's path out of a first line. */
static bool interpreter_of(const struct file *f, char ret[static PATH_BYTES])
{
	uint64_t i = 2, n = 0, end = f->bytes < 512 ? f->bytes : 512;
	while (i < end && (f->data[i] == ' ' || f->data[i] == '\t'))
		i++;
	for (; i < end && f->data[i] != ' ' && f->data[i] != '\t' && f->data[i] != '\n'; i++)
		ret[n++] = (char)f->data[i];
	ret[n] = 0;
	return n;
}

static bool file_map(int folder, const char *path, struct file *ret)
{
	long fd = path ? sys_call4(__NR_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
		       : folder;
	struct stat st;
	long mapped = -1;
	if (!sys_failed(fd) && !sys_failed(sys_call(__NR_fstat, fd, &st, 0)) &&
		S_ISREG(st.st_mode) && st.st_size > 0)
		mapped = sys_call6(__NR_mmap, 0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (path && !sys_failed(fd))
		sys_call(__NR_close, fd, 0, 0);
	if (sys_failed(mapped))
		return false;
	*ret = (struct file){(const uint8_t *)mapped, (uint64_t)st.st_size};
	return true;
}

bool rt_loadable(int folder, const char *path)
{
	char interpreter[PATH_BYTES];
	bool loadable = true;
	for (int scripts = 0; scripts < SCRIPTS_MAX; scripts++) {
		struct file f;
		if (!file_map(folder, path, &f))
			return true;
		bool script = f.bytes > 2 && f.data[0] == '#' && f.data[1] == '!' &&
			      interpreter_of(&f, interpreter);
		if (f.bytes >= SELFMAG && !strncmp((const char *)f.data, ELFMAG, SELFMAG))
			loadable = elf_loadable(&f);
		sys_call(__NR_munmap, f.data, f.bytes, 0);
		if (!script)
			break;
		path = interpreter;
		folder = AT_FDCWD;
	}
	return loadable;
}

static const char *search_path(void)
{
	for (char **e = environ; e && *e; e++) {
		if (!strncmp(*e, "PATH=", 5))
			return *e + 5;
	}
	return DEFAULT_PATH;
}

static bool join(char ret[static PATH_BYTES], const char *folder, size_t bytes, const char *name)
{
	size_t length = strlen(name);
	if (bytes + 1 + length >= PATH_BYTES)
		return false;
	memcpy(ret, folder, bytes);
	if (bytes)
		ret[bytes++] = '/';
	memcpy(ret + bytes, name, length + 1);
	return true;
}

static bool has_slash(const char *name)
{
	while (*name && *name != '/')
		name++;
	return *name;
}

bool rt_loadable_by_name(const char *name)
{
	char path[PATH_BYTES];
	if (has_slash(name))
		return rt_loadable(AT_FDCWD, name);
	for (const char *list = search_path();; list++) {
		size_t bytes = 0;
		while (list[bytes] && list[bytes] != ':')
			bytes++;
		if (join(path, list, bytes, name) &&
			!sys_failed(sys_call4(__NR_faccessat, AT_FDCWD, path, X_OK, 0)))
			return rt_loadable(AT_FDCWD, path);
		list += bytes;
		if (!*list)
			return true;
	}
}
