/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/core_write.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define PAGE_BYTES 4096ull
#define PIECE_BYTES (1u << 20)
/* struct elf_prstatus of both machines: the bytes before and after the registers. */
#define STATUS_SIGNAL 12u
#define STATUS_TID 32u
#define STATUS_REGISTERS 112u
#define STATUS_REST 8u

struct writing {
	const struct address_space *space;
	int fd;
	const char *path;
	uint8_t *piece;
};

static struct error *write_at(struct writing *w, uint64_t offset, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(
			w->fd, (const char *)bytes + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_errno(ERROR_ENVIRONMENT, n < 0 ? errno : ENOSPC,
				"can't write the core to %s", w->path);
		done += (size_t)n;
	}
	return NULL;
}

static void add_note(struct buf *notes, uint32_t type, const void *content, size_t len)
{
	static const char zeros[4];
	buf_u32(notes, 5);
	buf_u32(notes, (uint32_t)len);
	buf_u32(notes, type);
	buf_bytes(notes, "CORE\0\0\0", 8);
	buf_bytes(notes, content, len);
	buf_bytes(notes, zeros, -len & 3);
}

static void add_thread_notes(
	struct buf *notes, const struct address_space *space, const struct address_thread *thread)
{
	uint8_t status[STATUS_REGISTERS + CORE_REGISTERS_MAX * 8 + STATUS_REST] = {0};
	size_t registers = address_register_count(space->machine) * 8;
	int16_t signal = (int16_t)thread->signal;
	int32_t tid = thread->tid;
	memcpy(status + STATUS_SIGNAL, &signal, sizeof(signal));
	memcpy(status + STATUS_TID, &tid, sizeof(tid));
	memcpy(status + STATUS_REGISTERS, thread->registers, registers);
	add_note(notes, NT_PRSTATUS, status, STATUS_REGISTERS + registers + STATUS_REST);
}

static void add_auxv(struct buf *notes, const struct core_auxv *auxv)
{
	const uint64_t pairs[] = {AT_PHDR, auxv->headers, AT_PHNUM, auxv->header_count, AT_ENTRY,
		auxv->entry, AT_SYSINFO_EHDR, auxv->vdso, AT_BASE, auxv->loader, AT_EXECFN,
		auxv->name, AT_NULL, 0};
	add_note(notes, NT_AUXV, pairs, sizeof(pairs));
}

static bool is_named(const struct process_map *map)
{
	return *map->path == '/';
}

static void add_files(struct buf *notes, const struct process_maps *maps)
{
	struct buf content;
	uint64_t count = 0;
	buf_init(&content);
	for (size_t i = 0; i < maps->maps.len; i++)
		count += is_named(&maps->maps.data[i]);
	buf_u64(&content, count);
	buf_u64(&content, PAGE_BYTES);
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (!is_named(map))
			continue;
		buf_u64(&content, map->start);
		buf_u64(&content, map->end);
		buf_u64(&content, map->offset / PAGE_BYTES);
	}
	for (size_t i = 0; i < maps->maps.len; i++) {
		const char *path = maps->maps.data[i].path;
		if (is_named(&maps->maps.data[i]))
			buf_bytes(&content, path, strlen(path) + 1);
	}
	notes->failed = notes->failed || content.failed;
	add_note(notes, NT_FILE, content.data, content.len);
	buf_deinit(&content);
}

static void add_notes(struct buf *notes, const struct address_space *space)
{
	uint8_t info[CORE_OWNER_BYTES];
	core_owner_put(&space->owner, info);
	for (size_t i = 0; i < space->threads.len; i++) {
		add_thread_notes(notes, space, &space->threads.data[i]);
		if (!i)
			add_note(notes, NT_PRPSINFO, info, sizeof(info));
	}
	add_auxv(notes, &space->auxv);
	add_files(notes, &space->maps);
}

/* So large is at most what the loader has written to and made read-only again (RELRO): without it
 * debuggers don't find the libraries. */
#define CHANGED_MAX (4ull << 20)

/* What the program took away from itself is its data all the same; more is kept free for it. */
#define PUT_AWAY_MAX (1ull << 30)

static bool is_inaccessible_data(const struct process_map *map)
{
	uint64_t bytes = map->end - map->start;
	bool is_data = address_map_is_own(map) ? bytes <= PUT_AWAY_MAX
					       : is_named(map) && bytes <= CHANGED_MAX;
	return is_data && !map->readable && !map->writable && !map->executable && !map->shared;
}

