/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of objects that a process gets whose dynamic linker can't be asked: it gives the
 * answers of one that can, and the same stacks; libraries come and go. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/attach/objects.h"
#include "lib/tap.h"
#include "runtime/attach/objects.h"
#include "runtime/core/unwind.h"

static struct hw_attach_objects *table;

static bool find_by_linker(uint64_t address, struct rt_found *ret)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found))
		return false;
	*ret = (struct rt_found){.start = (uint64_t)found.dlfo_map_start,
		.end = (uint64_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.path = found.dlfo_link_map->l_name,
		.eh_frame_hdr = found.dlfo_eh_frame,
		.identity = found.dlfo_link_map};
	return true;
}

static bool find_by_table(uint64_t address, struct rt_found *ret)
{
	return at_objects_find(table, address, ret);
}

static void list_own(struct linked_objects *objects, struct attach_object_vec *list)
{
	*list = (struct attach_object_vec){.len = 0};
	CHECK_OK(linked_objects_read(getpid(), objects));
	CHECK_OK(attach_objects_list(objects, list));
}

static void begin(void)
{
	struct linked_objects objects;
	struct attach_object_vec list;
	uint32_t gone;
	table = calloc(1, sizeof(*table));
	list_own(&objects, &list);
	CHECK(attach_objects_update(table, &list, &gone));
	CHECK_U64(gone, 0);
	attach_object_vec_deinit(&list);
	linked_objects_deinit(&objects);
}

static size_t compared;

static void compare_at(uint64_t address)
{
	struct rt_found a, b;
	bool known = find_by_linker(address, &a);
	CHECK(known == find_by_table(address, &b));
	if (!known)
		return;
	compared++;
	CHECK_U64(b.bias, a.bias);
	CHECK_U64((uint64_t)b.eh_frame_hdr, (uint64_t)a.eh_frame_hdr);
	CHECK_U64((uint64_t)b.identity, (uint64_t)a.identity);
	CHECK_STR(b.path, a.path);
	CHECK(b.start <= a.start && b.end >= a.end);
}

static int compare_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	(void)context;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + part->p_vaddr;
		for (uint64_t at = 0; part->p_type == PT_LOAD && at < part->p_memsz; at += 1024)
			compare_at(start + at);
	}
	return 0;
}

CASE(same_objects, "the table says of each address what the dynamic linker says")
{
	begin();
	dl_iterate_phdr(compare_object, NULL);
	CHECK(compared > 100);
	compare_at((uint64_t)&compared);
	struct rt_found found;
	CHECK(!find_by_table(16, &found));
	CHECK(!find_by_table((uint64_t)table, &found));
	free(table);
}

/* A loaded file of so many parts, of which the last two count. */
static void make_file(char *at, unsigned parts)
{
	Elf64_Ehdr head = {
		.e_phoff = sizeof(head), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = parts};
	const Elf64_Phdr first = {.p_type = PT_LOAD, .p_memsz = 0x1000}, none = {.p_type = PT_NULL},
			 more = {.p_type = PT_LOAD, .p_vaddr = 0x2000, .p_memsz = 0x1000},
			 index = {.p_type = PT_GNU_EH_FRAME, .p_vaddr = 0xf00, .p_memsz = 16};
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	memcpy(at, &head, sizeof(head));
	for (unsigned i = 0; i < parts; i++) {
		const Elf64_Phdr *part = !i               ? &first
					 : i == parts - 2 ? &more
					 : i == parts - 1 ? &index
							  : &none;
		memcpy(at + sizeof(head) + i * sizeof(*part), part, sizeof(*part));
	}
}

#define PARTS_LOOKED_AT 64u

