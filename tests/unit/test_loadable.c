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
	if (folder[sizeof(folder) - 2] == 'X')
		CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void file_make(const char *name, const void *bytes, size_t len)
{
	int fd = open(name_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !close(fd));
}

static bool loadable(const void *bytes, size_t len)
{
	file_make("program", bytes, len);
	bool ret = rt_loadable(AT_FDCWD, path);
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
	CHECK(rt_loadable(AT_FDCWD, "/proc/self/exe") == !SANITIZED);
	CHECK(rt_loadable_by_name("sh"));
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
	CHECK(!rt_loadable(AT_FDCWD, path));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(!rt_loadable(fd, NULL));
	close(fd);
	len = snprintf(text, sizeof(text), "#!%s", path);
	file_make("script", text, (size_t)len);
	CHECK(rt_loadable(AT_FDCWD, path));
	CHECK(!unlink(path) && !unlink(own) && !rmdir(folder));
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

CASE(unknown, "what cannot be looked at is loadable")
{
	CHECK(rt_loadable(AT_FDCWD, "/nonexistent"));
	CHECK(rt_loadable(AT_FDCWD, "/"));
	CHECK(rt_loadable(AT_FDCWD, (const char *)8));
	CHECK(rt_loadable(-1, NULL));
	CHECK(rt_loadable_by_name("no-such-program-anywhere"));
	CHECK(rt_loadable_by_name(""));
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
