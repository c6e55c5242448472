/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cores that name no files: what the dynamic linker has in memory says which modules there are, and
 * what libc has of its threads where their pointers point. */
#include <elf.h>
#include <stddef.h>

#include "lib/core_builder.h"
#include "lib/tap.h"
#include "process/address_space.h"

#define PROGRAM 0x555500000000ull
#define DYNAMIC (PROGRAM + 0x1100)
#define HEAP 0x555500010000ull
#define LOADER 0x7f0000000000ull
#define LIST (LOADER + 0x1000)
#define LINKS (LOADER + 0x1100)
#define LINK_BYTES 0x40ull
#define NAMES (LOADER + 0x1800)
#define LIBC 0x7f1000000000ull
#define STACK 0x7f8000000000ull
#define PROGRAM_NAME (STACK + 0x3f00)
#define NUMBER_AT (STACK + 0x3000)

static struct core_piece *add(
	struct core_builder *core, uint64_t start, uint64_t bytes, uint32_t flags, bool there)
{
	struct core_piece *piece = core_builder_add(core, start, bytes, flags, NULL, 0);
	if (!there) {
		free(piece->data);
		piece->data = NULL;
	}
	return piece;
}

static void put_text(struct core_builder *core, uint64_t address, const char *text)
{
	core_builder_bytes(core, address, text, strlen(text) + 1);
}

/* struct link_map of link.h. */
static void put_link(struct core_builder *core, unsigned number, uint64_t bias, uint64_t name,
	uint64_t dynamic, bool last)
{
	uint64_t at = LINKS + number * LINK_BYTES;
	core_builder_word(core, at, bias);
	core_builder_word(core, at + 8, name);
	core_builder_word(core, at + 16, dynamic);
	core_builder_word(core, at + 24, last ? 0 : at + LINK_BYTES);
	core_builder_word(core, at + 32, number ? at - LINK_BYTES : 0);
}

/* A program, its dynamic linker and libc; text is left out of the core, as headers are. */
static void make(struct core_builder *core, uint16_t machine)
{
	const uint32_t rw = PF_R | PF_W;
	const uint64_t auxv[] = {AT_PHDR, PROGRAM + 64, AT_ENTRY, PROGRAM + 0x800, AT_BASE, LOADER,
		AT_EXECFN, PROGRAM_NAME};
	*core = (struct core_builder){.machine = machine, .without_files = true};
	memcpy(core->auxv, auxv, sizeof(auxv));
	add(core, PROGRAM, 0x1000, PF_R | PF_X, false);
	add(core, PROGRAM + 0x1000, 0x1000, rw, true);
	add(core, HEAP, 0x1000, rw, true);
	add(core, LOADER, 0x1000, PF_R | PF_X, false);
	add(core, LOADER + 0x1000, 0x1000, rw, true);
	add(core, LIBC, 0x2000, PF_R | PF_X, false);
	add(core, LIBC + 0x2000, 0x1000, rw, true);
	add(core, STACK, 0x4000, rw, true);
	core->thread_pointers[core->threads++] = 0;
	core_builder_word(core, DYNAMIC, DT_STRSZ);
	core_builder_word(core, DYNAMIC + 16, DT_DEBUG);
	core_builder_word(core, DYNAMIC + 24, LIST);
	core_builder_word(core, LIST, 1);
	core_builder_word(core, LIST + 8, LINKS);
	put_text(core, PROGRAM_NAME, "/opt/app");
	put_text(core, NAMES, "");
	put_text(core, NAMES + 0x10, "/lib/libc.so.6");
	put_link(core, 0, PROGRAM, NAMES, DYNAMIC, false);
	put_link(core, 1, LIBC, NAMES + 0x10, LIBC + 0x2000, false);
	/* Its name stands in the program's text. */
	put_link(core, 2, LOADER, PROGRAM + 0x200, LOADER + 0x1000, true);
}

static void open_core(
	struct core_builder *core, struct core_file *file, struct address_space *space)
{
	CHECK_OK(core_file_open_fd(core_builder_file(core), "core", file));
	CHECK_OK(address_space_of_core(file, NULL, space));
	core_builder_deinit(core);
}

static void close_core(struct core_file *file, struct address_space *space)
{
	address_space_close(space);
	core_file_close(file);
}

