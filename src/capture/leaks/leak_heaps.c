/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_heaps.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/leaks/leak_break.h"

/* glibc, x86-64: HEAP_MAX_SIZE of malloc/arena.c; where in a heap its arena may stand: after
 * heap_info of 4 words (to 2.34) or 6. */
#define ARENA_HEAP_BYTES (64ull << 20)
#define ARENA_OFFSET_OLD 0x20u
#define ARENA_OFFSET 0x30u
/* malloc/malloc.c: malloc_chunk; struct malloc_state from 2.27 on. */
#define CHUNK_MMAPPED 2u
#define CHUNK_NOT_MAIN 4u
#define CHUNK_FLAGS 7u
#define BINS 127u
#define BINS_EMPTY_MIN 40u
#define ARENA_BEFORE_BINS 0x70u
#define ARENA_BYTES 0x898u
/* Larger ranges are read only if that can find anything. */
#define LARGE_BYTES (256u << 20)
#define PART_BYTES (256u << 10)
#define PAGE_BYTES 4096ull

static const struct hw_module *modules_of(const struct hw_shm *shm)
{
	return (const struct hw_module *)((const char *)shm + HW_SHM_MODULES);
}

uint32_t leak_module_of(const struct hw_shm *shm, uint64_t address)
{
	const struct hw_module *modules = modules_of(shm);
	uint32_t count = __atomic_load_n(&shm->modules, __ATOMIC_ACQUIRE);
	for (uint32_t i = count < HW_MODULES_MAX ? count : HW_MODULES_MAX; i-- > 1;) {
		if (address >= modules[i].start && address < modules[i].end)
			return i;
	}
	return 0;
}

bool leak_heap_like(const struct process_map *map)
{
	return map->readable && map->writable && !map->shared && !map->inode &&
	       (!*map->path || !strcmp(map->path, "[heap]") || !strncmp(map->path, "[anon", 5));
}

/* Whether a heap of glibc's begins here: it names its arena, which is in it or another one. */
static bool is_arena_heap(const struct leak_target *place, uint64_t start, uint64_t *ret_bytes)
{
	uint64_t info[4];
	if (process_memory_read(place->memory, start, info, sizeof(info)) != sizeof(info))
		return false;
	uint64_t offset = info[0] % ARENA_HEAP_BYTES;
	*ret_bytes = info[2];
	return info[0] && (offset == ARENA_OFFSET || offset == ARENA_OFFSET_OLD) && info[2] &&
	       info[2] <= ARENA_HEAP_BYTES && info[3] <= ARENA_HEAP_BYTES && !(info[2] % 4096) &&
	       (info[0] - offset == start || info[1]);
}

static bool add_arenas(
	const struct leak_target *place, const struct process_map *map, struct address_ranges *ret)
{
	uint64_t at = (map->start + ARENA_HEAP_BYTES - 1) & ~(ARENA_HEAP_BYTES - 1), bytes;
	for (; at < map->end; at += ARENA_HEAP_BYTES) {
		if (is_arena_heap(place, at, &bytes) && !address_ranges_add(ret, at, at + bytes))
			return false;
	}
	return true;
}

/*
 * Another allocator's heap, around a block: the whole mapping, if that is of the allocator alone.
 * The kernel may have joined it with what the program mapped beside it, unless they are unlike: it
 * is the program break, or has no memory set aside, as allocators like it. Else it is the block's
 * pages, and what else is there is a root: better a leak less than a false one.
 */
static struct address_range around_other(
	const struct process_map *map, bool is_separate, const struct live_entry *block)
{
	if (is_separate || !strcmp(map->path, "[heap]"))
		return (struct address_range){map->start, map->end};
	uint64_t end = (block->address + block->size + PAGE_BYTES) & ~(PAGE_BYTES - 1);
	return (struct address_range){
		block->address & ~(PAGE_BYTES - 1), end < map->end ? end : map->end};
}

