/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cores of qemu, of kernels before 3.7 and of small dumpers do not say which files were mapped.
 * What debuggers follow does: an entry DT_DEBUG of the program's dynamic section, whose value the
 * dynamic linker has set to its struct r_debug (link.h), which has the list of all that is loaded.
 *
 * That section is looked for by this entry and what it leads to, not by the program's headers:
 * these are in a page that was never written to, which such cores leave out. Modules that are in
 * no list, but whose headers are in the core, are named by what they call themselves (DT_SONAME),
 * or by where they lie.
 */
#include "process/space/address_links.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/module_headers.h"

#define PAGE_BYTES 4096ull
#define PIECE_BYTES (64u << 10)
/* So much of one segment is looked through, and of all. */
#define SEGMENT_BYTES_MAX (16ull << 20)
#define ALL_BYTES_MAX (512ull << 20)
#define DYNAMIC_BYTES_MAX 8192u
/* A process has 65,530 mappings unless vm.max_map_count says otherwise. */
#define LINKS_MAX (1u << 16)
#define SEGMENTS_OF_ONE 64u
#define PATH_BYTES 4096u
#define ADDRESS_MAX (1ull << 56)

/* struct r_debug and struct link_map (link.h), by words. */
#define LIST_FIRST 1u
enum { LINK_BIAS, LINK_NAME, LINK_DYNAMIC, LINK_NEXT, LINK_PREVIOUS, LINK_WORDS };

struct linked {
	uint64_t start;
	const char *path;
	bool executable;
};
DEFINE_VEC(linkeds, struct linked)

struct linking {
	struct address_space *space;
	const struct address_files *files;
	struct linkeds linked;
	struct module_headers headers; /* of one that is looked at */
	char loader[PATH_BYTES];       /* the dynamic linker's path, as the program's file has it */
};

static bool is_known(const struct linking *l, uint64_t start)
{
	for (size_t i = 0; i < l->linked.len; i++) {
		if (l->linked.data[i].start == start)
			return true;
	}
	return false;
}

static bool add_linked(struct linking *l, uint64_t start, const char *path, bool executable)
{
	start &= ~(PAGE_BYTES - 1);
	if (!start || start >= ADDRESS_MAX || start == l->space->auxv.vdso ||
		l->linked.len == LINKS_MAX || is_known(l, start))
		return true;
	path = arena_strndup(&l->space->core.arena, path, PATH_BYTES);
	return path && linkeds_push(&l->linked, (struct linked){start, path, executable});
}

/* As the kernel was given it, or as it names the program. */
static bool add_executable(struct linking *l)
{
	const struct address_space *space = l->space;
	char path[PATH_BYTES];
	if (!space->auxv.name ||
		!address_space_string(space, space->auxv.name, path, sizeof(path)) || !*path)
		strcpy(path, *space->core.owner.name ? space->core.owner.name : "program");
	return !space->auxv.headers || add_linked(l, space->auxv.headers, path, true);
}

/* Whether the entry DT_DEBUG at `place` has this value: the list's first is the program itself,
 * whose dynamic section has the entry. */
static bool leads_to_list(
	const struct address_space *space, uint64_t place, uint64_t value, uint64_t *ret_first)
{
	uint64_t list[2], first[LINK_WORDS];
	if (value % 8 || address_space_read(space, value, list, sizeof(list)) != sizeof(list) ||
		!(uint32_t)list[0] || (uint32_t)list[0] > 16 || list[LIST_FIRST] % 8 ||
		address_space_read(space, list[LIST_FIRST], first, sizeof(first)) != sizeof(first))
		return false;
	*ret_first = list[LIST_FIRST];
	return !first[LINK_PREVIOUS] && first[LINK_DYNAMIC] <= place &&
	       place - first[LINK_DYNAMIC] < DYNAMIC_BYTES_MAX &&
	       (place - first[LINK_DYNAMIC]) % sizeof(Elf64_Dyn) == 0;
}

