/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where threads have thread-local variables: by tables and lists of a dynamic linker that was never
 * run, and by damaged ones. */
#include <elf.h>
#include <string.h>

#include "lib/core_builder.h"
#include "lib/tap.h"
#include "roots/thread_blocks.h"

#define PROGRAM 0x555500000000ull
#define DYNAMIC (PROGRAM + 0x1100)
#define LINKER 0x7f0000000000ull
#define LIST LINKER
#define LINKS (LINKER + 0x100)
#define LINK_BYTES 0x500ull
/* Where in a link_map libc's own part of thread-local memory happens to stand. */
#define LINK_TLS 0x418ull
#define TABLE (LINKER + 0x2000)
#define LATER (LINKER + 0x3000)
#define OTHERS 0x7f0800000000ull /* links of modules without thread-local memory */
#define OTHER_BYTES 0x40ull
#define OTHER_COUNT 5000u
#define EARLY 0x7f1000000000ull
#define LATE 0x7f2000000000ull
#define STORAGE 0x7f8000000000ull
#define STORAGE_BYTES 0x2000ull
#define POINTER (STORAGE + 0x1000)

/* What modules have of thread-local memory: at the same place of each file. */
#define IMAGE 0x1800ull
static const Elf64_Phdr parts[3] = {
	{.p_type = PT_TLS, .p_vaddr = IMAGE, .p_filesz = 0x10, .p_memsz = 0x64, .p_align = 0x20},
	{.p_type = PT_TLS, .p_vaddr = IMAGE, .p_filesz = 0, .p_memsz = 0x40, .p_align = 8},
	{.p_type = PT_TLS, .p_vaddr = IMAGE, .p_filesz = 0x20, .p_memsz = 0x30, .p_align = 16},
};
static const uint64_t starts[3] = {PROGRAM, EARLY, LATE};

static void put_module(struct core_builder *core, unsigned number)
{
	static const char *const paths[] = {"/app", "/lib/early.so", "/lib/late.so"};
	const uint64_t start = starts[number];
	core_builder_add(core, start, 0x1000, PF_R, paths[number], 0);
	core_builder_add(core, start + 0x1000, 0x1000, PF_R | PF_W, paths[number], 0x1000);
	const Elf64_Phdr headers[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x2000, .p_memsz = 0x2000},
		parts[number],
		{.p_type = PT_DYNAMIC, .p_vaddr = 0x1100, .p_memsz = 0x100},
	};
	Elf64_Ehdr file = {.e_machine = core->machine,
		.e_type = ET_DYN,
		.e_phoff = sizeof(file),
		.e_phentsize = sizeof(headers[0]),
		.e_phnum = 3};
	memcpy(file.e_ident, ELFMAG, SELFMAG);
	file.e_ident[EI_CLASS] = ELFCLASS64;
	file.e_ident[EI_DATA] = ELFDATA2LSB;
	core_builder_bytes(core, start, &file, sizeof(file));
	core_builder_bytes(core, start + sizeof(file), headers, sizeof(headers));
}

static void put_link(struct core_builder *core, unsigned number, uint64_t offset, uint64_t id)
{
	const uint64_t at = LINKS + number * LINK_BYTES, start = starts[number];
	const uint64_t link[] = {start, 0, start + 0x1100, number < 2 ? at + LINK_BYTES : 0,
		number ? at - LINK_BYTES : 0};
	const uint64_t local[] = {start + IMAGE, parts[number].p_filesz, parts[number].p_memsz,
		parts[number].p_align, 0, offset, id};
	core_builder_bytes(core, at, link, sizeof(link));
	core_builder_bytes(core, at + LINK_TLS, local, sizeof(local));
}

/* One thread; `early` is there from the start, and `late` has memory elsewhere. */
static void make(struct core_builder *core, uint16_t machine)
{
	const bool x86 = machine == EM_X86_64;
	const uint64_t auxv[] = {AT_PHDR, PROGRAM + 64, AT_ENTRY, PROGRAM + 0x800};
	*core = (struct core_builder){.machine = machine};
	memcpy(core->auxv, auxv, sizeof(auxv));
	put_module(core, 0);
	core_builder_add(core, LINKER, 0x4000, PF_R | PF_W, NULL, 0);
	core_builder_add(core, OTHERS, OTHER_BYTES * OTHER_COUNT, PF_R | PF_W, NULL, 0);
	put_module(core, 1);
	put_module(core, 2);
	core_builder_add(core, STORAGE, STORAGE_BYTES, PF_R | PF_W, NULL, 0);
	core->thread_pointers[core->threads++] = POINTER;
	core_builder_word(core, DYNAMIC, DT_DEBUG);
	core_builder_word(core, DYNAMIC + 8, LIST);
	core_builder_word(core, LIST, 1);
	core_builder_word(core, LIST + 8, LINKS);
	put_link(core, 0, x86 ? 0x80 : 0x20, 1);
	put_link(core, 1, x86 ? 0xc0 : 0x88, 2);
	put_link(core, 2, x86 ? 0 : -1ull, 5);
	core_builder_word(core, POINTER, x86 ? POINTER : TABLE);
	if (x86)
		core_builder_word(core, POINTER + 8, TABLE);
	core_builder_word(core, TABLE - 16, 14);
	core_builder_word(core, TABLE + 16 * 5, LATER + 0x40);
}

static void find(struct core_builder *core, struct core_file *file, struct address_space *space,
	struct thread_blocks *blocks)
{
	CHECK_OK(core_file_open_fd(core_builder_file(core), "core", file));
	CHECK_OK(address_space_of_core(file, NULL, space));
	core_builder_deinit(core);
	CHECK_OK(thread_blocks_find(space, blocks));
}