/* The range around a block that lies in none of the heaps known so far. */
static struct address_range range_around_block(
	const struct leak_target *place, const bool *is_separate, const struct live_entry *block)
{
	uint64_t address = block->address;
	const struct process_map *map = process_maps_find(&place->target->maps, address);
	uint64_t header[2];
	if (!map || !leak_heap_like(map))
		return (struct address_range){address, address + 1}; /* the program's own memory */
	if (is_separate)
		return around_other(map, is_separate[map - place->target->maps.maps.data], block);
	bool known = process_memory_read(place->memory, address - 16, header, sizeof(header)) ==
		     sizeof(header);
	uint64_t start = address - 16 - header[0], bytes = (header[1] & ~(uint64_t)CHUNK_FLAGS);
	if (known && (header[1] & CHUNK_FLAGS) == CHUNK_MMAPPED && start % 4096 == 0 &&
		start >= map->start && (header[0] + bytes) % 4096 == 0 &&
		address - 16 + bytes <= map->end)
		return (struct address_range){start, address - 16 + bytes};
	return (struct address_range){map->start, map->end};
}

/* alone: of each mapping, whether it is of one maker; NULL: the allocator is libc's. */
static struct error *add_around_blocks(
	const struct leak_target *place, const bool *is_separate, struct address_ranges *ret)
{
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	struct address_ranges found = {NULL, 0, 0};
	if (!blocks || !live_table_walk_begin(place->live, &walk))
		return error_no_memory();
	struct address_range last = {0, 0};
	bool ok = true;
	for (size_t n; ok && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++) {
			uint64_t address = blocks[i].address;
			if (address >= last.start && address < last.end)
				continue;
			const struct address_range *known = address_ranges_from(ret, address);
			last = known && address >= known->start
				       ? *known
				       : range_around_block(place, is_separate, &blocks[i]);
			if (!known || address < known->start)
				ok = address_ranges_add(&found, last.start, last.end);
		}
	}
	live_table_walk_end(&walk);
	for (size_t i = 0; ok && i < found.len; i++)
		ok = address_ranges_push(ret, found.data[i]);
	address_ranges_deinit(&found);
	return ok ? NULL : error_no_memory();
}

/* A bin of main_arena: empty, it points at itself; else at free chunks. */
static bool is_bin(const uint64_t *words, uint64_t address, const struct address_ranges *heaps,
	unsigned *ret_empty)
{
	uint64_t self = address - 0x10;
	if (words[0] == self && words[1] == self) {
		++*ret_empty;
		return true;
	}
	return address_ranges_has(heaps, words[0]) && address_ranges_has(heaps, words[1]);
}

/* The rings of bins in a module's data. */
static bool add_main_arena(struct address_range data, const uint64_t *words,
	const struct address_ranges *heaps, struct address_ranges *ret)
{
	uint64_t count = (data.end - data.start) / 8, run = 0;
	unsigned empty = 0;
	for (uint64_t i = 0; i + 1 < count;) {
		uint64_t address = data.start + i * 8;
		if (is_bin(words + i, address, heaps, &empty)) {
			run++;
			i += 2;
			continue;
		}
		if (run >= BINS && empty >= BINS_EMPTY_MIN) {
			uint64_t bins = address - BINS * 16ul;
			return address_ranges_add(ret, bins - ARENA_BEFORE_BINS,
				bins - ARENA_BEFORE_BINS + ARENA_BYTES);
		}
		i = run ? i - 2 * run + 1 : i + 1;
		run = empty = 0;
	}
	return true;
}

static struct error *add_libc_metadata(const struct leak_target *place, struct address_range data,
	const struct address_ranges *heaps, struct address_ranges *ret)
{
	uint64_t bytes = data.end - data.start;
	_cleanup_free_ uint64_t *words = calloc(1, bytes);
	if (!words)
		return error_no_memory();
	process_memory_read(place->memory, data.start, words, bytes);
	return add_main_arena(data, words, heaps, ret) ? NULL : error_no_memory();
}

/* A library that is an allocator: a program that is linked with one keeps its own data there. */
static bool is_library(const struct process_map *map)
{
	const char *base = map && map->inode ? strrchr(map->path, '/') : NULL;
	return base && strstr(base, ".so");
}

/* Adds the mappings that a word points into, if it is the allocator's alone and not there yet. */
static bool add_pointed(const struct leak_target *place, bool *is_separate, uint64_t word,
	struct address_ranges *ret)
{
	const struct process_maps *maps = &place->target->maps;
	const struct process_map *map = process_maps_find(maps, word);
	if (!map || !is_separate[map - maps->maps.data] || !leak_heap_like(map))
		return true;
	is_separate[map - maps->maps.data] = false;
	return address_ranges_add(ret, map->start, map->end);
}

