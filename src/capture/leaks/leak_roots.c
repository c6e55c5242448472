/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_roots.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/leaks/leak_heaps.h"
#include "capture/leaks/leak_own.h"
#include "roots/roots.h"

/* Registers as <sys/user.h> has them. */
enum { R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI, RSP = 19 };

/* What is being put together. */
struct finding {
	const struct leak_target *place;
	struct address_space space; /* of parts: mappings and memory are the place's */
	struct libc_threads threads;
	struct thread_blocks blocks;
	struct address_ranges heaps;    /* where blocks are, and free ones */
	struct address_ranges excluded; /* no roots */
	struct address_ranges locals;   /* an allocator library's thread-local memory */
	struct memory_root_vec found;
	struct leak_roots *roots;
};

void leak_roots_deinit(struct leak_roots *roots)
{
	searched_root_vec_deinit(&roots->roots);
	leak_map_vec_deinit(&roots->maps);
	kept_addresses_deinit(&roots->ignored);
	kept_addresses_deinit(&roots->own);
}

static bool add_searched_root(struct finding *f, enum hpw_leak_root place, uint64_t start,
	uint64_t end, pid_t tid, const char *name)
{
	struct searched_root root = {
		.place = place, .start = start, .end = end, .tid = tid, .name = name};
	if (place == HPW_LEAK_ROOT_DATA)
		root.module = leak_module_of(f->place->shm, start);
	return start >= end || searched_root_vec_push(&f->roots->roots, root);
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
 * As above, for a thread other than the first: the last one has returned from its function, and
 * ends the process. Of return addresses into libc the highest leads out of the thread's first
 * function there, and the next one into that, from what has ended. 0: they are not there.
 */
static uint64_t thread_bottom(struct finding *f, const struct paused_thread *thread)
{
	const uint64_t bytes_max = 64ul << 10;
	const struct process_maps *maps = &f->place->target->maps;
	uint64_t end = thread->regs.fs_base, found = 0, sp = thread->regs.rsp;
	uint64_t start = end - sp < bytes_max ? sp & ~7ull : end - bytes_max;
	_cleanup_free_ uint64_t *words = malloc(bytes_max);
	size_t n = words && end > sp ? process_memory_read(f->place->memory, start, words,
					       (size_t)(end - start)) /
					       8
				     : 0;
	while (n-- > 0) {
		const struct process_map *map = process_maps_find(maps, words[n]);
		if (!map || !map->executable || !process_map_is_libc(map))
			continue;
		if (found)
			return start + 8 * n;
		found = words[n];
	}
	return 0;
}

static bool thread_is_exiting(const struct leak_target *place, const struct paused_thread *thread)
{
	return place->is_leaving && (uint32_t)thread->target_tid == place->shm->leaving_tid;
}

/* A thread that ends the process: its stack and registers are as its call of exit found them. */
static void see_leaving(
	struct finding *f, const struct paused_thread *held, struct address_thread *ret)
{
	const struct hw_shm *shm = f->place->shm;
	const uint64_t *r = shm->leaving_registers;
	memset(ret->registers, 0, sizeof(ret->registers));
	if (shm->leaving_sp) {
		ret->sp = shm->leaving_sp;
		ret->registers[RBX] = r[0];
		ret->registers[RBP] = r[1];
		ret->registers[R12] = r[2];
		ret->registers[R13] = r[3];
		ret->registers[R14] = r[4];
		ret->registers[R15] = r[5];
		return;
	}
	uint64_t bottom = held->tid == f->place->target->pid ? stack_bottom(held->tid)
							     : thread_bottom(f, held);
	if (bottom)
		ret->sp = bottom;
}

/* The threads as they are searched. False: no memory. */
static bool see_threads(struct finding *f)
{
	const struct paused_threads *held = &f->place->target->threads;
	bool ok = true;
	for (size_t i = 0; ok && i < held->len; i++) {
		const struct paused_thread *from = &held->data[i];
		struct address_thread thread = {
			.tid = from->tid, .stopped = from->stopped, .sp = from->regs.rsp};
		if (from->stopped) {
			memcpy(thread.registers, &from->regs, sizeof(from->regs));
			thread.thread_pointer = from->regs.fs_base;
			thread.pc = from->regs.rip;
		}
		if (thread_is_exiting(f->place, from))
			see_leaving(f, from, &thread);
		ok = address_threads_push(&f->space.threads, thread);
	}
	return ok;
}

static struct error *see_space(struct finding *f)
{
	f->space = (struct address_space){.is_live = true,
		.machine = EM_X86_64,
		.maps = f->place->target->maps,
		.owner.pid = f->place->target->pid,
		.core.fd = -1,
		.memory = *f->place->memory};
	if (!see_threads(f))
		return error_no_memory();
	struct error *error = address_space_of_parts(f->place->target->process, &f->space);
	return error ? error : thread_blocks_find(&f->space, &f->blocks);
}

/* What a block's own memory is, is no root either, also where the rest of the heap is. */
static bool exclude_blocks(struct finding *f)
{
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(f->place->live, &walk))
		return false;
	bool ok = true;
	for (size_t n; ok && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++)
			ok = address_ranges_add(&f->excluded, blocks[i].address,
				blocks[i].address + blocks[i].size);
	}
	live_table_walk_end(&walk);
	return ok;
}

