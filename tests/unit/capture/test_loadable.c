/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs the runtime can be loaded into: files made by hand, whole, cut and garbled. */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/tap.h"
#include "runtime/preload/loadable.h"

static char folder[] = "/tmp/heapwise-test-loadable-XXXXXX";
static char path[sizeof(folder) + 16];

static const char *name_of(const char *name)
{
	if (!strcmp(folder + sizeof(folder) - 7, "XXXXXX")) /* a made one may end with an X too */
		CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void file_make(const char *name, const void *bytes, size_t len)
{
	int fd = open(name_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !close(fd));
}

static char told[HW_NOTICE_PATH];

static bool loadable_at(int at, const char *program)
{
	return rt_loadable(rt_unrecorded(at, program, told));
}

static bool loadable_by_name(const char *name)
{
	return rt_loadable(rt_unrecorded_by_name(name, told));
}

static bool loadable(const void *bytes, size_t len)
{
	file_make("program", bytes, len);
	bool ret = loadable_at(AT_FDCWD, path);
	CHECK(!unlink(path) && !rmdir(folder));
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	return ret;
}

/* A program in one segment: headers, loader's name, dynamic section, strings. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr phdrs[3];
	char loader[32];
	Elf64_Dyn dynamic[3];
	char strings[64];
};

#define ADDRESS 0x400000

static struct program program_make(const char *loader, const char *symbol)
{
	struct program p = {.header = {.e_ident = ELFMAG,
				    .e_type = ET_DYN,
				    .e_machine = EM_X86_64,
				    .e_phoff = offsetof(struct program, phdrs),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 3}};
	p.header.e_ident[EI_CLASS] = ELFCLASS64;
	p.header.e_ident[EI_DATA] = ELFDATA2LSB;
	p.phdrs[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = ADDRESS, .p_filesz = sizeof(p)};
	p.phdrs[1] = (Elf64_Phdr){.p_type = PT_INTERP,
		.p_offset = offsetof(struct program, loader),
		.p_filesz = strlen(loader) + 1};
	p.phdrs[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
		.p_offset = offsetof(struct program, dynamic),
		.p_filesz = sizeof(p.dynamic)};
	strcpy(p.loader, loader);
	p.dynamic[0] = (Elf64_Dyn){DT_STRTAB, {ADDRESS + offsetof(struct program, strings)}};
	p.dynamic[1] = (Elf64_Dyn){DT_STRSZ, {sizeof(p.strings)}};
	memcpy(p.strings + 1, "malloc", 7);
	strcpy(p.strings + 8, symbol);
	return p;
}

/* Whether this very program is built with a sanitizer: gcc says it one way, clang the other. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

#define GLIBC "/lib64/ld-linux-x86-64.so.2"

CASE(usual, "a usual program is loadable")
{
	struct program p = program_make(GLIBC, "__asan_init_not");
	CHECK(loadable(&p, sizeof(p)));
	CHECK(loadable_at(AT_FDCWD, "/proc/self/exe") == !SANITIZED);
	CHECK(loadable_by_name("sh"));
}

CASE(foreign, "programs of another class, machine or libc are not")
{
	struct program p = program_make("/lib/ld-musl-x86_64.so.1", "free");
	CHECK(!loadable(&p, sizeof(p)));
	p = program_make(GLIBC, "free");
	p.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(!loadable(&p, sizeof(p)));
	p.header.e_ident[EI_CLASS] = ELFCLASS64;
	p.header.e_machine = EM_AARCH64;
	CHECK(!loadable(&p, sizeof(p)));
}

CASE(sanitized, "programs built with a sanitizer are not")
{
	static const char *const names[] = {
		"__asan_init", "__tsan_init", "__msan_init", "liblsan.so.0"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct program p = program_make(GLIBC, names[i]);
		CHECK(!loadable(&p, sizeof(p)));
	}
}

CASE(scripts, "a script is as its interpreter, and one that names itself has an end")
{
	struct program p = program_make(GLIBC, "__asan_init");
	char text[128], own[sizeof(path)];
	file_make("interpreter", &p, sizeof(p));
	int len = snprintf(text, sizeof(text), "#! %s -x\n", path);
	strcpy(own, path);
	file_make("script", text, (size_t)len);
	CHECK(!loadable_at(AT_FDCWD, path));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(!loadable_at(fd, NULL));
	close(fd);
	len = snprintf(text, sizeof(text), "#!%s", path);
	file_make("script", text, (size_t)len);
	CHECK(loadable_at(AT_FDCWD, path));
	CHECK(!unlink(path) && !unlink(own) && !rmdir(folder));
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

static enum hw_unrecorded why(const void *bytes, size_t len)
{
	file_make("program", bytes, len);
	enum hw_unrecorded ret = rt_unrecorded(AT_FDCWD, path, told);
	CHECK(!ret || !strcmp(told, path));
	CHECK(!unlink(path) && !rmdir(folder));
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	return ret;
}

CASE(reasons, "each program that can't be recorded has its reason")
{
	struct program p = program_make(GLIBC, "free");
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_NOT);
	p.phdrs[1].p_type = PT_NULL;
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_STATIC);
	p.dynamic[2] = p.dynamic[1];
	p.dynamic[1] = (Elf64_Dyn){DT_SONAME, {1}};
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_NOT); /* the loader itself */
	p.header.e_type = ET_EXEC;
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_STATIC);
	p.header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_CLASS);
	p.header.e_machine = EM_386;
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_CLASS);
	p.header.e_machine = EM_AARCH64;
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_MACHINE);
	p = program_make("/lib/ld-musl-x86_64.so.1", "free");
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_MUSL);
	p = program_make(GLIBC, "__tsan_init");
	CHECK(why(&p, sizeof(p)) == HW_UNRECORDED_SANITIZER);
}