/* How much of a mapping is written: of what is in a file, and unchanged, the first page. */
static uint64_t written_bytes(const struct process_map *map)
{
	if (is_inaccessible_data(map))
		return map->end - map->start;
	if (!map->readable || !strcmp(map->path, "[vvar]") || !strcmp(map->path, "[vsyscall]"))
		return 0;
	bool changed = map->offset && !map->executable && map->end - map->start <= CHANGED_MAX;
	if (!map->writable && is_named(map) && !changed)
		return map->offset ? 0 : PAGE_BYTES;
	return map->end - map->start;
}

static uint32_t flags_of(const struct process_map *map)
{
	return (map->readable ? PF_R : 0u) | (map->writable ? PF_W : 0u) |
	       (map->executable ? PF_X : 0u);
}

/* Pages that are not zero. */
static struct error *write_pages(struct writing *w, uint64_t offset, size_t len)
{
	struct error *error = NULL;
	for (size_t i = 0; i < len && !error; i += PAGE_BYTES) {
		size_t n = len - i < PAGE_BYTES ? len - i : PAGE_BYTES;
		const uint8_t *page = w->piece + i;
		if (page[0] || memcmp(page, page + 1, n - 1) != 0)
			error = write_at(w, offset + i, page, n);
	}
	return error;
}

/* `named`: what was never touched is not zero there, but as in the file. */
static struct error *write_memory(
	struct writing *w, uint64_t start, uint64_t bytes, uint64_t offset, bool named)
{
	struct error *error = NULL;
	for (uint64_t at = 0; at < bytes && !error;) {
		size_t empty = named ? 0 : address_space_empty(w->space, start + at, bytes - at);
		if (empty >= PAGE_BYTES) {
			at += empty & ~(PAGE_BYTES - 1);
			continue;
		}
		size_t room = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
		size_t got = address_space_read(w->space, start + at, w->piece, room);
		error = write_pages(w, offset + at, got);
		at += got == room ? room : (got / PAGE_BYTES + 1) * PAGE_BYTES;
	}
	return error;
}

static void add_header(
	struct buf *head, const struct address_space *space, size_t parts, uint64_t notes_offset)
{
	bool many = parts + 1 >= PN_XNUM;
	Elf64_Ehdr header = {.e_type = ET_CORE,
		.e_machine = space->machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)(many ? PN_XNUM : parts + 1)};
	memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
	if (many) { /* elf(5): their number is in the first section header */
		header.e_shoff = notes_offset - sizeof(Elf64_Shdr);
		header.e_shentsize = sizeof(Elf64_Shdr);
		header.e_shnum = 1;
	}
	buf_bytes(head, &header, sizeof(header));
}

static struct error *write_all_memory(struct writing *w, struct buf *head, uint64_t offset)
{
	struct error *error = NULL;
	for (size_t i = 0; i < w->space->maps.maps.len && !error; i++) {
		const struct process_map *map = &w->space->maps.maps.data[i];
		uint64_t bytes = written_bytes(map);
		Elf64_Phdr part = {.p_type = PT_LOAD,
			.p_flags = flags_of(map),
			.p_offset = offset,
			.p_vaddr = map->start,
			.p_filesz = bytes,
			.p_memsz = map->end - map->start,
			.p_align = PAGE_BYTES};
		buf_bytes(head, &part, sizeof(part));
		error = write_memory(w, map->start, bytes, offset, is_named(map));
		offset += bytes;
	}
	if (!error && ftruncate(w->fd, (off_t)offset) < 0)
		error = error_errno(
			ERROR_ENVIRONMENT, errno, "can't write the core to %s", w->path);
	return error;
}

struct error *core_write(const struct address_space *space, int fd, const char *path)
{
	struct buf head, notes;
	buf_init(&head);
	buf_init(&notes);
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	struct writing w = {space, fd, path, piece};
	size_t parts = space->maps.maps.len;
	uint64_t notes_at =
		sizeof(Elf64_Ehdr) + (parts + 1) * sizeof(Elf64_Phdr) + sizeof(Elf64_Shdr);
	add_notes(&notes, space);
	add_header(&head, space, parts, notes_at);
	Elf64_Phdr note = {
		.p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = notes.len, .p_align = 4};
	buf_bytes(&head, &note, sizeof(note));
	uint64_t memory_at = (notes_at + notes.len + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	struct error *error = piece ? write_all_memory(&w, &head, memory_at) : error_no_memory();
	Elf64_Shdr many = {.sh_info = (uint32_t)(parts + 1)};
	buf_bytes(&head, &many, sizeof(many));
	if (!error && (head.failed || notes.failed))
		error = error_no_memory();
	if (!error)
		error = write_at(&w, 0, head.data, head.len);
	if (!error)
		error = write_at(&w, notes_at, notes.data, notes.len);
	buf_deinit(&head);
	buf_deinit(&notes);
	return error;
}