/* Looks for it in a segment, of which it reads at most *budget. 0: it is not there. */
static uint64_t find_link_map(const struct linking *l, const struct core_segment *segment,
	uint64_t *words, uint64_t *budget)
{
	uint64_t first, bytes = segment->file_bytes;
	bytes = bytes < SEGMENT_BYTES_MAX ? bytes : SEGMENT_BYTES_MAX;
	bytes = bytes < *budget ? bytes : *budget;
	*budget -= bytes;
	/* A word is looked at twice where pieces meet: the entry may lie across. */
	for (uint64_t at = 0; at + 16 <= bytes; at += PIECE_BYTES - 8) {
		uint64_t most = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
		size_t n = address_space_read(l->space, segment->start + at, words, most) / 8;
		for (size_t i = 0; i + 1 < n; i++) {
			uint64_t place = segment->start + at + 8 * i;
			if (words[i] == DT_DEBUG && words[i + 1] &&
				leads_to_list(l->space, place, words[i + 1], &first))
				return first;
		}
	}
	return 0;
}

/* The program's own data comes soon after where it begins. */
static uint64_t find_first(const struct linking *l, uint64_t *words)
{
	const struct core_segments *segments = &l->space->core.segments;
	const struct core_segment *entry = core_file_segment(&l->space->core, l->space->auxv.entry);
	size_t begin = entry ? (size_t)(entry - segments->data) : 0;
	uint64_t found = 0, budget = ALL_BYTES_MAX;
	for (size_t i = 0; i < segments->len && budget && !found; i++) {
		size_t number = (begin + i) % segments->len;
		found = find_link_map(l, &segments->data[number], words, &budget);
	}
	return found;
}

static bool follow_link_map(struct linking *l, uint64_t first)
{
	const struct address_space *space = l->space;
	uint64_t at = first, before = 0;
	bool ok = true;
	for (unsigned i = 0; ok && at && i < LINKS_MAX; i++) {
		uint64_t link[LINK_WORDS];
		char path[PATH_BYTES];
		if (address_space_read(space, at, link, sizeof(link)) != sizeof(link) ||
			link[LINK_PREVIOUS] != before)
			break;
		bool named = address_space_string(space, link[LINK_NAME], path, sizeof(path));
		/* The linker's own is in the program's, in a page that may be left out. */
		if (named ? *path : link[LINK_BIAS] == space->auxv.loader)
			ok = add_linked(l, link[LINK_BIAS], named ? path : "", false);
		before = at;
		at = link[LINK_NEXT];
	}
	return ok;
}

/* What a module calls itself. False: nothing. */
static bool read_own_name(
	const struct address_space *space, const struct module_headers *h, uint64_t bias, char *ret)
{
	const Elf64_Phdr *part = module_headers_part(h, PT_DYNAMIC);
	uint64_t strings = 0, name = 0;
	size_t count = part ? part->p_memsz / sizeof(Elf64_Dyn) : 0;
	for (size_t i = 0; i < count && i < DYNAMIC_BYTES_MAX / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn entry;
		uint64_t at = bias + part->p_vaddr + i * sizeof(entry);
		if (address_space_read(space, at, &entry, sizeof(entry)) != sizeof(entry))
			return false;
		if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_SONAME)
			name = entry.d_un.d_val;
	}
	/* glibc has made an address of it, others leave it as the file has it. */
	return name && (address_space_string(space, strings + name, ret, PATH_BYTES) ||
			       address_space_string(space, bias + strings + name, ret, PATH_BYTES));
}

static bool add_by_headers(struct linking *l)
{
	const struct core_segments *segments = &l->space->core.segments;
	bool ok = true;
	for (size_t i = 0; ok && i < segments->len && l->linked.len < LINKS_MAX; i++) {
		struct address_module module = {.fd = -1};
		char path[PATH_BYTES];
		uint64_t start = segments->data[i].start, entry = l->space->auxv.entry;
		if (!module_headers_in_memory(&l->headers, l->space, start) || is_known(l, start) ||
			!module_headers_place(&l->headers, &module))
			continue;
		bool executable = entry >= module.start && entry < module.end;
		if (executable && *l->space->core.owner.name)
			strcpy(path, l->space->core.owner.name);
		else if (!read_own_name(l->space, &l->headers, module.bias, path) || !*path)
			snprintf(path, sizeof(path), "module@%" PRIx64, start);
		ok = add_linked(l, start, path, executable);
	}
	return ok;
}

static struct error *find_linked(struct linking *l)
{
	_cleanup_free_ uint64_t *words = malloc(PIECE_BYTES);
	if (!words)
		return error_no_memory();
	uint64_t first = find_first(l, words);
	bool ok = add_executable(l) && follow_link_map(l, first) && add_by_headers(l);
	return ok ? NULL : error_no_memory();
}

static bool add_mapped_row(
	struct linking *l, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	struct core_mapped row = {start, end, offset, path};
	return start >= end || core_mappeds_push(&l->space->core.mapped, row);
}

