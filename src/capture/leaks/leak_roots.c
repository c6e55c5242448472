/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_roots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/leaks/leak_heaps.h"
#include "capture/leaks/leak_own.h"
#include "capture/leaks/leak_threads.h"

/* System V ABI, x86-64, 3.2.2: a leaf function may keep data so far below its stack pointer. */
#define RED_ZONE 128u
/* glibc's struct pthread stands at the thread pointer, in the last page of the thread's stack: at
 * its beginning if thread-local memory is aligned to pages. */
#define THREAD_BYTES 4096u
/* In it, in 8 bytes: a pointer to itself, and the thread's table of thread-local memory (dtv).
 */
#define THREAD_TABLE 1ul
/* A dtv is known by its second entry of 16 bytes. */
#define TABLE_OFFSET 16u
/* Both libraries of ours: the runtime, and what speaks for LeakSanitizer. */
#define RUNTIME_LIBRARY "/libheapwise-"

/* What is being put together. */
struct finding {
	const struct leak_place *place;
	struct leak_ranges heaps;   /* where blocks are, and free ones */
	struct leak_ranges skipped; /* no roots, and no stacks either */
	struct leak_ranges stacks;  /* of threads, alive or dead, whole: told by stack pointers */
	struct leak_thread_vec threads; /* of libc's, by its lists */
	struct leak_ranges locals;      /* an allocator library's thread-local memory */
	struct leak_roots *roots;
};

void leak_roots_deinit(struct leak_roots *roots)
{
	leak_root_vec_deinit(&roots->roots);
	leak_map_vec_deinit(&roots->maps);
	spared_addresses_deinit(&roots->ignored);
	spared_addresses_deinit(&roots->own);
}

static bool add_root(struct finding *f, enum hpw_leak_root place, uint64_t start, uint64_t end,
	pid_t tid, const char *name)
{
	struct leak_root root = {
		.place = place, .start = start, .end = end, .tid = tid, .name = name};
	if (place == HPW_LEAK_ROOT_DATA)
		root.module = leak_module_of(f->place->shm, start);
	return start >= end || leak_root_vec_push(&f->roots->roots, root);
}

static bool add_registers(struct finding *f, const struct hold_thread *thread)
{
	const struct user_regs_struct *r = &thread->regs;
	struct leak_root root = {.place = HPW_LEAK_ROOT_REGISTERS,
		.tid = thread->target_tid,
		.name = "",
		.value_count = LEAK_ROOT_REGISTERS,
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
		.value_count = LEAK_ROOT_REGISTERS,
		.values = {0, r[0], 0, 0, 0, 0, r[1], 0, 0, 0, 0, 0, r[2], r[3], r[4], r[5]}};
	return leak_root_vec_push(&f->roots->roots, root);
}

/*
 * Thread-local memory of libraries that came later: blocks of the loader's, which the thread's
 * table holds; the table itself is such a block, which the thread holds in the middle.
 */
static bool add_table(struct finding *f, pid_t tid, uint64_t thread_pointer)
{
	uint64_t at = thread_pointer + THREAD_TABLE * 8, table;
	if (!thread_pointer ||
		process_memory_read(f->place->memory, at, &table, sizeof(table)) != sizeof(table))
		return true;
	struct leak_root root = {.place = HPW_LEAK_ROOT_STACK,
		.start = at,
		.end = at + sizeof(table),
		.tid = tid,
		.name = "",
		.value_count = 1,
		.values = {table - TABLE_OFFSET}};
	return leak_root_vec_push(&f->roots->roots, root);
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
		if (!add_root(f, as->place, start, stop, as->tid, as->name))
			return false;
		start = stop;
	}
	return true;
}

static bool add_stack_root(struct finding *f, uint64_t start, uint64_t end, pid_t tid)
{
	const struct leak_ranges *sets[] = {&f->locals};
	struct leak_root as = {.place = HPW_LEAK_ROOT_STACK, .tid = tid, .name = ""};
	return add_remains(f, sets, 1, &as, start, end);
}