static void close_all(
	struct core_file *file, struct address_space *space, struct thread_blocks *blocks)
{
	thread_blocks_deinit(blocks);
	address_space_close(space);
	core_file_close(file);
}

static void check_block(const struct address_space *space, const struct thread_blocks *blocks,
	uint64_t start, unsigned module)
{
	const struct thread_block *block = thread_blocks_at(blocks, start);
	CHECK(block);
	CHECK_U64(block->start, start);
	CHECK_U64(block->end, start + parts[module].p_memsz);
	CHECK_U64(space->modules.data[block->module].start, starts[module]);
	CHECK(thread_blocks_at(blocks, block->end - 1) == block);
	CHECK(!thread_blocks_at(blocks, block->end) ||
		thread_blocks_at(blocks, block->end) != block);
}

CASE(x86, "x86-64: blocks lie below the thread pointer, or where the table says")
{
	struct core_builder core;
	struct core_file file;
	struct address_space space;
	struct thread_blocks blocks;
	make(&core, EM_X86_64);
	find(&core, &file, &space, &blocks);
	CHECK_U64(blocks.blocks.len, 3);
	check_block(&space, &blocks, POINTER - 0x80, 0);
	check_block(&space, &blocks, POINTER - 0xc0, 1);
	check_block(&space, &blocks, LATER + 0x40, 2);
	CHECK(!thread_blocks_at(&blocks, POINTER));
	const struct thread_area *area = thread_blocks_area(&blocks, 0);
	CHECK(area && !thread_blocks_area(&blocks, 1));
	CHECK_U64(area->start, POINTER - 0xc0);
	CHECK(area->end > POINTER + 8);
	close_all(&file, &space, &blocks);
}

CASE(arm, "aarch64: blocks lie above the thread pointer, or where the table says")
{
	struct core_builder core;
	struct core_file file;
	struct address_space space;
	struct thread_blocks blocks;
	make(&core, EM_AARCH64);
	find(&core, &file, &space, &blocks);
	CHECK_U64(blocks.blocks.len, 3);
	check_block(&space, &blocks, POINTER + 0x20, 0);
	check_block(&space, &blocks, POINTER + 0x88, 1);
	check_block(&space, &blocks, LATER + 0x40, 2);
	const struct thread_area *area = thread_blocks_area(&blocks, 0);
	CHECK(area);
	CHECK_U64(area->start, POINTER);
	CHECK_U64(area->end, POINTER + 0x88 + 0x40);
	close_all(&file, &space, &blocks);
}

/* Puts a great many links between the first two. */
static void put_others(struct core_builder *core)
{
	uint64_t before = LINKS;
	for (uint64_t at = OTHERS; at < OTHERS + OTHER_BYTES * OTHER_COUNT; at += OTHER_BYTES) {
		const uint64_t link[] = {0x1000, 0, 0, LINKS + LINK_BYTES, before};
		core_builder_bytes(core, at, link, sizeof(link));
		core_builder_word(core, before + 24, at);
		before = at;
	}
	core_builder_word(core, LINKS + LINK_BYTES + 32, before);
}

CASE(many_modules, "the list is followed beyond thousands of modules")
{
	struct core_builder core;
	struct core_file file;
	struct address_space space;
	struct thread_blocks blocks;
	make(&core, EM_X86_64);
	put_others(&core);
	find(&core, &file, &space, &blocks);
	CHECK_U64(blocks.blocks.len, 3);
	check_block(&space, &blocks, POINTER - 0xc0, 1);
	check_block(&space, &blocks, LATER + 0x40, 2);
	close_all(&file, &space, &blocks);
}

/* What is wrong, and how many blocks are found for all that: the program's own always is. */
CASE(damaged, "lists in circles, numbers beyond the table and places that are nowhere end quietly")
{
	static const struct {
		uint64_t address, value;
		size_t blocks;
	} ways[] = {
		{DYNAMIC + 8, 0, 1}, {DYNAMIC + 8, ~0ull, 1},
		{LIST + 8, STORAGE + STORAGE_BYTES - 8, 1},
		{LINKS + LINK_BYTES + 24, LINKS, 2},                 /* a circle */
		{LINKS + 24, LINKS + LINK_BYTES + 1, 1},             /* between two */
		{LINKS + LINK_BYTES + LINK_TLS + 16, 0x41, 2},       /* another size */
		{LINKS + LINK_BYTES + LINK_TLS + 40, 1ull << 40, 2}, /* too far away */
		{LINKS + 2 * LINK_BYTES + LINK_TLS + 48, ~0ull, 2},
		{LINKS + 2 * LINK_BYTES + LINK_TLS + 48, 15, 2}, {TABLE - 16, 4, 2},
		{TABLE - 16, ~0ull, 2}, {TABLE + 16 * 5, ~0ull, 2},
		{TABLE + 16 * 5, PROGRAM + 0x10, 2},                 /* read only */
		{TABLE + 16 * 5, STORAGE + STORAGE_BYTES - 0x20, 2}, /* beyond its end */
		{POINTER + 8, ~0ull, 2}, {POINTER + 8, 8, 2},
		{PROGRAM + 64 + 56 + 40, 1ull << 62, 2}, /* PT_TLS: bytes */
		{EARLY + 64 + 56 + 48, ~0ull, 2},        /* … and alignment */
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct core_builder core;
		struct core_file file;
		struct address_space space;
		struct thread_blocks blocks;
		make(&core, EM_X86_64);
		core_builder_word(&core, ways[i].address, ways[i].value);
		find(&core, &file, &space, &blocks);
		CHECK_U64(blocks.blocks.len, ways[i].blocks);
		close_all(&file, &space, &blocks);
	}
}

TAP_MAIN
