/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/survey/roots.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/blocks/freeing.h"
#include "process/address_threads.h"

#define PAGE_BYTES 4096ull
/* System V ABI, x86-64, 3.2.2: a leaf function may keep data so far below its stack pointer. */
#define RED_ZONE 128u
/* glibc, x86-64: at the thread pointer stands struct pthread, whose first and third word point to
 * itself and whose second to the thread's table of thread-local memory (dtv); the table is a block
 * that is held in its middle (sysdeps/x86_64/nptl/tls.h: tcbhead_t). On aarch64 it stands before
 * the thread pointer, which points to the address of that table; thread-local memory follows. */
#define TABLE_WORD 1u
#define ARM_TABLE_WORD 0u
#define TABLE_OFFSET 16u
#define TLS_BYTES_MAX (1ull << 30)
#define PUT_AWAY_MOST (1ull << 30)
/* Registers of x86-64 that hold no data of the program: flags, segments, bases (sys/user.h). */
#define X86_DATA_REGISTERS 16u

struct range {
	uint64_t start, end;
};
DEFINE_VEC(ranges, struct range)

struct finding {
	const struct heap *heap;
	const struct address_space *space;
	const struct thread_blocks *blocks;
	struct ranges taken; /* no roots, or ones already */
	struct heap_root_vec *roots;
};

static bool add(struct finding *f, const struct heap_root *root)
{
	return (!root->values && root->start >= root->end) || heap_root_vec_push(f->roots, *root);
}

static bool take(struct finding *f, uint64_t start, uint64_t end)
{
	return start >= end || ranges_push(&f->taken, (struct range){start, end});
}

static bool has_guard(const struct finding *f, const struct process_map *map)
{
	const struct process_map *first = f->space->maps.maps.data;
	return map > first && (map[-1].end < map->start || !map[-1].writable);
}

/* From where a thread is described to the end of its stack, but for what fills the last page. */
static uint64_t descriptor_bytes(const struct finding *f)
{
	uint64_t sum = ROOTS_DESCRIPTOR_BYTES;
	for (size_t i = 0; f->space->machine == EM_AARCH64 && i < f->space->modules.len; i++)
		sum += f->space->modules.data[i].tls % TLS_BYTES_MAX;
	return sum;
}

/* Where a thread's stack ends: the descriptor stands in its last pages; else its mapping does. */
static uint64_t stack_end(
	const struct finding *f, const struct process_map *map, const struct address_thread *thread)
{
	uint64_t pointer = thread->thread_pointer;
	if (pointer < thread->sp || pointer >= map->end)
		return map->end;
	uint64_t end = (pointer + descriptor_bytes(f) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return end < map->end ? end : map->end;
}

/* Where in [from, end) the first allocator's memory begins: how long what describes a thread is, is
 * not known, and behind it there may be blocks in the same mapping. */
static uint64_t claimed_from(const struct finding *f, uint64_t from, uint64_t end)
{
	const struct heap_area_vec *areas = &f->heap->areas;
	size_t low = 0, high = areas->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (areas->data[middle].high <= from)
			low = middle + 1;
		else
			high = middle;
	}
	uint64_t claimed = low < areas->len ? max(areas->data[low].low, from) : end;
	return min(claimed, end);
}

/* A thread's area as far as no allocator has it. False: there is none. */
static bool area_of(const struct finding *f, uint32_t number, struct thread_area *ret)
{
	const struct thread_area *area = thread_blocks_area(f->blocks, number);
	if (!area)
		return false;
	*ret = *area;
	ret->end = claimed_from(f, area->start, area->end);
	return ret->end > ret->start;
}

/* Thread-local storage lies at the end of a stack, but not of the first thread's. */
static bool add_stack_parts(struct finding *f, uint32_t number, uint64_t from, uint64_t end)
{
	struct thread_area area;
	struct heap_root root = {HEAP_ROOT_STACK, from, end, number, NULL, 0, 0};
	if (!area_of(f, number, &area) || area.start < from || area.end > end)
		return add(f, &root);
	struct heap_root local = {HEAP_ROOT_TLS, area.start, area.end, number, NULL, 0, 0};
	uint64_t behind = min((area.end + 7) & ~(uint64_t)7, end);
	struct heap_root rest = {HEAP_ROOT_STACK, behind, end, number, NULL, 0, 0};
	root.end = area.start;
	return add(f, &root) && add(f, &local) && add(f, &rest);
}