static bool is_main_stack(const struct process_map *map)
{
	return !strncmp(map->path, "[stack", 6);
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

/*
 * The same of another thread than the first: the last one has returned from its function, and ends
 * the process. Of return addresses into libc the highest leads out of the thread's first function
 * there, and the next one into that, from what has ended. 0: they are not there.
 */
static uint64_t thread_bottom(struct finding *f, const struct hold_thread *thread)
{
	const uint64_t bytes_max = 64ul << 10;
	const struct process_maps *maps = &f->place->hold->maps;
	uint64_t end = thread->regs.fs_base, found = 0, sp = thread->regs.rsp;
	uint64_t start = end - sp < bytes_max ? sp & ~7ull : end - bytes_max;
	_cleanup_free_ uint64_t *words = malloc(bytes_max);
	size_t n = words && end > sp ? process_memory_read(f->place->memory, start, words,
					       (size_t)(end - start)) /
					       8
				     : 0;
	while (n-- > 0) {
		const struct process_map *map = process_maps_find(maps, words[n]);
		if (!map || !map->executable || !leak_map_is_libc(map))
			continue;
		if (found)
			return start + 8 * n;
		found = words[n];
	}
	return 0;
}

/* Threads' stacks usually have a page below that nobody may touch. */
static bool has_guard(const struct process_maps *maps, const struct process_map *map)
{
	return map != maps->maps.data && map[-1].end == map->start && !map[-1].readable &&
	       !map[-1].writable;
}

/* The part of a mapping, if any, that is the stack of who has its descriptor there: up to the end
 * of that. */
static struct leak_range stack_in(const struct process_map *map, uint64_t descriptor)
{
	struct leak_range ret = {map->start, map->end};
	uint64_t end = (descriptor + THREAD_BYTES) & ~4095ull;
	if (!is_main_stack(map) && descriptor >= map->start && end < map->end)
		ret.end = end;
	return ret;
}

/* Where the thread has the stack that it began on: the first one, or the one that its descriptor is
 * in. Empty: not known, or a block. */
static struct leak_range usual_stack(struct finding *f, const struct hold_thread *thread)
{
	const struct process_maps *maps = &f->place->hold->maps;
	uint64_t pointer = thread->stopped ? thread->regs.fs_base : 0;
	const struct leak_thread *known = leak_threads_by_descriptor(&f->threads, pointer);
	const struct process_map *home = process_maps_find(maps, pointer);
	if (leak_ranges_has(&f->heaps, pointer))
		home = NULL;
	else if (thread->tid != f->place->hold->pid && known && known->start < known->end)
		return (struct leak_range){known->start, known->end};
	if (thread->tid != f->place->hold->pid)
		return home && leak_heap_like(home) ? stack_in(home, pointer)
						    : (struct leak_range){0, 0};
	for (size_t i = maps->maps.len; i-- > 0;) {
		if (is_main_stack(&maps->maps.data[i]))
			return stack_in(&maps->maps.data[i], pointer);
	}
	return (struct leak_range){0, 0};
}

/* The stack that the thread is on, if it is known to be one, and not one of the program's making (a
 * coroutine's, a signal's). Else empty. */
static struct leak_range present_stack(
	struct finding *f, const struct hold_thread *thread, uint64_t sp, struct leak_range usual)
{
	const struct process_maps *maps = &f->place->hold->maps;
	const struct process_map *map = process_maps_find(maps, sp);
	const struct leak_thread *known = leak_threads_by_stack(&f->threads, sp);
	if (!map || leak_ranges_has(&f->heaps, sp))
		return (struct leak_range){0, 0};
	if (sp >= usual.start && sp < usual.end && (known || is_main_stack(map)))
		return usual;
	if (known)
		return (struct leak_range){known->start, known->end};
	if (is_main_stack(map) || has_guard(maps, map))
		return stack_in(map, thread->stopped ? thread->regs.fs_base : 0);
	return (struct leak_range){0, 0};
}

/*
 * The thread's stack is told from its sp on; what lies below is of the past. But not where that
 * may be of something else: on a stack of the program's making. Then the thread's usual one is
 * taken whole, since nobody knows where it was left.
 */
static bool add_stack(struct finding *f, const struct hold_thread *thread, uint64_t sp)
{
	struct leak_range usual = usual_stack(f, thread),
			  present = present_stack(f, thread, sp, usual);
	if (present.start < present.end) {
		uint64_t from = sp - present.start > RED_ZONE ? sp - RED_ZONE : present.start;
		if (!add_stack_root(f, from & ~7ull, present.end, thread->target_tid) ||
			!leak_ranges_add(&f->stacks, present.start, present.end))
			return false;
	}
	if (usual.start == present.start)
		return true;
	return add_stack_root(f, usual.start, usual.end, thread->target_tid) &&
	       leak_ranges_add(&f->stacks, usual.start, usual.end);
}

static bool add_thread(struct finding *f, const struct hold_thread *thread)
{
	const struct hw_shm *shm = f->place->shm;
	bool leaves = f->place->is_leaving && (uint32_t)thread->target_tid == shm->leaving_tid;
	if (thread->stopped && !add_table(f, thread->target_tid, thread->regs.fs_base))
		return false;
	if (leaves && shm->leaving_sp)
		return add_leaving_registers(f, thread) && add_stack(f, thread, shm->leaving_sp);
	if (leaves) {
		uint64_t bottom = thread->tid == f->place->hold->pid ? stack_bottom(thread->tid)
								     : thread_bottom(f, thread);
		return add_stack(f, thread, bottom ? bottom : thread->regs.rsp);
	}
	if (thread->stopped && !add_registers(f, thread))
		return false;
	return !thread->regs.rsp || add_stack(f, thread, thread->regs.rsp);
}

/* The stack of a thread that has ended holds nothing any more, apart from the result. */
static bool add_dead_stack(struct finding *f, const struct leak_thread *thread)
{
	/* Of a thread that nobody has joined yet its table is held as memory holds it: in the
	 * middle. */
	if (thread->result_kept)
		return leak_ranges_add(&f->skipped, thread->start, thread->descriptor);
	return add_table(f, 0, thread->descriptor) &&
	       leak_ranges_add(&f->skipped, thread->start, thread->end);
}

/*
 * Where libc's lists were not found, stacks of threads that have ended, which are kept for the next
 * ones, are told by their thread descriptor, which points at itself twice, and that no thread has;
 * and by the page below that nobody may touch.
 */
static bool add_dead_stacks(struct finding *f, const struct process_map *map)
{
	const uint64_t portion = 64ul << 10;
	_cleanup_free_ uint64_t *words = malloc(portion);
	uint64_t start = map->start;
	if (!words)
		return false;
	for (uint64_t at = map->start; at < map->end; at += portion) {
		size_t bytes = map->end - at < portion ? map->end - at : portion;
		if (process_memory_untouched(f->place->memory, at, bytes) >= bytes)
			continue;
		size_t n = process_memory_read(f->place->memory, at, words, bytes) / 8;
		for (size_t i = 0; i + 3 <= n; i += 2) {
			uint64_t address = at + 8 * i;
			if (words[i] != address || words[i + 2] != address)
				continue;
			struct leak_thread thread = leak_thread_at(f->place, address);
			thread.start = start;
			/* A page has one at most. */
			start = thread.end = (address + THREAD_BYTES) & ~4095ull;
			if (thread.descriptor && !leak_ranges_has(&f->stacks, address) &&
				!add_dead_stack(f, &thread))
				return false;
			i = (start - at) / 8 - 2;
		}
	}
	return true;
}

/* Those that no thread is on: what is known of a thread that was not stopped is its stack pointer,
 * so it may be any that has not ended by its own word. */
static bool find_dead_stacks(struct finding *f)
{
	const struct process_maps *maps = &f->place->hold->maps;
	const struct hold_threads *held = &f->place->hold->threads;
	bool ok = true, all_stopped = true;
	for (size_t i = 0; i < held->len; i++)
		all_stopped &= held->data[i].stopped;
	for (size_t i = 0; ok && !f->threads.len && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (leak_heap_like(map) && has_guard(maps, map) &&
			!leak_ranges_has(&f->heaps, map->start))
			ok = add_dead_stacks(f, map);
	}
	for (size_t i = 0; ok && i < f->threads.len; i++) {
		const struct leak_thread *thread = &f->threads.data[i];
		if ((thread->has_ended || all_stopped) && thread->start < thread->end &&
			!leak_ranges_has(&f->stacks, thread->descriptor))
			ok = add_dead_stack(f, thread);
	}
	leak_ranges_join(&f->skipped);
	return ok;
}

/* Whether a mapping is the runtime's: its library's file, what of the library's data has no file
 * and follows, or the memory that is shared with the collector. */
static bool is_ours(const struct process_maps *maps, size_t index)
{
	const struct process_map *map = &maps->maps.data[index];
	const struct process_map *before = index ? map - 1 : NULL;
	if (!*map->path && !map->inode && before && before->end == map->start && before->inode)
		map = before;
	const char *base = strrchr(map->path, '/');
	if (!strncmp(map->path, "/memfd:heapwise", 15))
		return true;
	return base && !strncmp(base, RUNTIME_LIBRARY, strlen(RUNTIME_LIBRARY));
}

/* Device memory is none of the program's data; /dev/zero is how some get plain memory. */
static bool is_searched(const struct process_maps *maps, size_t index)
{
	const struct process_map *map = &maps->maps.data[index];
	if (!map->readable || !map->writable || is_main_stack(map) || is_ours(maps, index))
		return false;
	if (!strcmp(map->path, "[vvar]"))
		return false;
	return strncmp(map->path, "/dev/", 5) || !strncmp(map->path, "/dev/zero", 9) ||
	       !strncmp(map->path, "/dev/shm/", 9);
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
		bool data = leak_module_of(f->place->shm, map->start) ||
			    (map->start == data_end && !map->inode && !*map->path) ||
			    (map->inode && !map->shared);
		data_end = map->inode && data ? map->end : 0;
		if (!is_searched(maps, i))
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

/* What of a region there is: beside the same memory by another name, or in a block. */
static bool add_region(struct finding *f, const struct spared_root *region)
{
	const struct process_maps *maps = &f->place->hold->maps;
	bool ok = true;
	for (size_t i = 0; ok && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		uint64_t start = region->start > map->start ? region->start : map->start,
			 end = region->end < map->end ? region->end : map->end;
		if (map->readable && !is_ours(maps, i) && start < end)
			ok = add_root(f, HPW_LEAK_ROOT_REGION, (start + 7) & ~7ull, end, 0, "");
	}
	return ok;
}

static bool add_regions(struct finding *f)
{
	const struct spared_roots *regions = &f->place->spared->roots;
	bool ok = true;
	for (size_t i = 0; ok && i < regions->len; i++)
		ok = add_region(f, &regions->data[i]);
	return ok;
}

/* The last root: what another one holds is told as that one's. */
static bool add_ignored(struct finding *f)
{
	struct leak_root root = {
		.place = HPW_LEAK_ROOT_IGNORED, .name = "", .many = &f->roots->ignored};
	return spared_find(f->place->spared, f->place->live, &f->roots->ignored) &&
	       (!f->roots->ignored.len || leak_root_vec_push(&f->roots->roots, root));
}

static bool add_local(struct finding *f, uint64_t thread_pointer, uint64_t distance, uint64_t bytes)
{
	uint64_t start = thread_pointer - distance;
	return thread_pointer < distance ||
	       leak_ranges_add(&f->locals, start & ~7ull, (start + bytes + 7) & ~7ull);
}

/* What an allocator has there is no more the program's than its data is: of each thread that is
 * known, by whatever. */
static bool find_locals(struct finding *f)
{
	const struct hold_threads *held = &f->place->hold->threads;
	uint64_t distance, bytes;
	if (!leak_allocator_local(f->place, &distance, &bytes))
		return true;
	bool ok = true;
	for (size_t i = 0; ok && i < held->len; i++) {
		uint64_t pointer = held->data[i].stopped ? held->data[i].regs.fs_base : 0;
		ok = add_local(f, pointer, distance, bytes);
	}
	for (size_t i = 0; ok && i < f->threads.len; i++)
		ok = add_local(f, f->threads.data[i].descriptor, distance, bytes);
	leak_ranges_join(&f->locals);
	for (size_t i = 0; ok && i < f->locals.len; i++)
		ok = leak_ranges_add(&f->skipped, f->locals.data[i].start, f->locals.data[i].end);
	return ok;
}

static bool find_all(struct finding *f)
{
	if (!leak_ranges_add_own(&f->skipped, f->place->shm) ||
		!leak_threads_find(f->place, &f->threads) || !find_locals(f))
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
	*ret = (struct leak_roots){{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
	struct finding f = {.place = place, .roots = ret};
	struct error *error = leak_heaps_find(place, &f.heaps, &f.skipped);
	if (!error && !find_all(&f))
		error = error_no_memory();
	if (!error)
		error = leak_own_find(place, &f.locals, ret);
	leak_ranges_deinit(&f.heaps);
	leak_ranges_deinit(&f.skipped);
	leak_ranges_deinit(&f.stacks);
	leak_thread_vec_deinit(&f.threads);
	leak_ranges_deinit(&f.locals);
	if (error)
		leak_roots_deinit(ret);
	return error;
}