static bool add_maps(struct finding *f)
{
	const struct process_maps *maps = &f->place->target->maps;
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
static bool add_searched_range(struct finding *f, const struct kept_root *region)
{
	const struct process_maps *maps = &f->place->target->maps;
	bool ok = true;
	for (size_t i = 0; ok && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		uint64_t start = region->start > map->start ? region->start : map->start,
			 end = region->end < map->end ? region->end : map->end;
		if (map->readable && !roots_map_is_of_recorder(&f->space, map) && start < end)
			ok = add_searched_root(
				f, HPW_LEAK_ROOT_REGION, (start + 7) & ~7ull, end, 0, "");
	}
	return ok;
}

static bool add_regions(struct finding *f)
{
	const struct kept_roots *regions = &f->place->annotations->roots;
	bool ok = true;
	for (size_t i = 0; ok && i < regions->len; i++)
		ok = add_searched_range(f, &regions->data[i]);
	return ok;
}

/* The last root: what another root references counts as that root's. */
static bool add_ignored(struct finding *f)
{
	struct searched_root root = {
		.place = HPW_LEAK_ROOT_IGNORED, .name = "", .many = &f->roots->ignored};
	return lsan_annotations_find_kept(
		       f->place->annotations, f->place->live, &f->roots->ignored) &&
	       (!f->roots->ignored.len || searched_root_vec_push(&f->roots->roots, root));
}

static bool add_local(struct finding *f, uint64_t thread_pointer, uint64_t distance, uint64_t bytes)
{
	uint64_t start = thread_pointer - distance;
	return thread_pointer < distance ||
	       address_ranges_add(&f->locals, start & ~7ull, (start + bytes + 7) & ~7ull);
}

/* What an allocator has there is no more the program's than its data is: of each thread that is
 * known, by whatever. */
static bool find_locals(struct finding *f)
{
	const struct paused_threads *held = &f->place->target->threads;
	uint64_t distance, bytes;
	if (!leak_allocator_local(f->place, &distance, &bytes))
		return true;
	bool ok = true;
	for (size_t i = 0; ok && i < held->len; i++) {
		uint64_t pointer = held->data[i].stopped ? held->data[i].regs.fs_base : 0;
		ok = add_local(f, pointer, distance, bytes);
	}
	for (size_t i = 0; ok && i < f->threads.threads.len; i++)
		ok = add_local(f, f->threads.threads.data[i].descriptor, distance, bytes);
	address_ranges_join(&f->locals);
	for (size_t i = 0; ok && i < f->locals.len; i++)
		ok = address_ranges_add(
			&f->excluded, f->locals.data[i].start, f->locals.data[i].end);
	return ok;
}

/* In the order of FORMAT.md. False: no memory. */
static bool add_register_root(struct finding *f, uint32_t number)
{
	const uint64_t *r = f->space.threads.data[number].registers;
	struct searched_root root = {.place = HPW_LEAK_ROOT_REGISTERS,
		.tid = f->place->target->threads.data[number].target_tid,
		.name = "",
		.value_count = LEAK_ROOT_REGISTERS,
		.values = {r[RAX], r[RBX], r[RCX], r[RDX], r[RSI], r[RDI], r[RBP], r[RSP], r[R8],
			r[R9], r[R10], r[R11], r[R12], r[R13], r[R14], r[R15]}};
	return searched_root_vec_push(&f->roots->roots, root);
}

/* Of a thread that ends the process its call of exit has recorded the registers, though it could
 * not be stopped. */
static bool add_unstopped_leaving(struct finding *f)
{
	bool ok = true;
	for (size_t i = 0; ok && !f->place->no_threads && i < f->space.threads.len; i++) {
		const struct paused_thread *held = &f->place->target->threads.data[i];
		if (!held->stopped && thread_is_exiting(f->place, held) &&
			f->place->shm->leaving_sp)
			ok = add_register_root(f, (uint32_t)i);
	}
	return ok;
}

/* A part of a stack; thread-local storage there is reported as such. */
static bool add_stack_root(struct finding *f, const struct memory_root *from)
{
	bool has_thread = from->thread != MEMORY_ROOT_NO_THREAD;
	struct searched_root root = {.place = HPW_LEAK_ROOT_STACK,
		.start = from->start,
		.end = from->end,
		.tid = has_thread ? f->place->target->threads.data[from->thread].target_tid : 0,
		.name = "",
		.value_count = from->value_count,
		.values = {from->value}};
	struct searched_root_vec *roots = &f->roots->roots;
	struct searched_root *last = roots->len ? &roots->data[roots->len - 1] : NULL;
	if (last && !last->value_count && !root.value_count && last->place == root.place &&
		last->tid == root.tid && last->end == root.start) {
		last->end = root.end;
		return true;
	}
	return searched_root_vec_push(roots, root);
}

static bool is_of_first_thread(const struct finding *f, const struct memory_root *root)
{
	const struct paused_target *target = f->place->target;
	return root->thread != MEMORY_ROOT_NO_THREAD &&
	       target->threads.data[root->thread].tid == target->pid;
}

/* By the rules of who asks for the search. The first thread's stack counts with global data, as
 * gperftools finds both in the list of mappings. */
static bool is_left_out(const struct finding *f, const struct memory_root *root)
{
	switch (root->kind) {
	case MEMORY_ROOT_REGISTERS:
		return f->place->no_threads;
	case MEMORY_ROOT_STACK:
	case MEMORY_ROOT_TLS:
		return is_of_first_thread(f, root) ? f->place->no_globals : f->place->no_threads;
	case MEMORY_ROOT_DATA:
	case MEMORY_ROOT_MAPPING:
		break;
	}
	return f->place->no_globals;
}

static bool add_found(struct finding *f, const struct memory_root *from)
{
	if (is_left_out(f, from))
		return true;
	switch (from->kind) {
	case MEMORY_ROOT_REGISTERS: {
		/* The stack pointer follows the others, and comes with them. */
		const struct address_thread *thread = &f->space.threads.data[from->thread];
		return from->values != thread->registers || add_register_root(f, from->thread);
	}
	case MEMORY_ROOT_STACK:
	case MEMORY_ROOT_TLS:
		if (!from->is_guess)
			return add_stack_root(f, from);
		return add_searched_root(f, HPW_LEAK_ROOT_MAPPING, from->start, from->end, 0, "");
	case MEMORY_ROOT_DATA:
		return add_searched_root(
			f, HPW_LEAK_ROOT_DATA, from->start, from->end, 0, from->map->path);
	case MEMORY_ROOT_MAPPING:
		break;
	}
	return add_searched_root(
		f, HPW_LEAK_ROOT_MAPPING, from->start, from->end, 0, from->map->path);
}

/* What holds nothing: the runtime's own, an allocator's metadata, and its heap, or of one that is
 * not known whole its blocks, also where the rest is. */
static bool exclude_ranges(struct finding *f)
{
	bool ok = paused_target_own_memory(&f->excluded, f->place->shm) && find_locals(f);
	for (size_t i = 0; ok && !f->place->is_partial && i < f->heaps.len; i++)
		ok = address_ranges_add(&f->excluded, f->heaps.data[i].start, f->heaps.data[i].end);
	ok = ok && (!f->place->is_partial || exclude_blocks(f));
	address_ranges_join(&f->excluded);
	return ok;
}

static struct error *find_all_searched(struct finding *f)
{
	const struct roots_place place = {
		&f->space, &f->threads, &f->blocks, &f->heaps, &f->excluded};
	struct error *error = see_space(f);
	if (error)
		return error;
	if (!libc_threads_find(&f->space, &f->threads) || !exclude_ranges(f))
		return error_no_memory();
	error = roots_find(&place, &f->found);
	bool ok = !error && add_unstopped_leaving(f);
	for (size_t i = 0; ok && i < f->found.len; i++)
		ok = add_found(f, &f->found.data[i]);
	if (!error && !(ok && add_regions(f) && add_maps(f) && add_ignored(f)))
		error = error_no_memory();
	return error;
}

struct error *leak_roots_find(const struct leak_target *place, struct leak_roots *ret)
{
	*ret = (struct leak_roots){{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
	struct finding f = {.place = place, .roots = ret};
	struct error *error = leak_heaps_find(place, &f.heaps, &f.excluded);
	if (!error)
		error = find_all_searched(&f);
	if (!error)
		error = leak_own_find(place, &f.locals, ret);
	address_ranges_deinit(&f.heaps);
	address_ranges_deinit(&f.excluded);
	address_ranges_deinit(&f.locals);
	libc_threads_deinit(&f.threads);
	thread_blocks_deinit(&f.blocks);
	memory_root_vec_deinit(&f.found);
	address_modules_deinit(&f.space.modules);
	address_threads_deinit(&f.space.threads);
	if (error)
		leak_roots_deinit(ret);
	return error;
}