/* Unless it is a part of the stack, or of what an allocator keeps. */
static bool add_area(struct finding *f, uint32_t number)
{
	struct thread_area area;
	if (!area_of(f, number, &area))
		return true;
	for (size_t i = f->roots->len; i-- > 0 && f->roots->data[i].thread == number;) {
		const struct heap_root *root = &f->roots->data[i];
		if (!root->values && root->start < area.end && root->end > area.start)
			return true;
	}
	struct heap_root root = {HEAP_ROOT_TLS, area.start & ~7ull, area.end, number, NULL, 0, 0};
	return add(f, &root) && take(f, root.start, root.end);
}

/* From the stack pointer on; all of the mapping's part below is of the past. */
static bool add_stack(struct finding *f, uint32_t number)
{
	const struct address_thread *thread = &f->space->threads.data[number];
	const struct process_map *map = address_space_map(f->space, thread->sp);
	if (!map || !map->writable || heap_areas_find(&f->heap->areas, thread->sp))
		return true;
	uint64_t end = claimed_from(f, thread->sp, stack_end(f, map, thread));
	uint64_t zone = f->space->machine == EM_X86_64 ? RED_ZONE : 0;
	uint64_t from = thread->sp - map->start > zone ? thread->sp - zone : map->start;
	from &= ~7ull;
	/* Below may be anything on a stack that the program made itself: then all of it counts. */
	return add_stack_parts(f, number, from, end) &&
	       take(f, has_guard(f, map) ? map->start : from, end);
}

/* The registers that can hold pointers; on aarch64 all but the last, which has flags. */
static bool add_registers(struct finding *f, uint32_t number)
{
	const struct address_thread *thread = &f->space->threads.data[number];
	bool x86 = f->space->machine == EM_X86_64;
	struct heap_root root = {.kind = HEAP_ROOT_REGISTERS,
		.thread = number,
		.values = thread->registers,
		.value_count = x86 ? X86_DATA_REGISTERS : 33u};
	return add(f, &root);
}

/* How far into its block a thread's table is held. musl (src/internal/pthread_impl.h) has it at the
 * start of the block that thread-local memory is in; where glibc has the third word, the thread
 * before it in a ring of all, itself if it is the only one, and then also the next one. */
static uint64_t table_offset(const struct finding *f, uint64_t pointer)
{
	uint64_t words[4];
	bool known = f->space->machine == EM_X86_64 &&
		     address_space_read(f->space, pointer, words, sizeof(words)) == sizeof(words);
	return known && (words[2] != pointer || words[3] == pointer) ? 0 : TABLE_OFFSET;
}

/* A thread's table of thread-local memory. */
static bool add_table(
	struct finding *f, enum heap_root_kind kind, uint32_t number, uint64_t pointer)
{
	bool x86 = f->space->machine == EM_X86_64;
	uint64_t at = pointer + 8ul * (x86 ? TABLE_WORD : ARM_TABLE_WORD), table;
	if (!pointer || !address_space_word(f->space, at, &table) || !table)
		return true;
	struct heap_root root = {
		kind, at, at + 8, number, NULL, 1, table - table_offset(f, pointer)};
	return heap_root_vec_push(f->roots, root);
}

static bool add_thread(struct finding *f, uint32_t number)
{
	if (!f->space->threads.data[number].stopped)
		return true;
	return add_registers(f, number) && add_stack(f, number) && add_area(f, number) &&
	       freeing_add_roots(f->heap, number, f->roots) &&
	       add_table(f, HEAP_ROOT_TLS, number, f->space->threads.data[number].thread_pointer);
}

static bool is_own_stack(const struct finding *f, uint64_t descriptor)
{
	bool x86 = f->space->machine == EM_X86_64;
	for (size_t i = 0; i < f->space->threads.len; i++) {
		uint64_t pointer = f->space->threads.data[i].thread_pointer;
		if (x86 ? pointer == descriptor : pointer - descriptor < PAGE_BYTES)
			return true;
	}
	return false;
}

/*
 * Whether words may be of a thread's description. On aarch64 they are its number, 0 of one that has
 * ended, and the empty list of robust mutexes (address_threads.c); before that it stands in a list
 * itself.
 */
static bool is_descriptor(const struct finding *f, const uint64_t *words, uint64_t address)
{
	if (f->space->machine == EM_X86_64)
		return words[0] == address && words[2] == address;
	uint64_t list[2], back, forth, own = address - sizeof(list);
	return !(uint32_t)words[0] && words[1] == address + 16 && words[2] == address + 16 &&
	       address_space_read(f->space, own, list, sizeof(list)) == sizeof(list) &&
	       address_space_word(f->space, list[0] + 8, &back) && back == own &&
	       address_space_word(f->space, list[1], &forth) && forth == own;
}