CASE(many_parts, "of a file with more parts than linkers make the first 64 count, and the rest as "
		 "if it were not there")
{
	_Alignas(4096) static char file[0x3000];
	for (unsigned parts = PARTS_LOOKED_AT; parts <= PARTS_LOOKED_AT + 2; parts += 2) {
		struct linked_objects objects;
		struct attach_object_vec list = {.len = 0};
		const struct hw_attach_object *row = NULL;
		bool fits = parts == PARTS_LOOKED_AT;
		memset(file, 0, sizeof(file));
		make_file(file, parts);
		CHECK_OK(linked_objects_read(getpid(), &objects));
		CHECK(objects.objects.len > 1);
		objects.objects.data[1].bias = (uint64_t)file;
		CHECK_OK(attach_objects_list(&objects, &list));
		for (size_t i = 0; i < list.len; i++)
			row = list.data[i].row.bias == (uint64_t)file ? &list.data[i].row : row;
		CHECK(row);
		CHECK_U64(row->start, (uint64_t)file);
		CHECK_U64(row->end, (uint64_t)file + (fits ? 0x3000 : 0x1000));
		CHECK_U64(row->eh_frame_hdr, fits ? (uint64_t)file + 0xf00 : 0);
		attach_object_vec_deinit(&list);
		linked_objects_deinit(&objects);
	}
}

/* An unwinder over memory of its own. */
struct walker {
	struct rt_unwinder unwinder;
	struct rt_modules modules;
	struct rt_rules rules;
	struct rt_walk walk;
	struct rt_frame frames[2 * RT_DEPTH_MAX];
};

static struct walker *walker_create(rt_find_fn *find)
{
	struct walker *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *shm = mmap(NULL, HW_SHM_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(w != MAP_FAILED && shm != MAP_FAILED);
	w->unwinder.stacks.shm = w->modules.shm = (struct hw_shm *)shm;
	w->modules.shm->nodes = w->modules.shm->modules = 1;
	w->unwinder.stacks.nodes = (struct hw_node *)(shm + HW_SHM_NODES);
	w->unwinder.stacks.nodes_max = HW_NODES_MAX;
	w->unwinder.stacks.lines = (struct hw_line *)(shm + HW_SHM_LINES);
	w->unwinder.stacks.lines_more = (struct hw_line *)(shm + HW_SHM_LINES_MORE);
	w->unwinder.modules = &w->modules;
	w->unwinder.rules = &w->rules;
	w->modules.table = (struct hw_module *)(shm + HW_SHM_MODULES);
	w->modules.strings = shm + HW_SHM_STRINGS;
	w->modules.find = find;
	w->rules.modules = &w->modules;
	rt_walk_init(&w->walk, w->frames, NULL);
	return w;
}

static void walker_destroy(struct walker *w)
{
	munmap(w->modules.shm, HW_SHM_BYTES);
	munmap(w, sizeof(*w));
}

static struct walker *by_linker, *by_table;
static unsigned depth_least;

/* Its caller's stack, walked by both. */
static __attribute__((noinline)) void compare_stacks(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	uint64_t pc = frame[1], sp = (uint64_t)(frame + 2), rbp = frame[0];
	uint32_t a = rt_unwind(&by_linker->unwinder, &by_linker->walk, pc, sp, rbp),
		 b = rt_unwind(&by_table->unwinder, &by_table->walk, pc, sp, rbp);
	const struct hw_node *nodes_a = by_linker->unwinder.stacks.nodes,
			     *nodes_b = by_table->unwinder.stacks.nodes;
	unsigned depth = 0;
	for (; a && b; a = nodes_a[a].parent, b = nodes_b[b].parent, depth++) {
		CHECK_U64(nodes_b[b].frame, nodes_a[a].frame);
		CHECK(nodes_a[a].frame >= HW_MARK_FRAMES);
	}
	CHECK(!a && !b && depth >= depth_least);
}

static __attribute__((noinline)) void descend(unsigned levels)
{
	if (levels)
		descend(levels - 1);
	else
		compare_stacks();
	__asm__ volatile("" ::: "memory");
}

static int compare_two(const void *a, const void *b)
{
	compare_stacks();
	return *(const int *)a - *(const int *)b;
}

CASE(same_stacks,
	"stacks through the program and libc are those that the dynamic linker's answers give")
{
	begin();
	by_linker = walker_create(find_by_linker);
	by_table = walker_create(find_by_table);
	for (unsigned levels = 0; levels < 40; levels++) {
		depth_least = levels + 3;
		descend(levels);
	}
	int numbers[] = {3, 1, 2, 7, 5};
	depth_least = 4;
	qsort(numbers, 5, sizeof(numbers[0]), compare_two);
	CHECK(by_table->modules.count >= 2);
	CHECK_U64(by_table->modules.count, by_linker->modules.count);
	walker_destroy(by_linker);
	walker_destroy(by_table);
	free(table);
}

/* Of the row for an address, whose memory is not looked at; NULL: there is none. */
static const char *path_at(uint64_t address)
{
	const struct hw_attach_object *row = at_objects_row(table, address);
	return row ? &table->paths[row->path] : NULL;
}

static bool is_path_at(uint64_t address, const char *path)
{
	const char *found = path_at(address);
	return found && !strcmp(found, path);
}

CASE(unloaded, "an object whose memory is gone, or another's, is not found before anybody says so")
{
	char *memory =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)memory, word = 7;
	struct attach_object one = {
		{.start = at, .end = at + 8192, .eh_frame_hdr = at + 4096, .eh_frame_word = word},
		"/lib/a.so"};
	struct attach_object_vec now = {.data = &one, .len = 1};
	struct rt_found found;
	uint32_t gone;
	table = calloc(1, sizeof(*table));
	memcpy(memory + 4096, &word, sizeof(word));
	CHECK(attach_objects_update(table, &now, &gone) && !gone);
	CHECK(find_by_table(at + 5000, &found) && found.start == at);
	memory[4096]++;
	CHECK(!find_by_table(at + 5000, &found));
	memory[4096]--;
	CHECK(find_by_table(at + 5000, &found));
	munmap(memory + 4096, 4096);
	CHECK(!find_by_table(at + 5000, &found));
	at_objects_review(table);
	CHECK(!path_at(at));
	munmap(memory, 3 * 4096);
	free(table);
}

