/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/core_builder.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

struct core_piece *core_builder_add(struct core_builder *builder, uint64_t start, uint64_t bytes,
	uint32_t flags, const char *path, uint64_t offset)
{
	if (builder->count == CORE_PIECES_MAX)
		abort();
	struct core_piece *piece = &builder->pieces[builder->count++];
	*piece = (struct core_piece){start, bytes, calloc(1, bytes), flags, path, offset};
	if (!piece->data)
		abort();
	return piece;
}

void core_builder_module(struct core_piece *piece, uint64_t bytes)
{
	Elf64_Ehdr header = {.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1};
	memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
	Elf64_Phdr part = {.p_type = PT_LOAD, .p_filesz = bytes, .p_memsz = bytes};
	memcpy(piece->data, &header, sizeof(header));
	memcpy(piece->data + sizeof(header), &part, sizeof(part));
}

static uint8_t *at(const struct core_builder *builder, uint64_t address, size_t len)
{
	for (unsigned i = 0; i < builder->count; i++) {
		const struct core_piece *piece = &builder->pieces[i];
		if (address >= piece->start && address + len <= piece->start + piece->bytes)
			return piece->data + (address - piece->start);
	}
	abort();
}

void core_builder_word(struct core_builder *builder, uint64_t address, uint64_t value)
{
	memcpy(at(builder, address, 8), &value, 8);
}

uint64_t core_builder_read(const struct core_builder *builder, uint64_t address)
{
	uint64_t value;
	memcpy(&value, at(builder, address, 8), 8);
	return value;
}

void core_builder_bytes(
	struct core_builder *builder, uint64_t address, const void *bytes, size_t len)
{
	memcpy(at(builder, address, len), bytes, len);
}

static void add_note(
	struct buf *notes, const char *owner, uint32_t type, const void *content, size_t len)
{
	static const char zeros[4];
	char name[8] = {0};
	strncpy(name, owner, sizeof(name) - 1);
	buf_u32(notes, (uint32_t)strlen(owner) + 1);
	buf_u32(notes, (uint32_t)len);
	buf_u32(notes, type);
	buf_bytes(notes, name, sizeof(name));
	buf_bytes(notes, content, len);
	buf_bytes(notes, zeros, -len & 3);
}

/* struct elf_prstatus: a thread's number, and of x86-64 its fs_base, which is register 21. */
static void add_thread(struct buf *notes, const struct core_builder *builder, unsigned number)
{
	uint8_t status[392] = {0};
	bool x86 = builder->machine != EM_AARCH64;
	uint64_t pointer = builder->thread_pointers[number];
	uint32_t tid = 1000 + number;
	memcpy(status + 32, &tid, 4);
	if (x86) {
		memcpy(status + 112 + 8 * 21, &pointer, 8);
		memcpy(status + 112 + 8 * 16, &builder->pcs[number], 8);
		memcpy(status + 112 + 8 * 5, &builder->rbxs[number], 8);
		memcpy(status + 12, &builder->signals[number], 2);
	}
	add_note(notes, "CORE", NT_PRSTATUS, status, x86 ? 336 : sizeof(status));
	if (!x86 && pointer)
		add_note(notes, "LINUX", NT_ARM_TLS, &pointer, sizeof(pointer));
}

static void add_files(struct buf *notes, const struct core_builder *builder)
{
	struct buf content;
	uint64_t count = 0;
	buf_init(&content);
	for (unsigned i = 0; i < builder->count; i++)
		count += builder->pieces[i].path != NULL;
	buf_u64(&content, count);
	buf_u64(&content, 4096);
	for (unsigned i = 0; i < builder->count; i++) {
		const struct core_piece *piece = &builder->pieces[i];
		if (!piece->path)
			continue;
		buf_u64(&content, piece->start);
		buf_u64(&content, piece->start + piece->bytes);
		buf_u64(&content, piece->offset / 4096);
	}
	for (unsigned i = 0; i < builder->count; i++) {
		const char *path = builder->pieces[i].path;
		if (path)
			buf_bytes(&content, path, strlen(path) + 1);
	}
	add_note(notes, "CORE", NT_FILE, content.data, content.len);
	buf_deinit(&content);
}

static void add_header(struct buf *core, const struct core_builder *builder, uint64_t notes_bytes)
{
	Elf64_Ehdr header = {.e_type = ET_CORE,
		.e_machine = builder->machine ? builder->machine : EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)(builder->count + 1)};
	memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
	buf_bytes(core, &header, sizeof(header));
	uint64_t offset = sizeof(header) + (builder->count + 1) * sizeof(Elf64_Phdr);
	Elf64_Phdr notes = {.p_type = PT_NOTE, .p_offset = offset, .p_filesz = notes_bytes};
	buf_bytes(core, &notes, sizeof(notes));
	offset += notes_bytes;
	for (unsigned i = 0; i < builder->count; i++) {
		const struct core_piece *piece = &builder->pieces[i];
		Elf64_Phdr part = {.p_type = PT_LOAD,
			.p_flags = piece->flags,
			.p_offset = offset,
			.p_vaddr = piece->start,
			.p_filesz = piece->data ? piece->bytes : 0,
			.p_memsz = piece->bytes};
		buf_bytes(core, &part, sizeof(part));
		offset += part.p_filesz;
	}
}

int core_builder_file(const struct core_builder *builder)
{
	struct buf core, notes;
	buf_init(&core);
	buf_init(&notes);
	for (unsigned i = 0; i < builder->threads; i++)
		add_thread(&notes, builder, i);
	if (builder->auxv[0])
		add_note(&notes, "CORE", NT_AUXV, builder->auxv, sizeof(builder->auxv));
	if (!builder->without_files)
		add_files(&notes, builder);
	add_header(&core, builder, notes.len);
	buf_bytes(&core, notes.data, notes.len);
	for (unsigned i = 0; i < builder->count; i++) {
		if (builder->pieces[i].data)
			buf_bytes(&core, builder->pieces[i].data, builder->pieces[i].bytes);
	}
	int fd = memfd_create("core", MFD_CLOEXEC);
	if (fd < 0 || core.failed || write(fd, core.data, core.len) != (ssize_t)core.len)
		abort();
	buf_deinit(&core);
	buf_deinit(&notes);
	return fd;
}

void core_builder_deinit(struct core_builder *builder)
{
	for (unsigned i = 0; i < builder->count; i++)
		free(builder->pieces[i].data);
	builder->count = 0;
}