/* PT_INTERP of the program's file. */
static void take_loader(struct linking *l, int fd)
{
	const Elf64_Phdr *part = module_headers_part(&l->headers, PT_INTERP);
	if (part && part->p_filesz < PATH_BYTES && part->p_offset <= INT64_MAX &&
		pread(fd, l->loader, part->p_filesz, (off_t)part->p_offset) < 0)
		*l->loader = '\0';
}

/* The program headers of one, from memory or its file, and so its place. */
static bool read_module_headers(
	struct linking *l, const struct linked *one, struct address_module *module)
{
	if (module_headers_in_memory(&l->headers, l->space, one->start))
		return module_headers_place(&l->headers, module);
	if (!l->files)
		return false;
	_cleanup_free_ char *path = l->files->find(l->files->context, module, &module->file);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	bool ok = fd >= 0 &&
		  module_headers_in_file(&l->headers, l->space->machine, fd, one->start) &&
		  module_headers_place(&l->headers, module) &&
		  !module_headers_contradict(&l->headers, l->space, module);
	if (ok && module->executable)
		take_loader(l, fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool add_module_parts(struct linking *l, const struct address_module *module)
{
	bool ok = true;
	for (unsigned i = 0; ok && i < l->headers.count; i++) {
		const Elf64_Phdr *part = &l->headers.parts[i];
		uint64_t end = part->p_vaddr + part->p_filesz;
		if (part->p_type != PT_LOAD || end < part->p_vaddr || end > 1ull << 48)
			continue;
		uint64_t low = part->p_vaddr & ~(PAGE_BYTES - 1);
		uint64_t high = (end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
		ok = add_mapped_row(l, module->bias + low, module->bias + high,
			part->p_offset & ~(PAGE_BYTES - 1), module->path);
	}
	return ok;
}

/* Segments that follow each other up to the data's end, as modules are laid out. */
static bool add_segments(struct linking *l, const struct linked *one)
{
	const struct core_segments *segments = &l->space->core.segments;
	const struct core_segment *s = core_file_segment(&l->space->core, one->start);
	bool ok = true, data = false;
	uint64_t at = one->start;
	for (unsigned i = 0; ok && s && s < segments->data + segments->len; s++, i++) {
		bool writable = s->flags & PF_W;
		bool ours = s->start == at || !i;
		if (!ours || (i && is_known(l, at)) || (data && !writable) || i == SEGMENTS_OF_ONE)
			break;
		ok = add_mapped_row(l, at, s->end, at - one->start, one->path);
		data = writable;
		at = s->end;
	}
	return ok;
}

static int compare_mapped_starts(const void *a, const void *b)
{
	const struct core_mapped *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/* Ascending, and none over another, as readers want it. */
static void sort_rows(struct core_mappeds *rows)
{
	size_t kept = 0;
	if (rows->len)
		qsort(rows->data, rows->len, sizeof(*rows->data), compare_mapped_starts);
	for (size_t i = 0; i < rows->len; i++) {
		struct core_mapped row = rows->data[i];
		uint64_t before = kept ? rows->data[kept - 1].end : 0;
		if (row.end <= before)
			continue;
		if (row.start < before) {
			row.offset += before - row.start;
			row.start = before;
		}
		rows->data[kept++] = row;
	}
	rows->len = kept;
}

static struct error *add_rows(struct linking *l)
{
	bool ok = true;
	for (size_t i = 0; ok && i < l->linked.len; i++) {
		struct linked *one = &l->linked.data[i];
		if (!*one->path) /* the program comes first */
			one->path = arena_strdup(
				&l->space->core.arena, *l->loader ? l->loader : "ld.so");
		if (!one->path)
			return error_no_memory();
		struct address_module module = {
			.path = one->path, .executable = one->executable, .fd = -1};
		ok = read_module_headers(l, one, &module) ? add_module_parts(l, &module)
							  : add_segments(l, one);
	}
	sort_rows(&l->space->core.mapped);
	return ok ? NULL : error_no_memory();
}

struct error *address_links_find(struct address_space *space, const struct address_files *files)
{
	struct linking *l = calloc(1, sizeof(*l));
	if (!l)
		return error_no_memory();
	l->space = space;
	l->files = files;
	struct error *error = find_linked(l);
	if (!error)
		error = add_rows(l);
	linkeds_deinit(&l->linked);
	free(l);
	return error;
}
