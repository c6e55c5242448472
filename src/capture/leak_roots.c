/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leak_roots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/leak_heaps.h"

/* System V ABI, x86-64, 3.2.2: a leaf function may keep data so far below its stack pointer. */
#define RED_ZONE 128u
/* glibc's struct pthread stands at the thread pointer, at the end of the thread's stack. */
#define THREAD_BYTES 4096u
/* Both libraries of ours: the runtime, and what speaks for LeakSanitizer. */
#define RUNTIME_LIBRARY "/libheapwise-"

#define KEPT_STACK "the stack of a thread that has ended"

/* What is being put together. */
struct finding {
	const struct leak_place *place;
	struct leak_ranges heaps;   /* where blocks are, and free ones */
	struct leak_ranges skipped; /* no roots, and no stacks either */
	struct leak_ranges stacks;  /* of threads, alive or dead, whole: told by stack pointers */
	struct leak_roots *roots;
};

void leak_roots_deinit(struct leak_roots *roots)
{
	leak_root_vec_deinit(&roots->roots);
	leak_map_vec_deinit(&roots->maps);
	spared_addresses_deinit(&roots->ignored);
}

static uint32_t module_of(const struct hw_shm *shm, uint64_t address)
{
	const struct hw_module *modules =
		(const struct hw_module *)((const char *)shm + HW_SHM_MODULES);
	uint32_t count = __atomic_load_n(&shm->modules, __ATOMIC_ACQUIRE);
	for (uint32_t i = count < HW_MODULES_MAX ? count : HW_MODULES_MAX; i-- > 1;) {
		if (address >= modules[i].start && address < modules[i].end)
			return i;
	}
	return 0;
}

static bool add_root(struct finding *f, enum hpw_leak_root place, uint64_t start, uint64_t end,
	pid_t tid, const char *name)
{
	struct leak_root root = {
		.place = place, .start = start, .end = end, .tid = tid, .name = name};
	if (place == HPW_LEAK_ROOT_DATA)
		root.module = module_of(f->place->shm, start);
	return start >= end || leak_root_vec_push(&f->roots->roots, root);
}

static bool add_registers(struct finding *f, const struct hold_thread *thread)
{
	const struct user_regs_struct *r = &thread->regs;
	struct leak_root root = {.place = HPW_LEAK_ROOT_REGISTERS,
		.tid = thread->target_tid,
		.name = "",
		.values = {r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15}};
	return leak_root_vec_push(&f->roots->roots, root);
}

/* Of the thread that ends the process: as its call of exit found them. */
static bool add_leaving_registers(struct finding *f, const struct hold_thread *thread)
{
	const uint64_t *r = f->place->shm->leaving_registers;
	struct leak_root root = {.place = HPW_LEAK_ROOT_REGISTERS,
		.tid = thread->target_tid,
		.name = "",
		.values = {0, r[0], 0, 0, 0, 0, r[1], 0, 0, 0, 0, 0, r[2], r[3], r[4], r[5]}};
	return leak_root_vec_push(&f->roots->roots, root);
}

static bool is_main_stack(const struct process_map *map)
{
	return !strncmp(map->path, "[stack", 6);
}

/* Where the thread's stack ends, in the mapping that its stack pointer is in. */
static uint64_t stack_end(const struct process_map *map, uint64_t sp, uint64_t thread_pointer)
{
	if (is_main_stack(map) || thread_pointer < sp || thread_pointer >= map->end)
		return map->end;
	uint64_t end = (thread_pointer + THREAD_BYTES - 1) & ~4095ull;
	return end < map->end ? end : map->end;
}

/* Main has returned: of its stack there is left what it was started with. */
static uint64_t stack_bottom(pid_t pid)
{
	char path[64], text[1024];
	uint64_t bottom = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = 0;
	char *at = strrchr(text, ')'); /* field 2 of proc_pid_stat(5); startstack is number 28 */
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	if (at)
		bottom = strtoull(at, NULL, 10);
	return bottom;
}

/* The thread's stack is told apart from its sp on; what lies below is of the past. */
static bool add_stack(struct finding *f, const struct hold_thread *thread, uint64_t sp)
{
	const struct process_maps *maps = &f->place->hold->maps;
	uint64_t pointer = thread->stopped ? thread->regs.fs_base : 0;
	const struct process_map *map = process_maps_find(maps, sp),
				 *home = process_maps_find(maps, pointer);
	if (map && !leak_ranges_has(&f->heaps, sp)) {
		uint64_t end = stack_end(map, sp, pointer);
		uint64_t from = sp - map->start > RED_ZONE ? sp - RED_ZONE : map->start;
		if (!add_root(f, HPW_LEAK_ROOT_STACK, from & ~7ull, end, thread->target_tid, "") ||
			!leak_ranges_add(&f->stacks, map->start, end))
			return false;
	}
	/* On a stack of its own making (a coroutine, a signal's): its usual one is taken whole. */
	if (!home || home == map || thread->tid == f->place->hold->pid || !leak_heap_like(home) ||
		leak_ranges_has(&f->heaps, pointer))
		return true;
	uint64_t end = stack_end(home, home->start, pointer);
	return add_root(f, HPW_LEAK_ROOT_STACK, home->start, end, thread->target_tid, "") &&
	       leak_ranges_add(&f->stacks, home->start, end);
}

