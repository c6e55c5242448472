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
#include <errno.h>
#include <linux/fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SCRIPTS_MAX 4
#define PATH_BYTES 4096
/* Of a first line, more than the kernel looks at (binfmts.h: BINPRM_BUF_SIZE). All of this stands
 * on the stack, which may be small. */
#define LINE_BYTES 512
#define DEFAULT_PATH "/bin:/usr/bin"

struct file {
	const uint8_t *data;
	uint64_t bytes;
};

static const void *file_bytes(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ? f->data + offset : NULL;
}

/* Program header number i, checked; false: there is none. The table need not be aligned. */
static bool phdr_at(const struct file *f, unsigned i, Elf64_Phdr *ret)
{
	const Elf64_Ehdr *e = file_bytes(f, 0, sizeof(*e));
	if (!e || i >= e->e_phnum || e->e_phentsize != sizeof(*ret))
		return false;
	const void *p = file_bytes(f, e->e_phoff + (uint64_t)i * sizeof(*ret), sizeof(*ret));
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
			return file_bytes(f, p.p_offset + (address - p.p_vaddr), bytes);
	}
	return NULL;
}

/* Whether a name of those that only a sanitizer's users have is among the dynamic strings. */
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

/* Entry number i of the dynamic section, checked. */
static bool dynamic_at(const struct file *f, const Elf64_Phdr *section, uint64_t i, Elf64_Dyn *ret)
{
	if (i >= section->p_filesz / sizeof(*ret))
		return false;
	const void *entry = file_bytes(f, section->p_offset + i * sizeof(*ret), sizeof(*ret));
	if (entry)
		memcpy(ret, entry, sizeof(*ret));
	return entry;
}

static bool is_sanitized(const struct file *f)
{
	Elf64_Phdr p;
	if (!phdr_find(f, PT_DYNAMIC, &p))
		return false;
	uint64_t address = 0, bytes = 0;
	Elf64_Dyn d;
	for (uint64_t i = 0; dynamic_at(f, &p, i, &d) && d.d_tag != DT_NULL; i++) {
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
	const char *loader = file_bytes(f, p.p_offset, p.p_filesz);
	for (uint64_t i = 0; loader && i + sizeof(musl) - 1 <= p.p_filesz; i++) {
		if (!strncmp(loader + i, musl, sizeof(musl) - 1))
			return true;
	}
	return false;
}

/* Whether a file without a loader is one itself, which is given programs to run: it has a name as a
 * library. */
static bool is_loader(const struct file *f)
{
	const Elf64_Ehdr *e = file_bytes(f, 0, sizeof(*e));
	Elf64_Phdr p;
	Elf64_Dyn d = {.d_tag = DT_NULL};
	if (e->e_type != ET_DYN || !phdr_find(f, PT_DYNAMIC, &p))
		return false;
	for (uint64_t i = 0; dynamic_at(f, &p, i, &d) && d.d_tag != DT_NULL; i++) {
		if (d.d_tag == DT_SONAME)
			return true;
	}
	return false;
}

static enum hw_unrecorded elf_unrecorded(const struct file *f)
{
	const Elf64_Ehdr *e = file_bytes(f, 0, sizeof(*e));
	Elf64_Phdr p;
	if (!e || (e->e_machine != EM_X86_64 && e->e_machine != EM_386))
		return HW_UNRECORDED_MACHINE;
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_X86_64)
		return HW_UNRECORDED_CLASS;
	if (uses_musl(f))
		return HW_UNRECORDED_MUSL;
	if (is_sanitized(f))
		return HW_UNRECORDED_SANITIZER;
	return phdr_find(f, PT_INTERP, &p) || is_loader(f) ? HW_UNRECORDED_NOT
							   : HW_UNRECORDED_STATIC;
}

/* Copies the interpreter's path out of a first line. */
static bool interpreter_of(const struct file *f, char ret[static LINE_BYTES])
{
	uint64_t i = 2, n = 0, end = f->bytes < LINE_BYTES ? f->bytes : LINE_BYTES;
	while (i < end && (f->data[i] == ' ' || f->data[i] == '\t'))
		i++;
	for (; i < end && f->data[i] != ' ' && f->data[i] != '\t' && f->data[i] != '\n'; i++)
		ret[n++] = (char)f->data[i];
	ret[n] = 0;
	return n;
}

/* Also for a program that has taken all descriptors it may: its soft limit is raised that long. */
static long open_file(int folder, const char *path, int flags)
{
	struct limits {
		uint64_t soft, hard;
	} before;
	long fd = sys_call4(__NR_openat, folder, path, flags | O_CLOEXEC, 0);
	if (fd != -EMFILE || sys_failed(sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, NULL, &before)))
		return fd;
	struct limits raised = {before.hard, before.hard};
	if (sys_failed(sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, &raised, NULL)))
		return fd;
	fd = sys_call4(__NR_openat, folder, path, flags | O_CLOEXEC, 0);
	sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, &before, NULL);
	return fd;
}