/*
 * Stacks of threads that have ended are kept for the next ones: they hold nothing any more but the
 * table of thread-local memory. They are told by their descriptor, which no thread has, and by the
 * page below that nobody may touch.
 */
static bool skip_dead_stacks(struct finding *f, const struct process_map *map)
{
	const uint64_t portion = 64ull << 10;
	_cleanup_free_ uint64_t *words = malloc(portion);
	uint64_t start = map->start;
	bool ok = words;
	for (uint64_t at = map->start, next; ok && at < map->end; at = next) {
		size_t empty = address_space_empty(f->space, at, map->end - at) & ~15ul;
		size_t bytes = map->end - at < portion ? map->end - at : portion;
		next = at + (empty ? empty : bytes);
		if (empty)
			continue;
		size_t n = address_space_read(f->space, at, words, bytes) / 8;
		for (size_t i = 0; ok && i + 3 <= n; i += 2) {
			uint64_t address = at + 8 * i;
			if (!is_descriptor(f, words + i, address))
				continue;
			uint64_t end = (address + descriptor_bytes(f) + PAGE_BYTES - 1) &
				       ~(PAGE_BYTES - 1);
			uint64_t pointer = f->space->machine == EM_X86_64
						   ? address
						   : address_thread_pointer(f->space, address);
			/* The next thread on that stack gets its table. */
			if (!is_own_stack(f, address))
				ok = take(f, start, end) &&
				     add_table(f, HEAP_ROOT_MAPPING, 0, pointer);
			start = end;
		}
	}
	return ok;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

/* Adds what of [start, end) nobody has taken; `taken` is sorted, *next goes along. */
static bool add_remains(
	struct finding *f, enum heap_root_kind kind, uint64_t start, uint64_t end, size_t *next)
{
	const struct ranges *taken = &f->taken;
	bool ok = true;
	while (*next < taken->len && taken->data[*next].end <= start)
		++*next;
	for (size_t i = *next; ok && start < end; i++) {
		uint64_t stop =
			i < taken->len && taken->data[i].start < end ? taken->data[i].start : end;
		struct heap_root root = {kind, start, stop, 0, NULL, 0, 0};
		ok = add(f, &root);
		if (stop == end)
			break;
		start = taken->data[i].end > start ? taken->data[i].end : start;
	}
	return ok;
}

/* What the loader writes and then protects (PT_GNU_RELRO): it ends where its module's data begins.
 */
static bool is_sealed(const struct finding *f, const struct process_map *map)
{
	const struct process_maps *maps = &f->space->maps;
	const struct process_map *next = map + 1;
	const struct address_module *module = address_space_module(f->space, map->start);
	return module && map->readable && !map->writable && !map->executable && !map->shared &&
	       next < maps->maps.data + maps->maps.len && next->start == map->end &&
	       next->writable && address_space_module(f->space, next->start) == module;
}

/* Device memory is none of the program's data; /dev/zero is how some get plain memory. */
static bool is_searched(const struct finding *f, const struct process_map *map)
{
	if (is_sealed(f, map))
		return true;
	if (!map->readable || !map->writable || !strcmp(map->path, "[vvar]"))
		return false;
	return strncmp(map->path, "/dev/", 5) != 0 || !strncmp(map->path, "/dev/zero", 9) ||
	       !strncmp(map->path, "/dev/shm/", 9);
}

/*
 * Data that the program may not write now, or not even read: it takes pages away from itself and
 * gives them back, to notice who touches them (garbage collectors, guards), or to keep them as they
 * are. What they hold is not lost.
 */
static bool is_put_away(const struct finding *f, const struct process_map *map)
{
	const struct address_module *module = address_space_module(f->space, map->start);
	if (map->writable || map->executable || map->shared)
		return false;
	return module ? map->start >= module->written : address_map_is_own(map);
}

/* How much of that is worth a look: of a core what is in it; of a process all, unless it is so
 * large that it is only kept free. */
static uint64_t put_away_end(const struct finding *f, const struct process_map *map)
{
	if (f->space->is_live)
		return map->end - map->start <= PUT_AWAY_MOST ? map->end : map->start;
	const struct core_segment *segment = core_file_segment(&f->space->core, map->start);
	uint64_t known = segment ? segment->start + segment->file_bytes : map->start;
	return known < map->start ? map->start : known < map->end ? known : map->end;
}

/* What recording brings along: the addresses in it are nobody's pointers. */
static bool is_of_recorder(const struct finding *f, const struct process_map *map)
{
	const struct address_module *module = address_space_module(f->space, map->start);
	return strstr(map->path, "/memfd:heapwise-") ||
	       (module && strstr(module->path, "/libheapwise-"));
}

static bool add_mappings(struct finding *f, enum heap_root_kind kind)
{
	size_t next = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < f->space->maps.maps.len; i++) {
		const struct process_map *map = &f->space->maps.maps.data[i];
		bool data =
			address_space_module(f->space, map->start) || (map->inode && !map->shared);
		if (data != (kind == HEAP_ROOT_DATA) || is_of_recorder(f, map))
			continue;
		if (is_searched(f, map))
			ok = add_remains(f, kind, map->start, map->end, &next);
		else if (is_put_away(f, map))
			ok = add_remains(f, kind, map->start, put_away_end(f, map), &next);
	}
	return ok;
}

