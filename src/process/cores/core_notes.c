/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/cores/core_notes.h"

#include <elf.h>
#include <string.h>

/* struct elf_prstatus (linux/elfcore.h), alike on both machines up to the registers. */
#define STATUS_SIGNAL 12u
#define STATUS_TID 32u
#define STATUS_REGISTERS 112u
/* struct user_regs_struct (sys/user.h), by words. */
#define X86_REGISTERS 27u
#define X86_FS_BASE 21u
#define ARM_REGISTERS 34u

#define THREADS_MAX (1u << 22)

struct note {
	uint32_t type;
	const uint8_t *data;
	size_t len;
};

static uint64_t note_word(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static struct error *take_prstatus(struct core_file *core, const struct note *note)
{
	bool x86 = core->machine == EM_X86_64;
	size_t count = x86 ? X86_REGISTERS : ARM_REGISTERS;
	if (note->len < STATUS_REGISTERS + count * 8 || core->threads.len == THREADS_MAX) {
		core->notes_damaged = true;
		return NULL;
	}
	struct core_thread thread = {0};
	int16_t signal;
	int32_t tid;
	memcpy(&signal, note->data + STATUS_SIGNAL, sizeof(signal));
	memcpy(&tid, note->data + STATUS_TID, sizeof(tid));
	thread.signal = signal;
	thread.tid = tid;
	memcpy(thread.registers, note->data + STATUS_REGISTERS, count * 8);
	if (x86)
		thread.thread_pointer = thread.registers[X86_FS_BASE];
	return core_threads_push(&core->threads, thread) ? NULL : error_no_memory();
}

static void take_tls_note(struct core_file *core, const struct note *note)
{
	if (core->threads.len && note->len >= 8)
		core->threads.data[core->threads.len - 1].thread_pointer = note_word(note->data);
}

void core_auxv_take(struct core_auxv *auxv, const uint8_t *bytes, size_t len)
{
	const struct {
		uint64_t type;
		uint64_t *value;
	} known[] = {{AT_PHDR, &auxv->headers}, {AT_PHNUM, &auxv->header_count},
		{AT_ENTRY, &auxv->entry}, {AT_SYSINFO_EHDR, &auxv->vdso}, {AT_BASE, &auxv->loader},
		{AT_EXECFN, &auxv->name}};
	for (size_t at = 0; at + 16 <= len; at += 16) {
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			if (note_word(bytes + at) == known[i].type)
				*known[i].value = note_word(bytes + at + 8);
		}
	}
}

/* fs/binfmt_elf.c: fill_files_note(): count, size of a page, (start, end, page)…, then paths. */
static struct error *take_files(struct core_file *core, const struct note *note)
{
	uint64_t count = note->len >= 16 ? note_word(note->data) : 0;
	uint64_t page = note->len >= 16 ? note_word(note->data + 8) : 0;
	if (!count || count > (note->len - 16) / 25 || !page || page > (1u << 30)) {
		core->notes_damaged |= count || note->len < 16;
		return NULL;
	}
	const uint8_t *rows = note->data + 16;
	const char *path = (const char *)rows + count * 24,
		   *end = (const char *)note->data + note->len;
	for (uint64_t i = 0; i < count; i++, rows += 24) {
		size_t len = path < end ? strnlen(path, (size_t)(end - path)) : 0;
		if (path >= end || path + len == end) {
			core->notes_damaged = true;
			return NULL;
		}
		struct core_mapped one = {
			note_word(rows), note_word(rows + 8), note_word(rows + 16) * page, NULL};
		one.path = arena_strndup(&core->arena, path, len);
		if (!one.path)
			return error_no_memory();
		path += len + 1;
		size_t known = core->mapped.len;
		bool ordered = one.start < one.end &&
			       (!known || one.start >= core->mapped.data[known - 1].end);
		core->notes_damaged |= !ordered;
		if (ordered && !core_mappeds_push(&core->mapped, one))
			return error_no_memory();
	}
	return NULL;
}

static struct error *take_note(struct core_file *core, const struct note *note)
{
	switch (note->type) {
	case NT_PRSTATUS:
		return take_prstatus(core, note);
	case NT_FILE:
		return take_files(core, note);
	case NT_PRPSINFO:
		core->notes_damaged |= !core_owner_take(note->data, note->len, &core->owner);
		return NULL;
	case NT_AUXV:
		core_auxv_take(&core->auxv, note->data, note->len);
		return NULL;
	case NT_ARM_TLS:
		if (core->machine == EM_AARCH64)
			take_tls_note(core, note);
		return NULL;
	default:
		return NULL;
	}
}

/* Others number their notes as they like. */
static bool is_owner(const uint8_t *name, uint32_t len)
{
	return (len >= 4 && !memcmp(name, "CORE", 4)) || (len >= 5 && !memcmp(name, "LINUX", 5));
}

struct error *core_notes_read(struct core_file *core, const uint8_t *notes, size_t bytes)
{
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr header;
		memcpy(&header, notes + at, sizeof(header));
		uint64_t data = at + sizeof(header) + (((uint64_t)header.n_namesz + 3) & ~3ull);
		uint64_t end = data + (((uint64_t)header.n_descsz + 3) & ~3ull);
		if (data + header.n_descsz > bytes) {
			core->notes_damaged = true;
			return NULL;
		}
		struct note note = {header.n_type, notes + data, header.n_descsz};
		bool known = is_owner(notes + at + sizeof(header), header.n_namesz);
		struct error *error = known ? take_note(core, &note) : NULL;
		if (error)
			return error;
		at = end < bytes ? (size_t)end : bytes;
	}
	return NULL;
}