static void check_module(
	const struct address_space *space, uint64_t address, const char *path, uint64_t start)
{
	const struct address_module *module = address_space_module(space, address);
	CHECK(module);
	CHECK_STR(module->path, path);
	CHECK_U64(module->start, start);
}

CASE(list, "the dynamic linker's list says what is mapped where, without a file or a header")
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
	for (size_t i = 0; i < 2; i++) {
		struct core_builder core;
		struct core_file file;
		struct address_space space;
		make(&core, machines[i]);
		open_core(&core, &file, &space);
		CHECK_U64(space.modules.len, 3);
		check_module(&space, PROGRAM + 0x1100, "/opt/app", PROGRAM);
		check_module(&space, LIBC + 0x2fff, "/lib/libc.so.6", LIBC);
		check_module(&space, LOADER + 0x1000, "ld.so", LOADER);
		CHECK(address_space_module(&space, PROGRAM)->executable);
		CHECK(!address_space_module(&space, LIBC)->executable);
		CHECK(!address_space_module(&space, HEAP));
		CHECK(!address_space_module(&space, STACK));
		close_core(&file, &space);
	}
}

CASE(broken_lists, "lists that go in circles, or nowhere, end; what was right before is known")
{
	static const struct {
		unsigned link;
		uint64_t next, modules;
	} ways[] = {{2, LINKS, 3}, {1, LINKS + LINK_BYTES, 2}, {1, ~0ull, 2}, {0, LINKS, 1},
		{0, PROGRAM, 1}, {1, LIST, 2}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct core_builder core;
		struct core_file file;
		struct address_space space;
		make(&core, EM_X86_64);
		core_builder_word(&core, LINKS + ways[i].link * LINK_BYTES + 24, ways[i].next);
		open_core(&core, &file, &space);
		CHECK_U64(space.modules.len, ways[i].modules);
		close_core(&file, &space);
	}
}

CASE(no_list, "an entry that leads to no list is none")
{
	static const uint64_t wrong[] = {0, LIST + 1, LIST + 8, HEAP, PROGRAM, ~0ull};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct core_builder core;
		struct core_file file;
		struct address_space space;
		make(&core, EM_X86_64);
		core_builder_word(&core, DYNAMIC + 24, wrong[i]);
		open_core(&core, &file, &space);
		CHECK_U64(space.modules.len, 1); /* the auxiliary vector tells the program */
		close_core(&file, &space);
	}
}

/* What glibc has of a thread: its number, and an empty list. */
static void put_thread(struct core_builder *core, uint32_t tid)
{
	core_builder_word(core, NUMBER_AT, tid);
	core_builder_word(core, NUMBER_AT + 8, NUMBER_AT + 16);
	core_builder_word(core, NUMBER_AT + 16, NUMBER_AT + 16);
}

static uint64_t pointer_of(struct core_builder *core)
{
	struct core_file file;
	struct address_space space;
	open_core(core, &file, &space);
	uint64_t pointer = space.threads.data[0].thread_pointer;
	close_core(&file, &space);
	return pointer;
}

CASE(arm_pointer, "aarch64: a thread's pointer is where its table of thread-local memory is held")
{
	const uint64_t pointer = NUMBER_AT + 0x600, table = HEAP + 0x110;
	for (unsigned way = 0; way < 4; way++) {
		struct core_builder core;
		make(&core, EM_AARCH64);
		put_thread(&core, way == 1 ? 1001 : 1000);
		core_builder_word(&core, pointer, table);
		core_builder_word(&core, table - 16, way == 2 ? 0 : 16); /* its length */
		core_builder_word(&core, table, 1);
		core_builder_word(&core, table + 16, way == 3 ? LIBC : pointer + 16);
		CHECK_U64(pointer_of(&core), way ? 0 : pointer);
	}
}

CASE(x86_pointer,
	"x86-64: a thread's pointer is where its description begins, and points at itself")
{
	const uint64_t pointer = NUMBER_AT - 0x2d0;
	for (unsigned way = 0; way < 3; way++) {
		struct core_builder core;
		make(&core, EM_X86_64);
		put_thread(&core, way == 1 ? 0 : 1000);
		core_builder_word(&core, pointer, pointer);
		core_builder_word(&core, pointer + 16, way == 2 ? pointer + 16 : pointer);
		CHECK_U64(pointer_of(&core), way ? 0 : pointer);
	}
}

TAP_MAIN