static bool take_heaps(struct finding *f)
{
	bool ok = true;
	for (size_t i = 0; ok && i < f->heap->areas.len; i++)
		ok = take(f, f->heap->areas.data[i].low, f->heap->areas.data[i].high);
	for (size_t i = 0; ok && i < f->heap->books.len; i++)
		ok = take(f, f->heap->books.data[i].start, f->heap->books.data[i].end);
	return ok;
}

/* Of one that could not be stopped nobody knows where it is described, or what of its stack is in
 * use: all of it counts, and so does what looks like a stack. */
static bool all_are_known(const struct finding *f)
{
	for (size_t i = 0; i < f->space->threads.len; i++) {
		if (!f->space->threads.data[i].stopped)
			return false;
	}
	return true;
}

/* Data first: what a program names says more than what a stack may have left over. */
static bool put_in_order(struct heap_root_vec *roots)
{
	static const enum heap_root_kind order[HEAP_ROOT_KINDS] = {HEAP_ROOT_DATA, HEAP_ROOT_TLS,
		HEAP_ROOT_REGISTERS, HEAP_ROOT_STACK, HEAP_ROOT_MAPPING, HEAP_ROOT_COLLECTOR};
	struct heap_root_vec sorted;
	bool ok = true;
	heap_root_vec_init(&sorted);
	for (unsigned kind = 0; kind < HEAP_ROOT_KINDS; kind++) {
		for (size_t i = 0; i < roots->len && ok; i++) {
			if (roots->data[i].kind == order[kind])
				ok = heap_root_vec_push(&sorted, roots->data[i]);
		}
	}
	struct heap_root_vec swap = *roots;
	*roots = sorted;
	heap_root_vec_deinit(&swap);
	return ok;
}

/* What a collector has not freed it holds itself, if nothing else does. */
static bool add_collected(struct finding *f)
{
	const struct heap_addresses *used = &f->heap->go_spans.used;
	struct heap_root root = {.kind = HEAP_ROOT_COLLECTOR,
		.start = used->len ? used->data[0] : 0,
		.end = used->len ? used->data[0] : 0,
		.values = used->data,
		.value_count = used->len};
	return !used->len || heap_root_vec_push(f->roots, root);
}

static bool find_all(struct finding *f)
{
	bool ok = take_heaps(f);
	for (size_t i = 0; ok && i < f->space->threads.len; i++)
		ok = add_thread(f, (uint32_t)i);
	bool known = all_are_known(f);
	for (size_t i = 0; ok && known && i < f->space->maps.maps.len; i++) {
		const struct process_map *map = &f->space->maps.maps.data[i];
		if (address_map_is_anonymous(map) && has_guard(f, map) &&
			!heap_areas_find(&f->heap->areas, map->start))
			ok = skip_dead_stacks(f, map);
	}
	if (ok && f->taken.len)
		qsort(f->taken.data, f->taken.len, sizeof(*f->taken.data), by_start);
	ok = ok && add_mappings(f, HEAP_ROOT_DATA) && add_mappings(f, HEAP_ROOT_MAPPING);
	ok = ok && put_in_order(f->roots) && add_collected(f);
	/* Only now do they stay where they are. */
	for (size_t i = 0; ok && i < f->roots->len; i++) {
		struct heap_root *root = &f->roots->data[i];
		if (root->value_count == 1 && root->kind != HEAP_ROOT_COLLECTOR)
			root->values = &root->value;
	}
	return ok;
}

struct error *heap_roots_find(
	const struct heap *heap, const struct thread_blocks *blocks, struct heap_root_vec *ret)
{
	heap_root_vec_init(ret);
	struct finding f = {.heap = heap, .space = heap->space, .blocks = blocks, .roots = ret};
	bool ok = find_all(&f);
	ranges_deinit(&f.taken);
	return ok ? NULL : error_no_memory();
}
