/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/cores/core_notes.h"
#include "process/cores/core_unpack.h"

#define SEGMENTS_MAX (1u << 22)
#define NOTES_BYTES_MAX (1u << 30)
#define ADDRESS_MAX (1ull << 56)

static size_t read_file_at(const struct core_file *core, uint64_t offset, void *ret, size_t bytes)
{
	size_t got = 0;
	while (got < bytes && offset + got < core->bytes) {
		ssize_t n = pread(core->fd, (char *)ret + got, bytes - got, (off_t)(offset + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

bool core_file_is(const void *bytes, size_t len)
{
	Elf64_Ehdr header;
	if (len < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_CORE;
}

static struct error *refuse_core(const struct core_file *core, const char *why)
{
	return error_create(ERROR_INPUT, "%s: %s", core->path, why);
}

static struct error *read_header(struct core_file *core, Elf64_Ehdr *ret)
{
	if (read_file_at(core, 0, ret, sizeof(*ret)) < sizeof(*ret) ||
		memcmp(ret->e_ident, ELFMAG, SELFMAG) != 0)
		return refuse_core(core, "not a core dump: no ELF header at its beginning");
	if (ret->e_ident[EI_CLASS] == ELFCLASS32)
		return refuse_core(
			core, "a core dump of a 32-bit program; only 64-bit ones are read");
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return refuse_core(core, "offset 4: not a 64-bit little-endian ELF file");
	if (ret->e_type != ET_CORE)
		return refuse_core(core,
			"an ELF file, but no core dump (offset 16: its type is not "
			"ET_CORE)");
	if (ret->e_machine != EM_X86_64 && ret->e_machine != EM_AARCH64)
		return error_create(ERROR_INPUT,
			"%s: a core dump of machine %u (offset 18); only x86-64 and aarch64 are "
			"read",
			core->path, ret->e_machine);
	core->machine = ret->e_machine;
	return NULL;
}

/* The number of program headers is elsewhere if there are too many (elf(5): PN_XNUM). */
static uint64_t header_count(const struct core_file *core, const Elf64_Ehdr *header)
{
	Elf64_Shdr first;
	if (header->e_phnum != PN_XNUM)
		return header->e_phnum;
	if (read_file_at(core, header->e_shoff, &first, sizeof(first)) < sizeof(first))
		return 0;
	return first.sh_info;
}

static struct error *add_segment(struct core_file *core, const Elf64_Phdr *part)
{
	uint64_t end;
	if (!part->p_memsz || __builtin_add_overflow(part->p_vaddr, part->p_memsz, &end) ||
		end > ADDRESS_MAX)
		return NULL;
	uint64_t promised = part->p_filesz < part->p_memsz ? part->p_filesz : part->p_memsz;
	uint64_t there = part->p_offset < core->bytes ? core->bytes - part->p_offset : 0;
	struct core_segment segment = {part->p_vaddr, end, promised < there ? promised : there,
		part->p_offset, part->p_flags};
	core->missing_bytes += promised - segment.file_bytes;
	return core_segments_push(&core->segments, segment) ? NULL : error_no_memory();
}

static struct error *read_notes(struct core_file *core, const Elf64_Phdr *part)
{
	uint64_t there = part->p_offset < core->bytes ? core->bytes - part->p_offset : 0;
	uint64_t bytes = part->p_filesz < there ? part->p_filesz : there;
	if (bytes < part->p_filesz || bytes > NOTES_BYTES_MAX)
		core->notes_damaged = true;
	if (!bytes || bytes > NOTES_BYTES_MAX)
		return NULL;
	_cleanup_free_ uint8_t *notes = malloc(bytes);
	if (!notes)
		return error_no_memory();
	bytes = read_file_at(core, part->p_offset, notes, bytes);
	return core_notes_read(core, notes, bytes);
}

static int compare_core_mapped(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* Of two segments at one place the one that begins first stays whole. */
static void cut_overlaps(struct core_file *core)
{
	struct core_segments *segments = &core->segments;
	if (segments->len)
		qsort(segments->data, segments->len, sizeof(*segments->data), compare_core_mapped);
	size_t kept = 0;
	for (size_t i = 0; i < segments->len; i++) {
		struct core_segment s = segments->data[i];
		uint64_t before = kept ? segments->data[kept - 1].end : 0;
		if (s.start < before) {
			uint64_t cut = before - s.start;
			core->overlapping++;
			if (s.end <= before)
				continue;
			s.start = before;
			s.offset += cut;
			s.file_bytes = s.file_bytes > cut ? s.file_bytes - cut : 0;
		}
		segments->data[kept++] = s;
	}
	segments->len = kept;
}

static struct error *read_segments(struct core_file *core, const Elf64_Ehdr *header)
{
	uint64_t count = header_count(core, header);
	if (header->e_phentsize != sizeof(Elf64_Phdr) || !count || count > SEGMENTS_MAX)
		return error_create(ERROR_INPUT,
			"%s: offset 54: %llu program headers of %u bytes: no core dump is made "
			"like that",
			core->path, (unsigned long long)count, header->e_phentsize);
	_cleanup_free_ Elf64_Phdr *parts = calloc(count, sizeof(*parts));
	if (!parts)
		return error_no_memory();
	size_t got =
		read_file_at(core, header->e_phoff, parts, count * sizeof(*parts)) / sizeof(*parts);
	if (!got)
		return error_create(ERROR_INPUT,
			"%s: cut off before its program headers at offset %llu", core->path,
			(unsigned long long)header->e_phoff);
	if (got < count)
		core->notes_damaged = true;
	struct error *error = NULL;
	for (size_t i = 0; i < got && !error; i++) {
		if (parts[i].p_type == PT_LOAD)
			error = add_segment(core, &parts[i]);
		else if (parts[i].p_type == PT_NOTE)
			error = read_notes(core, &parts[i]);
	}
	cut_overlaps(core);
	return error;
}

/* A packed file is replaced by what it unpacks to. */
static struct error *unpack_core(struct core_file *core)
{
	uint8_t head[8];
	struct stat status;
	size_t len = read_file_at(core, 0, head, sizeof(head));
	if (!core_is_packed(head, len))
		return NULL;
	int fd;
	struct error *error = core_unpack(core->fd, core->path, &fd, &core->unpacked_cut);
	if (error)
		return error;
	close(core->fd);
	core->fd = fd;
	if (fstat(fd, &status) < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't look at what %s unpacks to", core->path);
	core->bytes = (uint64_t)status.st_size;
	return NULL;
}

struct error *core_file_open_fd(int fd, const char *path, struct core_file *ret)
{
	*ret = (struct core_file){.fd = fd, .path = strdup(path)};
	arena_init(&ret->arena);
	if (!ret->path)
		return error_no_memory();
	struct stat status;
	if (fstat(fd, &status) < 0)
		return error_errno(ERROR_INPUT, errno, "can't look at %s", path);
	if (!S_ISREG(status.st_mode))
		return refuse_core(ret,
			"not a regular file; a core dump is not read in order, so copy "
			"it to a file first");
	ret->bytes = (uint64_t)status.st_size;
	struct error *error = unpack_core(ret);
	Elf64_Ehdr header;
	if (!error)
		error = read_header(ret, &header);
	return error ? error : read_segments(ret, &header);
}

struct error *core_file_open(const char *path, struct core_file *ret)
{
	*ret = (struct core_file){.fd = -1};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_errno(ERROR_INPUT, errno, "can't open core dump %s", path);
	return core_file_open_fd(fd, path, ret);
}

void core_file_close(struct core_file *core)
{
	if (core->fd >= 0)
		close(core->fd);
	core->fd = -1;
	free(core->path);
	core->path = NULL;
	core_segments_deinit(&core->segments);
	core_mappeds_deinit(&core->mapped);
	core_threads_deinit(&core->threads);
	arena_deinit(&core->arena);
}

/* The first segment that ends after an address. */
static size_t segment_from(const struct core_file *core, uint64_t address)
{
	size_t low = 0, high = core->segments.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (core->segments.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct core_segment *core_file_segment(const struct core_file *core, uint64_t address)
{
	size_t i = segment_from(core, address);
	return i < core->segments.len && address >= core->segments.data[i].start
		       ? &core->segments.data[i]
		       : NULL;
}

size_t core_file_read(const struct core_file *core, uint64_t address, void *ret, size_t bytes)
{
	size_t got = 0;
	for (size_t i = segment_from(core, address); got < bytes && i < core->segments.len; i++) {
		const struct core_segment *s = &core->segments.data[i];
		uint64_t at = address + got;
		if (at < s->start || at - s->start >= s->file_bytes)
			break;
		uint64_t here = s->file_bytes - (at - s->start);
		size_t wanted = here < bytes - got ? (size_t)here : bytes - got;
		size_t n =
			read_file_at(core, s->offset + (at - s->start), (char *)ret + got, wanted);
		got += n;
		if (n < wanted || at + n < s->end)
			break;
	}
	return got;
}

size_t core_file_hole(const struct core_file *core, uint64_t address, size_t bytes)
{
	const struct core_segment *s = core_file_segment(core, address);
	if (!s || address - s->start >= s->file_bytes)
		return 0;
	uint64_t offset = s->offset + (address - s->start);
	uint64_t here = s->file_bytes - (address - s->start);
	off_t data = lseek(core->fd, (off_t)offset, SEEK_DATA);
	uint64_t end = data >= 0 ? (uint64_t)data : errno == ENXIO ? core->bytes : offset;
	uint64_t hole = end > offset ? end - offset : 0;
	hole = hole < here ? hole : here;
	return hole < bytes ? (size_t)hole : bytes;
}