CASE(come_and_go,
	"what is unloaded is found no more; what is loaded later is, also at the same place")
{
	struct attach_object objects[3] = {
		{{.start = 0x1000, .end = 0x3000, .identity = 1}, ""},
		{{.start = 0x5000, .end = 0x6000, .identity = 2}, "/lib/a.so"},
		{{.start = 0x5000, .end = 0x5800, .identity = 3}, "/lib/b.so"},
	};
	struct attach_object_vec now = {.data = objects, .len = 2};
	uint32_t gone;
	table = calloc(1, sizeof(*table));
	CHECK(attach_objects_update(table, &now, &gone) && !gone);
	CHECK(is_path_at(0x5fff, "/lib/a.so"));
	CHECK(!path_at(0x6000) && !path_at(0xfff));
	CHECK(attach_objects_update(table, &now, &gone) && !gone);
	CHECK_U64(table->count, 2);
	now.len = 1;
	CHECK(attach_objects_update(table, &now, &gone));
	CHECK_U64(gone, 1);
	CHECK(!path_at(0x5000));
	CHECK(is_path_at(0x1000, ""));
	objects[1] = objects[2];
	now.len = 2;
	CHECK(attach_objects_update(table, &now, &gone) && !gone);
	CHECK(is_path_at(0x5000, "/lib/b.so"));
	CHECK(!path_at(0x5800));
	/* The process sees itself that memory is gone. */
	at_objects_review(table);
	CHECK(!path_at(0x5000) && !path_at(0x1000));
	CHECK(attach_objects_update(table, &now, &gone) && !gone);
	CHECK(path_at(0x5000));
	free(table);
}

CASE(full, "a table without room keeps what it has, and says so")
{
	struct attach_object one = {{.start = 0x1000, .end = 0x2000}, "/lib/one.so"};
	struct attach_object_vec now = {.data = &one, .len = 1};
	uint32_t gone;
	bool ok = true;
	table = calloc(1, sizeof(*table));
	for (unsigned i = 0; i <= HW_ATTACH_OBJECTS_MAX; i++) {
		one.row.identity = i;
		CHECK(ok);
		ok = attach_objects_update(table, &now, &gone);
	}
	CHECK(!ok);
	CHECK_U64(table->count, HW_ATTACH_OBJECTS_MAX);
	*table = (struct hw_attach_objects){.path_bytes = HW_ATTACH_PATHS_MAX - 11};
	CHECK(!attach_objects_update(table, &now, &gone));
	table->path_bytes--;
	CHECK(attach_objects_update(table, &now, &gone));
	CHECK(is_path_at(0x1fff, "/lib/one.so"));
	/* Whatever the process has made of it. */
	table->count = UINT32_MAX;
	CHECK(!attach_objects_update(table, &now, &gone));
	CHECK(path_at(0x1fff));
	free(table);
}

TAP_MAIN