static bool file_map(int folder, const char *path, struct file *ret)
{
	long fd = path ? open_file(folder, path, O_RDONLY | O_NONBLOCK) : folder;
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

/* Where an open file is found by its number (proc(5)). */
#define LINK_BYTES 32
static void link_of_open(char ret[static LINK_BYTES], int fd)
{
	static const char folder[] = "/proc/self/fd/";
	char digits[12], *end = ret + sizeof(folder) - 1;
	size_t n = 0;
	memcpy(ret, folder, sizeof(folder));
	for (unsigned left = (unsigned)fd; !n || left; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	while (n)
		*end++ = digits[--n];
	*end = 0;
}

static bool has_capabilities(int fd)
{
	char link[LINK_BYTES];
	link_of_open(link, fd);
	return sys_call4(__NR_getxattr, link, "security.capability", NULL, 0) > 0;
}

/* Whether the kernel heeds the rights that are on a file. */
static bool rights_count(int fd)
{
	struct statfs fs;
	return !sys_failed(sys_call(__NR_fstatfs, fd, &fs, 0)) && !(fs.f_flags & ST_NOSUID) &&
	       sys_call6(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 0;
}

/* Whether a program will have another user, group or other capabilities than its starter really has
 * (credentials(7)): the kernel tells its loader, which then ignores the environment. */
static bool gets_rights_open(int fd)
{
	struct stat st;
	if (sys_failed(sys_call(__NR_fstat, fd, &st, 0)) || !S_ISREG(st.st_mode))
		return false;
	uid_t real = (uid_t)sys_call(__NR_getuid, 0, 0, 0);
	uid_t user = (uid_t)sys_call(__NR_geteuid, 0, 0, 0);
	gid_t group = (gid_t)sys_call(__NR_getegid, 0, 0, 0);
	bool sets_group = (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
	bool more = real != 0 && has_capabilities(fd);
	if ((st.st_mode & S_ISUID || sets_group || more) && rights_count(fd)) {
		user = st.st_mode & S_ISUID ? st.st_uid : user;
		group = sets_group ? st.st_gid : group;
	} else {
		more = false;
	}
	return user != real || group != (gid_t)sys_call(__NR_getgid, 0, 0, 0) || more;
}

/* Of files too that may be executed, but not read. */
static bool gets_rights(int folder, const char *path)
{
	if (!path)
		return gets_rights_open(folder);
	long fd = open_file(folder, path, O_PATH);
	bool gets = !sys_failed(fd) && gets_rights_open((int)fd);
	if (!sys_failed(fd))
		sys_call(__NR_close, fd, 0, 0);
	return gets;
}

static enum hw_unrecorded why_unrecorded(int folder, const char *path)
{
	char interpreter[LINE_BYTES];
	enum hw_unrecorded why = HW_UNRECORDED_NOT;
	for (int scripts = 0; scripts < SCRIPTS_MAX; scripts++) {
		struct file f;
		bool script = false;
		if (file_map(folder, path, &f)) {
			script = f.bytes > 2 && f.data[0] == '#' && f.data[1] == '!' &&
				 interpreter_of(&f, interpreter);
			if (f.bytes >= SELFMAG && !strncmp((const char *)f.data, ELFMAG, SELFMAG))
				why = elf_unrecorded(&f);
			sys_call(__NR_munmap, f.data, f.bytes, 0);
		}
		if (!script)
			break;
		path = interpreter;
		folder = AT_FDCWD;
	}
	return !why && gets_rights(folder, path) ? HW_UNRECORDED_SETUID : why;
}

/* A name as notices have it, in full or its end. */
static void put_notice_name(char ret[static HW_NOTICE_PATH], const char *name)
{
	size_t bytes = strlen(name) + 1, start = 0;
	if (bytes > HW_NOTICE_PATH) {
		memcpy(ret, "...", start = 3);
		name += bytes - (HW_NOTICE_PATH - start);
		bytes = HW_NOTICE_PATH - start;
	}
	memcpy(ret + start, name, bytes);
}

/* What an open file is called. */
static void name_of_open(char ret[static HW_NOTICE_PATH], int fd)
{
	char link[LINK_BYTES];
	link_of_open(link, fd);
	long got = sys_call4(__NR_readlinkat, AT_FDCWD, link, ret, HW_NOTICE_PATH - 1);
	ret[sys_failed(got) ? 0 : got] = 0;
}

enum hw_unrecorded rt_unrecorded(int folder, const char *path, char ret_path[static HW_NOTICE_PATH])
{
	enum hw_unrecorded why = why_unrecorded(folder, path);
	if (why && path)
		put_notice_name(ret_path, path);
	else if (why)
		name_of_open(ret_path, folder);
	return why;
}

bool rt_loadable(enum hw_unrecorded why)
{
	return why == HW_UNRECORDED_NOT || why == HW_UNRECORDED_STATIC ||
	       why == HW_UNRECORDED_SETUID;
}

static const char *search_path(void)
{
	for (char **e = environ; e && *e; e++) {
		if (!strncmp(*e, "PATH=", 5))
			return *e + 5;
	}
	return DEFAULT_PATH;
}

static bool join_path(
	char ret[static PATH_BYTES], const char *folder, size_t bytes, const char *name)
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

/* Where a name is found; false: nowhere. */
static bool find_in_path(const char *name, char ret[static PATH_BYTES])
{
	for (const char *list = search_path();; list++) {
		size_t bytes = 0;
		while (list[bytes] && list[bytes] != ':')
			bytes++;
		if (join_path(ret, list, bytes, name) &&
			!sys_failed(sys_call4(__NR_faccessat, AT_FDCWD, ret, X_OK, 0)))
			return true;
		list += bytes;
		if (!*list)
			return false;
	}
}

enum hw_unrecorded rt_unrecorded_by_name(const char *name, char ret_path[static HW_NOTICE_PATH])
{
	char path[PATH_BYTES];
	if (has_slash(name))
		return rt_unrecorded(AT_FDCWD, name, ret_path);
	return find_in_path(name, path) ? rt_unrecorded(AT_FDCWD, path, ret_path)
					: HW_UNRECORDED_NOT;
}
