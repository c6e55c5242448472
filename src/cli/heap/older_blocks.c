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
	struct heap_scan scan;
	uint32_t *blocks; /* of the scan, by row */
	uint64_t count;
};

static bool is_libc(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-musl-", 8);
}

/* Whether what is given out there is freed by the functions that are recorded: the process may have
 * other allocators beside the one of its malloc, whose blocks are theirs alone. */
static bool is_of_malloc(const struct listing *l, const struct heap_area *area)
{
	switch (area->allocator) {
	case HEAP_GLIBC:
	case HEAP_MALLOCNG:
	case HEAP_OLDMALLOC:
		return is_libc(l->copy->allocator);
	case HEAP_JEMALLOC:
	case HEAP_TCMALLOC:
	case HEAP_MIMALLOC:
		return !is_libc(l->copy->allocator);
	default:
		return false;
	}
}

static bool has_area(const struct listing *l)
{
	const struct heap_area_vec *areas = &l->scan.heap.areas;
	for (size_t i = 0; i < areas->len; i++) {
		if (is_of_malloc(l, &areas->data[i]))
			return true;
	}
	return false;
}

/* Blocks ascend, as areas do. */
static struct error *list_addresses(struct listing *l)
{
	const struct heap_area_vec *areas = &l->scan.heap.areas;
	const struct search *search = l->scan.search;
	uint32_t count = search_block_count(search);
	const struct heap_area *area = NULL;
	l->blocks = calloc(count + 1ul, sizeof(*l->blocks));
	if (!l->blocks)
		return error_no_memory();
	if (count > OLDER_BLOCKS_MAX)
		return error_create(
			ERROR_ENVIRONMENT, "there are more than %llu blocks", OLDER_BLOCKS_MAX);
	for (uint32_t block = 0; block < count; block++) {
		uint64_t address = search_block_address(search, block);
		if (!area || address < area->start || address >= area->end)
			area = heap_areas_find(areas, address);
		if (!area || !is_of_malloc(l, area))
			continue;
		l->list->blocks[l->count] = (struct older_block){
			.address = address, .size = search_block_size(search, block)};
		l->blocks[l->count++] = block;
	}
	for (size_t i = 0; i < l->scan.heap.damage.len; i++)
		l->list->head->damaged += l->scan.heap.damage.data[i].bytes;
	older_list_set_blocks(l->list, l->count);
	return NULL;
}

static struct error *list_types(struct listing *l)
{
	const struct heap_type_vec *types = &l->scan.types.types;
	_cleanup_free_ uint32_t *numbers = calloc(types->len + 1, sizeof(*numbers));
	if (!numbers)
		return error_no_memory();
	for (uint64_t i = 0; i < l->count; i++) {
		uint32_t type = heap_scan_type_of(&l->scan, l->blocks[i]);
		if (!numbers[type])
			numbers[type] = older_list_add_name(l->list, types->data[type].name);
		l->list->blocks[i].type = numbers[type];
	}
	older_list_set_types(l->list);
	return NULL;
}

static void pass_over(
	void *context, const struct address_module *module, enum mapped_file_place where)
{
	(void)context, (void)module, (void)where;
}

static struct error *list_scanned(struct listing *l)
{
	struct error *error = heap_scan_open(&l->space, &l->names, POINTERS_ALIGNED, 0, &l->scan);
	if (!error && !has_area(l)) {
		older_list_give_up(l->list, HPW_OLDER_ALLOCATOR);
	} else if (!error) {
		error = list_addresses(l);
		if (!error)
			error = heap_scan_find_types(&l->scan);
		if (!error && !*l->copy->stop)
			error = list_types(l);
	}
	heap_scan_close(&l->scan);
	free(l->blocks);
	return error;
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
		error = list_scanned(&l);
	address_space_close(&l.space);
	heap_names_close(&l.names);
	return error;
}