/* Does so for all words of a range that are multiples of `aligned`. */
static struct error *add_all_pointed(const struct leak_target *place, bool *is_separate,
	struct address_range from, uint64_t aligned, struct address_ranges *ret)
{
	_cleanup_free_ uint64_t *words = malloc(PART_BYTES);
	bool ok = words;
	for (uint64_t at = from.start; ok && at < from.end; at += PART_BYTES) {
		uint64_t bytes = from.end - at < PART_BYTES ? from.end - at : PART_BYTES;
		if (process_memory_untouched(place->memory, at, bytes) >= bytes)
			continue;
		uint64_t n = process_memory_read(place->memory, at, words, bytes) / 8;
		for (uint64_t i = 0; ok && i < n; i++) {
			if (words[i] && words[i] % aligned == 0)
				ok = add_pointed(place, is_separate, words[i], ret);
		}
	}
	return ok ? NULL : error_no_memory();
}

static bool is_large(struct address_range range)
{
	return range.end - range.start > LARGE_BYTES;
}

/* Whether a mapping that may be the allocator's alone is neither heap nor found yet. */
static bool is_any_left(const struct leak_target *place, const bool *is_separate,
	const struct address_ranges *heaps)
{
	const struct process_map_vec *maps = &place->target->maps.maps;
	for (size_t i = 0; i < maps->len; i++) {
		if (is_separate[i] && leak_heap_like(&maps->data[i]) &&
			!address_ranges_has(heaps, maps->data[i].start))
			return true;
	}
	return false;
}

/*
 * What an allocator keeps beside its data: mappings of its alone that these point into, and those
 * in turn, whose pointers to mappings are to pages. (In jemalloc's data are its arenas, there what
 * they have mapped, and in one of that its threads' lists of free blocks, in which each block stays
 * that has been given out again.) Large ranges, mostly heap, are read last, and only as long as
 * there is a mapping left that they may lead to.
 */
static struct error *add_other_metadata(const struct leak_target *place, bool *is_separate,
	struct address_range data, const struct address_ranges *heaps, struct address_ranges *ret)
{
	size_t first = ret->len;
	if (data.start >= data.end)
		return NULL;
	if (!address_ranges_add(ret, data.start, data.end))
		return error_no_memory();
	struct error *error = NULL;
	for (size_t i = first; !error && i < ret->len; i++) {
		if (!is_large(ret->data[i]))
			error = add_all_pointed(place, is_separate, ret->data[i],
				i == first ? sizeof(uint64_t) : PAGE_BYTES, ret);
	}
	size_t read = ret->len;
	for (size_t i = first; !error && i < ret->len && is_any_left(place, is_separate, heaps);
		i++) {
		if (i >= read || is_large(ret->data[i]))
			error = add_all_pointed(place, is_separate, ret->data[i],
				i == first ? sizeof(uint64_t) : PAGE_BYTES, ret);
	}
	return error;
}

#define PARTS_MAX 32u

/* What a library's program headers say (System V ABI, 5.1). */
struct library_parts {
	uint64_t start; /* of its first mapping */
	size_t count;
	Elf64_Phdr parts[PARTS_MAX];
};

static void read_parts(
	const struct leak_target *place, const struct process_map *code, struct library_parts *ret)
{
	const struct process_map *first = place->target->maps.maps.data, *map = code;
	while (map > first && map[-1].inode == code->inode && map->offset)
		map--;
	Elf64_Ehdr header;
	ret->start = map->start;
	ret->count = 0;
	if (process_memory_read(place->memory, map->start, &header, sizeof(header)) !=
			sizeof(header) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG))
		return;
	size_t count = header.e_phnum < PARTS_MAX ? header.e_phnum : PARTS_MAX;
	ret->count = process_memory_read(place->memory, map->start + header.e_phoff, ret->parts,
			     count * sizeof(ret->parts[0])) /
		     sizeof(ret->parts[0]);
}

