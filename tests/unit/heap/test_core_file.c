/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Core dumps that are cut off, damaged, or made to harm: errors and memory stay within bounds. */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "heap/heap_scan.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define HEAP 0x560000000000ull
#define LIBC 0x7f0000000000ull
#define MUTATIONS TAP_SOME(500u)

/* A core with an arena of a few chunks. */
static int make_core(void)
{
	struct core_builder core = {.count = 0};
	const uint32_t rw = PF_R | PF_W;
	core_builder_add(&core, HEAP, 0x2000, rw, NULL, 0);
	core_builder_module(
		core_builder_add(&core, LIBC, 0x1000, PF_R, "/lib/libc.so.6", 0), 0x4000);
	core_builder_add(&core, LIBC + 0x1000, 0x1000, rw, "/lib/libc.so.6", 0x1000);
	core_builder_add(&core, LIBC + 0x100000, 0x1000, rw, NULL, 0);
	core.thread_pointers[core.threads++] = LIBC + 0x100800;
	uint64_t arena = LIBC + 0x1100, bins = arena + 0x70;
	for (unsigned i = 0; i < 127; i++) {
		core_builder_word(&core, bins + 16 * i, bins + 16 * i - 16);
		core_builder_word(&core, bins + 16 * i + 8, bins + 16 * i - 16);
	}
	core_builder_word(&core, bins + 0x800, arena);
	core_builder_word(&core, bins + 0x810, 1);
	core_builder_word(&core, bins + 0x818, 0x2000);
	for (unsigned i = 0; i < 64; i++)
		core_builder_word(&core, HEAP + 64 * i + 8, 64 | 1);
	core_builder_word(&core, bins - 16, HEAP + 0x1000);
	core_builder_word(&core, HEAP + 0x1008, 0x1000 | 1);
	int fd = core_builder_file(&core);
	core_builder_deinit(&core);
	return fd;
}

static struct error *scan_core(int fd, uint64_t *ret_used)
{
	struct core_file core;
	struct address_space space = {.core.fd = -1, .memory = {-1, -1, -1, NULL, NULL, NULL}};
	struct heap_names names;
	struct heap_scan scan = {.search = NULL};
	struct error *error = heap_names_open(NULL, NULL, &names);
	CHECK(!error);
	error = core_file_open_fd(fd, "core", &core);
	if (!error)
		error = address_space_of_core(&core, NULL, &space);
	if (!error)
		error = heap_scan_open(
			&space, &names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &scan);
	if (!error)
		error = heap_scan_find_types(&scan);
	if (!error)
		error = heap_scan_find_leaks(&scan);
	*ret_used = scan.totals.blocks[BLOCK_USED];
	heap_scan_close(&scan);
	address_space_close(&space);
	core_file_close(&core);
	heap_names_close(&names);
	return error;
}

static int copy(int fd, size_t len)
{
	uint8_t *bytes = calloc(1, len + 1);
	CHECK(bytes && pread(fd, bytes, len, 0) >= 0);
	int ret = memfd_create("copy", MFD_CLOEXEC);
	CHECK(ret >= 0 && write(ret, bytes, len) == (ssize_t)len);
	free(bytes);
	return ret;
}

static size_t length(int fd)
{
	return (size_t)lseek(fd, 0, SEEK_END);
}

CASE(whole, "a small core is read")
{
	uint64_t used;
	CHECK_OK(scan_core(make_core(), &used));
	CHECK_U64(used, 64);
}

CASE(cut, "a core may be cut off anywhere; what is left of it is read")
{
	int fd = make_core();
	size_t len = length(fd);
	uint64_t used, most = 0;
	for (size_t at = 0; at < len; at += TAP_STRIDE * (at < 2048 ? 7 : 509)) {
		struct error *error = scan_core(copy(fd, at), &used);
		CHECK(!error || error->code == ERROR_INPUT);
		error_destroy(error);
		most = used > most ? used : most;
	}
	CHECK_U64(most, 64);
	close(fd);
}

CASE(not_cores, "what is no core is refused with what it is")
{
	uint64_t used;
	int text = memfd_create("text", MFD_CLOEXEC);
	CHECK(write(text, "hello", 5) == 5);
	CHECK_ERROR(scan_core(text, &used), ERROR_INPUT, "not a core dump");
	int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_ERROR(scan_core(program, &used), ERROR_INPUT, "no core dump");
	int fd = make_core();
	uint16_t machine = EM_386;
	CHECK(pwrite(fd, &machine, 2, 18) == 2);
	CHECK_ERROR(scan_core(fd, &used), ERROR_INPUT, "machine 3");
}

static void set_header(int fd, unsigned number, Elf64_Phdr header)
{
	off_t at = (off_t)(sizeof(Elf64_Ehdr) + number * sizeof(header));
	CHECK(pwrite(fd, &header, sizeof(header), at) == sizeof(header));
}

