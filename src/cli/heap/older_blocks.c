/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/older_blocks.h"

#include <string.h>

#include "base/cleanup.h"
#include "heap/heap_scan.h"

struct listing {
	const struct attach_copy *copy;
	struct older_list *list;
	struct address_space space;
	struct heap_names names;
	struct heap heap;
	const struct heap_area *area; /* of the block before; NULL: none */
	uint64_t count;
	bool of_libc;
	struct heap_scan scan;
};

/* An allocator that programs are linked with in place of libc's. */
static bool is_library(enum heap_allocator allocator)
{
	return allocator == HEAP_JEMALLOC || allocator == HEAP_TCMALLOC ||
	       allocator == HEAP_MIMALLOC;
}

static bool is_libc(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-musl-", 8);
}

/* Whether the allocator of malloc is libc's: libc has it, or a program that is linked statically
 * and has no other that is known. */
static bool is_of_libc(const struct listing *l)
{
	const struct address_modules *modules = &l->space.modules;
	bool has_libc = false, is_program = false;
	for (size_t i = 0; i < modules->len; i++) {
		const struct address_module *module = &modules->data[i];
		has_libc |= is_libc(module->path);
		is_program |= module->executable && !strcmp(module->path, l->copy->allocator);
	}
	for (size_t i = 0; i < l->heap.areas.len; i++) {
		if (is_library(l->heap.areas.data[i].allocator))
			is_program = false;
	}
	return is_libc(l->copy->allocator) || (is_program && !has_libc);
}

/* Whether what is given out there is freed by the functions that are recorded: the process may have
 * other allocators beside the one of its malloc, whose blocks are theirs alone. */
static bool is_of_malloc(const struct listing *l, const struct heap_area *area)
{
	switch (area->allocator) {
	case HEAP_GLIBC:
	case HEAP_MALLOCNG:
	case HEAP_OLDMALLOC:
		return l->of_libc;
	default:
		return !l->of_libc && is_library(area->allocator);
	}
}

static bool has_area(const struct listing *l)
{
	const struct heap_area_vec *areas = &l->heap.areas;
	for (size_t i = 0; i < areas->len; i++) {
		if (is_of_malloc(l, &areas->data[i]))
			return true;
	}
	return false;
}

static struct error *list_block(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct listing *l = context;
	(void)bytes, (void)len;
	if (block->state != BLOCK_USED)
		return NULL;
	if (!l->area || block->address < l->area->start || block->address >= l->area->end)
		l->area = heap_areas_find(&l->heap.areas, block->address);
	if (!l->area || !is_of_malloc(l, l->area))
		return NULL;
	if (l->count == OLDER_BLOCKS_MAX)
		return error_create(
			ERROR_ENVIRONMENT, "there are more than %llu blocks", OLDER_BLOCKS_MAX);
	l->list->blocks[l->count++] =
		(struct older_block){.address = block->address, .size = block->size};
	return NULL;
}

/* Walks the heap alone, which takes a part of the time of a scan: events wait for the list. */
static struct error *list_blocks(struct listing *l)
{
	const struct heap_sink sink = {l, list_block};
	struct error *error = heap_open(&l->space, &l->heap);
	l->of_libc = is_of_libc(l);
	if (!error && !has_area(l))
		older_list_give_up(l->list, HPW_OLDER_ALLOCATOR);
	else if (!error)
		error = heap_walk(&l->heap, &sink);
	for (size_t i = 0; !error && i < l->heap.damage.len; i++)
		l->list->head->damaged += l->heap.damage.data[i].bytes;
	if (!error && !*l->copy->stop && older_list_state(l->list) == OLDER_MAKING)
		older_list_set_blocks(l->list, l->count);
	heap_close(&l->heap);
	return error;
}

/* Both ascend. */
static struct error *list_types(struct listing *l)
{
	const struct heap_type_vec *types = &l->scan.types.types;
	const struct search *search = l->scan.search;
	uint32_t count = search_block_count(search), block = 0;
	_cleanup_free_ uint32_t *numbers = calloc(types->len + 1, sizeof(*numbers));
	if (!numbers)
		return error_no_memory();
	for (uint64_t i = 0; i < l->count; i++) {
		uint64_t address = l->list->blocks[i].address;
		while (block < count && search_block_address(search, block) < address)
			block++;
		if (block == count || search_block_address(search, block) != address)
			continue;
		uint32_t type = heap_scan_type_of(&l->scan, block);
		if (!numbers[type])
			numbers[type] = older_list_add_name(l->list, types->data[type].name);
		l->list->blocks[i].type = numbers[type];
	}
	older_list_set_types(l->list);
	return NULL;
}

static struct error *find_types(struct listing *l)
{
	struct error *error = heap_scan_open(&l->space, &l->names, POINTERS_ALIGNED, 0, &l->scan);
	if (!error)
		error = heap_scan_find_types(&l->scan);
	if (!error && !*l->copy->stop)
		error = list_types(l);
	heap_scan_close(&l->scan);
	return error;
}

static void pass_over(
	void *context, const struct address_module *module, enum mapped_file_place where)
{
	(void)context, (void)module, (void)where;
}

struct error *older_blocks_list(
	void *context, const struct attach_copy *copy, struct older_list *list)
{
	(void)context;
	struct listing l = {.copy = copy, .list = list};
	struct error *error = heap_names_open(NULL, NULL, &l.names);
	if (error)
		return error;
	error = address_space_of_process(copy->stopped, copy->pid, &l.space);
	l.space.memory.stopped = copy->stop;
	if (!error)
		error = heap_names_live(&l.names, &l.space, copy->pid, pass_over, NULL);
	if (!error)
		error = list_blocks(&l);
	if (!error && older_list_state(list) == OLDER_BLOCKS)
		error = find_types(&l);
	address_space_close(&l.space);
	heap_names_close(&l.names);
	return error;
}