/* Where the memory of a library ends; 0: unknown. */
static uint64_t library_end(const struct leak_target *place, const struct process_map *code)
{
	struct library_parts library;
	uint64_t end = 0;
	read_parts(place, code, &library);
	for (size_t i = 0; i < library.count; i++) {
		const Elf64_Phdr *part = &library.parts[i];
		if (part->p_type == PT_LOAD && part->p_vaddr + part->p_memsz > end)
			end = part->p_vaddr + part->p_memsz;
	}
	return (library.start + end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Adds where a library has its data: in its file's mappings, and, if `whole`, in what follows them,
 * of which it has no file, and perhaps other memory follows it. */
static bool add_library_data(const struct leak_target *place, const struct process_map *code,
	bool whole, struct address_ranges *ret)
{
	const struct process_maps *maps = &place->target->maps;
	uint64_t before = 0, end = whole ? library_end(place, code) : UINT64_MAX;
	bool ok = true;
	for (size_t i = 0; ok && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		bool own = map->inode == code->inode && map->device_major == code->device_major;
		if (!map->writable || !(own || (whole && map->start == before && !map->inode)))
			continue;
		before = own ? map->end : 0;
		ok = address_ranges_add(ret, map->start, map->end < end ? map->end : end);
	}
	return ok;
}

static const struct process_map *allocator_code(const struct leak_target *place)
{
	return process_maps_find(&place->target->maps, place->shm->allocator);
}

bool leak_allocator_data(const struct leak_target *place, struct address_ranges *ret)
{
	const struct process_map *code = allocator_code(place);
	return !is_library(code) || process_map_is_libc(code) ||
	       add_library_data(place, code, true, ret);
}

bool leak_allocator_local(
	const struct leak_target *place, uint64_t *ret_distance, uint64_t *ret_bytes)
{
	const struct process_map *code = allocator_code(place);
	struct library_parts library;
	if (!is_library(code) || process_map_is_libc(code) || !place->shm->allocator_local)
		return false;
	read_parts(place, code, &library);
	for (size_t i = 0; i < library.count; i++) {
		const Elf64_Phdr *part = &library.parts[i];
		if (part->p_type != PT_TLS || part->p_memsz > place->shm->allocator_local)
			continue;
		*ret_distance = place->shm->allocator_local;
		*ret_bytes = part->p_memsz;
		return true;
	}
	return false;
}

/* alone: of each mapping; false afterwards if it is added. NULL: the allocator is libc's. */
static struct error *add_metadata(const struct leak_target *place, bool *is_separate,
	const struct address_ranges *heaps, struct address_ranges *ret_metadata)
{
	const struct process_map *code = allocator_code(place);
	struct address_ranges data = {NULL, 0, 0};
	if (!is_library(code))
		return NULL;
	struct error *error =
		add_library_data(place, code, is_separate, &data) ? NULL : error_no_memory();
	for (size_t i = 0; !error && i < data.len; i++) {
		if (is_separate)
			error = add_other_metadata(
				place, is_separate, data.data[i], heaps, ret_metadata);
		else
			error = add_libc_metadata(place, data.data[i], heaps, ret_metadata);
	}
	address_ranges_deinit(&data);
	return error;
}

struct error *leak_heaps_find(const struct leak_target *place, struct address_ranges *ret_heaps,
	struct address_ranges *ret_metadata)
{
	const struct process_maps *maps = &place->target->maps;
	bool libc = process_map_is_libc(process_maps_find(maps, place->shm->allocator)), ok = true;
	struct error *error = NULL;
	for (size_t i = 0; ok && !error && libc && i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (!leak_heap_like(map))
			continue;
		if (!strcmp(map->path, "[heap]"))
			error = leak_break_find(place, map, ret_heaps);
		else
			ok = add_arenas(place, map, ret_heaps);
	}
	address_ranges_join(ret_heaps);
	_cleanup_free_ bool *is_separate =
		libc ? NULL : calloc(maps->maps.len + 1, sizeof(*is_separate));
	if (!error && (!ok || (!libc && !is_separate)))
		error = error_no_memory();
	if (!error && is_separate)
		error = process_maps_no_reserve(place->target->process, maps, is_separate);
	if (!error)
		error = add_around_blocks(place, is_separate, ret_heaps);
	address_ranges_join(ret_heaps);
	if (!error)
		error = add_metadata(place, is_separate, ret_heaps, ret_metadata);
	return error;
}