CASE(absurd_segments, "segments of 2^60 bytes, beyond the file and over each other are bounded")
{
	static const Elf64_Phdr headers[] = {
		{.p_type = PT_LOAD,
			.p_flags = 6,
			.p_vaddr = 0x1000,
			.p_memsz = 1ull << 60,
			.p_filesz = 1ull << 60},
		{.p_type = PT_LOAD,
			.p_flags = 6,
			.p_vaddr = 0x1000,
			.p_memsz = 1ull << 46,
			.p_filesz = 1ull << 60},
		{.p_type = PT_LOAD,
			.p_flags = 6,
			.p_vaddr = HEAP - 0x800,
			.p_memsz = 1ull << 40,
			.p_filesz = 0x3000},
		{.p_type = PT_LOAD,
			.p_flags = 6,
			.p_vaddr = ~0ull,
			.p_memsz = ~0ull,
			.p_filesz = ~0ull,
			.p_offset = ~0ull},
		{.p_type = PT_NOTE, .p_offset = 0, .p_filesz = ~0ull},
	};
	for (unsigned i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		for (unsigned number = 0; number < 5; number++) {
			uint64_t used;
			int fd = make_core();
			set_header(fd, number, headers[i]);
			struct error *error = scan_core(fd, &used);
			CHECK(!error || error->code == ERROR_INPUT);
			error_destroy(error);
		}
	}
}

CASE(flipped, "hundreds of damaged cores end in figures or an error, soon")
{
	int fd = make_core();
	size_t len = length(fd);
	uint64_t random = 0x9e3779b97f4a7c15ull;
	for (unsigned i = 0; i < MUTATIONS; i++) {
		int one = copy(fd, len);
		for (unsigned k = 0; k < 1 + i % 8; k++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			uint64_t value = random >> 8;
			/* Half of them in headers and the arena's data. */
			size_t at = (random >> 33) % (i % 2 ? len : 0x600);
			CHECK(pwrite(one, &value, 1 + i % 4, (off_t)at) > 0);
		}
		uint64_t used;
		struct error *error = scan_core(one, &used);
		CHECK(!error || error->code == ERROR_INPUT);
		error_destroy(error);
	}
	close(fd);
}

#define MANY 70001u
#define MANY_START 0x100000000ull
#define MANY_STEP 0x10000ull

/* So many segments that their number stands elsewhere (elf(5): PN_XNUM), each with a word that is
 * its own number. */
static int make_many(void)
{
	uint64_t headers = sizeof(Elf64_Ehdr), section = headers + MANY * sizeof(Elf64_Phdr);
	uint64_t memory = section + sizeof(Elf64_Shdr);
	Elf64_Ehdr header = {.e_type = ET_CORE,
		.e_machine = EM_AARCH64,
		.e_phoff = headers,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = PN_XNUM,
		.e_shoff = section,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 1};
	Elf64_Shdr first = {.sh_info = MANY};
	memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
	uint8_t *file = calloc(1, memory + 8 * MANY);
	CHECK(file);
	memcpy(file, &header, sizeof(header));
	memcpy(file + section, &first, sizeof(first));
	for (uint64_t i = 0; i < MANY; i++) {
		Elf64_Phdr part = {.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_vaddr = MANY_START + i * MANY_STEP,
			.p_memsz = 0x1000,
			.p_filesz = 8,
			.p_offset = memory + 8 * i};
		memcpy(file + headers + i * sizeof(part), &part, sizeof(part));
		memcpy(file + memory + 8 * i, &i, sizeof(i));
	}
	int fd = memfd_create("many", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, file, memory + 8 * MANY) == (ssize_t)(memory + 8 * MANY));
	free(file);
	return fd;
}

CASE(many_segments, "more segments than fit into 16 bits are read, whatever their number")
{
	struct core_file core;
	CHECK_OK(core_file_open_fd(make_many(), "many", &core));
	CHECK_U64(core.segments.len, MANY);
	CHECK_U64(core.missing_bytes, 0);
	for (uint64_t i = 0; i < MANY; i += 997) {
		uint64_t value;
		uint64_t address = MANY_START + i * MANY_STEP;
		CHECK_U64(core_file_read(&core, address, &value, sizeof(value)), sizeof(value));
		CHECK_U64(value, i);
		CHECK_U64(core_file_read(&core, address + 8, &value, sizeof(value)), 0);
	}
	core_file_close(&core);
}

CASE(holes, "what is a hole of the file is zero, and known as such")
{
	const uint64_t bytes = 16ull << 30, start = 0x7f0000000000ull, at = 9ull << 30;
	Elf64_Ehdr header = {.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1};
	Elf64_Phdr part = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_vaddr = start,
		.p_memsz = bytes,
		.p_filesz = bytes,
		.p_offset = 0x1000};
	uint64_t value = 4711;
	memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, &header, sizeof(header)) == sizeof(header) &&
		write(fd, &part, sizeof(part)) == sizeof(part) &&
		ftruncate(fd, (off_t)(0x1000 + bytes)) == 0 &&
		pwrite(fd, &value, 8, (off_t)(0x1000 + at)) == 8);
	struct core_file core;
	CHECK_OK(core_file_open_fd(fd, "sparse", &core));
	CHECK_U64(core_file_hole(&core, start, bytes), at);
	CHECK_U64(core_file_hole(&core, start + at, bytes), 0);
	CHECK_U64(core_file_hole(&core, start + at + 0x1000, UINT64_MAX), bytes - at - 0x1000);
	value = 0;
	CHECK_U64(core_file_read(&core, start + at, &value, 8), 8);
	CHECK_U64(value, 4711);
	core_file_close(&core);
}

TAP_MAIN