static bool add_thread(struct finding *f, const struct hold_thread *thread)
{
	const struct hw_shm *shm = f->place->shm;
	bool leaves = f->place->is_leaving && (uint32_t)thread->target_tid == shm->leaving_tid;
	if (leaves && shm->leaving_sp)
		return add_leaving_registers(f, thread) && add_stack(f, thread, shm->leaving_sp);
	if (leaves)
		return add_stack(f, thread, stack_bottom(thread->tid));
	if (thread->stopped && !add_registers(f, thread))
		return false;
	return !thread->regs.rsp || add_stack(f, thread, thread->regs.rsp);
}

/*
 * Stacks of threads that have ended are kept for the next ones. They are told by their thread
 * descriptor, which points at itself twice (glibc's nptl/descr.h: tcbhead_t), and that no thread
 * has; and by the page below that nobody may touch. Of all that stands there one word is kept for
 * the next one: the table of thread-local storage (tcbhead_t.dtv).
 */
static bool add_dead_stacks(struct finding *f, const struct process_map *map)
{
	enum { WORDS = 8192 };
	_cleanup_free_ uint64_t *words = malloc(WORDS * sizeof(*words));
	uint64_t start = map->start;
	if (!words)
		return false;
	for (uint64_t at = map->start; at < map->end; at += WORDS * 8) {
		size_t bytes = map->end - at < WORDS * 8 ? (size_t)(map->end - at) : WORDS * 8;
		if (process_memory_untouched(f->place->memory, at, bytes) >= bytes)
			continue;
		size_t n = process_memory_read(f->place->memory, at, words, bytes) / 8;
		for (size_t i = 0; i + 3 <= n; i += 2) {
			uint64_t address = at + 8 * i;
			if (words[i] != address || words[i + 2] != address)
				continue;
			uint64_t end = (address + THREAD_BYTES - 1) & ~4095ull;
			if (!leak_ranges_has(&f->stacks, address) &&
				(!leak_ranges_add(&f->skipped, start, end) ||
					!add_root(f, HPW_LEAK_ROOT_MAPPING, address + 8,
						address + 16, 0, KEPT_STACK)))
				return false;
			start = end;
		}
	}
	return true;
}

static bool has_guard(const struct process_maps *maps, size_t i)
{
	const struct process_map *map = &maps->maps.data[i];
	return i && map[-1].end == map->start && !map[-1].readable && !map[-1].writable;
}

static bool find_dead_stacks(struct finding *f)
{
	const struct process_maps *maps = &f->place->hold->maps;
	bool ok = true;
	for (size_t i = 0; ok && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (leak_heap_like(map) && has_guard(maps, i) &&
			!leak_ranges_has(&f->heaps, map->start))
			ok = add_dead_stacks(f, map);
	}
	leak_ranges_join(&f->skipped);
	return ok;
}

static bool is_ours(const struct process_map *map)
{
	const char *base = strrchr(map->path, '/');
	return base && !strncmp(base, RUNTIME_LIBRARY, strlen(RUNTIME_LIBRARY));
}

/* Device memory is none of the program's data; /dev/zero is how some get plain memory. */
static bool is_searched(const struct process_map *map)
{
	if (!map->readable || !map->writable || is_main_stack(map) || is_ours(map))
		return false;
	if (!strcmp(map->path, "[vvar]") || !strncmp(map->path, "/memfd:heapwise", 15))
		return false;
	return strncmp(map->path, "/dev/", 5) || !strncmp(map->path, "/dev/zero", 9) ||
	       !strncmp(map->path, "/dev/shm/", 9);
}

/* The parts of [start, end) that are in none of the sets. */
static bool add_remains(struct finding *f, const struct leak_ranges *sets[], size_t count,
	const struct leak_root *as, uint64_t start, uint64_t end)
{
	while (start < end) {
		uint64_t stop = end;
		bool covered = false;
		for (size_t i = 0; i < count && !covered; i++) {
			const struct leak_range *r = leak_ranges_from(sets[i], start);
			if (r && start >= r->start) {
				start = r->end;
				covered = true;
			} else if (r && r->start < stop) {
				stop = r->start;
			}
		}
		if (covered)
			continue;
		if (!add_root(f, as->place, start, stop, 0, as->name))
			return false;
		start = stop;
	}
	return true;
}