CASE(names,
	"a program is named as it was asked for, a long path by its end, an open file by its link")
{
	struct program p = program_make(GLIBC, "__asan_init");
	char text[2 * HW_NOTICE_PATH];
	file_make("program", &p, sizeof(p));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(rt_unrecorded(fd, NULL, told) == HW_UNRECORDED_SANITIZER);
	CHECK_STR(told, path);
	close(fd);
	memset(text, '/', sizeof(text));
	strcpy(text + sizeof(text) - strlen(path) - 1, path);
	CHECK(rt_unrecorded(AT_FDCWD, text, told) == HW_UNRECORDED_SANITIZER);
	CHECK_U64(strlen(told), HW_NOTICE_PATH - 1);
	CHECK(!strncmp(told, ".../", 4) && !strcmp(told + strlen(told) - strlen(path), path));
	char *before = strdup(getenv("PATH"));
	CHECK(before && !setenv("PATH", folder, 1));
	CHECK(rt_unrecorded_by_name("program", told) == HW_UNRECORDED_SANITIZER);
	CHECK_STR(told, path);
	CHECK(!setenv("PATH", before, 1));
	free(before);
	CHECK(!unlink(path) && !rmdir(folder));
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

CASE(rights, "a program that starts with other rights, readable or not")
{
	if (geteuid() != 0)
		SKIP("only root can give a program to another user");
	struct program p = program_make(GLIBC, "free");
	file_make("program", &p, sizeof(p));
	CHECK(!chmod(path, 04711) && rt_unrecorded(AT_FDCWD, path, told) == HW_UNRECORDED_NOT);
	CHECK(!chown(path, 65534, 65534) && !chmod(path, 04711));
	CHECK(rt_unrecorded(AT_FDCWD, path, told) == HW_UNRECORDED_SETUID);
	CHECK_STR(told, path);
	CHECK(rt_loadable(HW_UNRECORDED_SETUID));
	CHECK(!chmod(path, 02711) && rt_unrecorded(AT_FDCWD, path, told) == HW_UNRECORDED_SETUID);
	CHECK(!chmod(path, 02701) && rt_unrecorded(AT_FDCWD, path, told) == HW_UNRECORDED_NOT);
	CHECK(!unlink(path) && !rmdir(folder));
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

CASE(unknown, "what cannot be looked at is loadable")
{
	CHECK(loadable_at(AT_FDCWD, "/nonexistent"));
	CHECK(loadable_at(AT_FDCWD, "/"));
	CHECK(loadable_at(AT_FDCWD, (const char *)8));
	CHECK(loadable_at(-1, NULL));
	CHECK(loadable_by_name("no-such-program-anywhere"));
	CHECK(loadable_by_name(""));
	CHECK(loadable("echo\n", 5));
	CHECK(loadable("#!", 2));
}

CASE(garbled, "a program cut or garbled at any byte is answered")
{
	struct program p = program_make(GLIBC, "__asan_init");
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	for (size_t cut = 1; cut < sizeof(p); cut += 7)
		loadable(&p, cut);
	for (size_t i = 0; i < sizeof(p); i++) {
		for (size_t v = 0; v < sizeof(values); v++) {
			struct program q = p;
			((uint8_t *)&q)[i] = values[v];
			loadable(&q, sizeof(q));
		}
	}
}

TAP_MAIN