static bool add_mappings(struct finding *f)
{
	const struct process_maps *maps = &f->place->hold->maps;
	const struct leak_ranges none = {NULL, 0, 0};
	const struct leak_ranges *sets[] = {
		&f->skipped, &f->stacks, f->place->is_partial ? &none : &f->heaps};
	uint64_t data_end = 0; /* of a module: what has no file follows */
	bool ok = true;
	for (size_t i = 0; ok && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		bool data = module_of(f->place->shm, map->start) ||
			    (map->start == data_end && !map->inode && !*map->path) ||
			    (map->inode && !map->shared);
		data_end = map->inode && data ? map->end : 0;
		if (!is_searched(map))
			continue;
		struct leak_root as = {.place = data ? HPW_LEAK_ROOT_DATA : HPW_LEAK_ROOT_MAPPING,
			.name = map->path};
		ok = add_remains(f, sets, 3, &as, map->start, map->end);
	}
	return ok;
}

/* What a block's own memory is, is no root either, also where the rest of the heap is. */
static bool skip_blocks(struct finding *f)
{
	struct live_walk walk;
	_cleanup_free_ struct live_block *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_walk_begin(f->place->live, &walk))
		return false;
	bool ok = true;
	for (size_t n; ok && (n = live_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++)
			ok = leak_ranges_add(
				&f->skipped, blocks[i].address, blocks[i].address + blocks[i].size);
	}
	live_walk_end(&walk);
	leak_ranges_join(&f->skipped);
	return ok;
}

static bool add_maps(struct finding *f)
{
	const struct process_maps *maps = &f->place->hold->maps;
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (!map->inode || !map->readable)
			continue;
		struct search_map one = {map->start, map->end,
			map->executable ? SEARCH_MAP_FILE_CODE : SEARCH_MAP_FILE};
		if (!leak_map_vec_push(&f->roots->maps, one))
			return false;
	}
	return true;
}

/* What the runtime keeps for itself: of rings that nobody uses it is empty. */
static bool skip_own(struct finding *f)
{
	const struct hw_shm *shm = f->place->shm;
	bool ok = true;
	for (uint32_t i = 0; ok && i < HW_OWN; i++)
		ok = leak_ranges_add(&f->skipped, shm->own[i].start, shm->own[i].end);
	for (uint32_t i = 0; ok && i < HW_RINGS; i++) {
		const struct hw_ring *ring =
			(const struct hw_ring *)((const char *)shm + HW_SHM_RINGS) + i;
		if (ring->own)
			ok = leak_ranges_add(
				&f->skipped, ring->own, ring->own + shm->own_ring_bytes);
	}
	return ok;
}

/* What the program says that it is: beside the same memory by another name, or in a block. */
static bool add_regions(struct finding *f)
{
	const struct spared_roots *regions = &f->place->spared->roots;
	bool ok = true;
	for (size_t i = 0; ok && i < regions->len; i++) {
		uint64_t start = (regions->data[i].start + 7) & ~7ull;
		ok = add_root(f, HPW_LEAK_ROOT_REGION, start, regions->data[i].end, 0, "");
	}
	return ok;
}

/* The last root: what another one holds is told as that one's. */
static bool add_ignored(struct finding *f)
{
	struct leak_root root = {.place = HPW_LEAK_ROOT_IGNORED, .name = ""};
	return spared_find(f->place->spared, f->place->live, &f->roots->ignored) &&
	       (!f->roots->ignored.len || leak_root_vec_push(&f->roots->roots, root));
}

static bool find_all(struct finding *f)
{
	if (!skip_own(f))
		return false;
	for (size_t i = 0; i < f->place->hold->threads.len; i++) {
		if (!add_thread(f, &f->place->hold->threads.data[i]))
			return false;
	}
	leak_ranges_join(&f->stacks);
	leak_ranges_join(&f->skipped);
	return find_dead_stacks(f) && (!f->place->is_partial || skip_blocks(f)) &&
	       add_mappings(f) && add_regions(f) && add_maps(f) && add_ignored(f);
}

struct error *leak_roots_find(const struct leak_place *place, struct leak_roots *ret)
{
	*ret = (struct leak_roots){{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
	struct finding f = {.place = place, .roots = ret};
	struct error *error = leak_heaps_find(place, &f.heaps);
	if (!error)
		error = leak_heaps_books(place, &f.heaps, &f.skipped);
	if (!error && !find_all(&f))
		error = error_no_memory();
	leak_ranges_deinit(&f.heaps);
	leak_ranges_deinit(&f.skipped);
	leak_ranges_deinit(&f.stacks);
	if (error)
		leak_roots_deinit(ret);
	return error;
}
