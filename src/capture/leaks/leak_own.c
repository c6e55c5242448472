/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_own.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/leaks/leak_heaps.h"

#define PART_BYTES (256u << 10)

/* What a frame's module is. */
enum module_kind { MODULE_OTHER, MODULE_ALLOCATOR, MODULE_LOADER, MODULE_LIBC };

/* What is known of a stack, from its outermost frame to a node. */
enum {
	STACK_QUIET = 1u,  /* all of it is libc's and the loader's, and its end is known */
	STACK_LOADER = 2u, /* its innermost frame is the loader's */
	STACK_OWN = 4u,    /* the loader, or libc on its own, has called the allocator */
	STACK_INSIDE = 8u, /* other code has called it */
};

static bool path_has(const struct hw_shm *shm, const struct hw_module *m, const char *part)
{
	if (m->path_offset >= HW_STRINGS_BYTES || m->path_bytes > HW_STRINGS_BYTES - m->path_offset)
		return false;
	const char *path = (const char *)shm + HW_SHM_STRINGS + m->path_offset;
	return memmem(path, m->path_bytes, part, strlen(part));
}

/* Indexed by numbers of modules. NULL: no memory. */
static uint8_t *kinds_of_modules(const struct hw_shm *shm, uint32_t allocator)
{
	const struct hw_module *modules =
		(const struct hw_module *)((const char *)shm + HW_SHM_MODULES);
	uint32_t count = __atomic_load_n(&shm->modules, __ATOMIC_ACQUIRE);
	uint8_t *ret = calloc(HW_MODULES_MAX, 1);
	for (uint32_t i = 1; ret && i < count && i < HW_MODULES_MAX; i++) {
		if (path_has(shm, &modules[i], "/ld-linux"))
			ret[i] = MODULE_LOADER;
		else if (path_has(shm, &modules[i], "/libc.so") ||
			 path_has(shm, &modules[i], "/libpthread.so"))
			ret[i] = MODULE_LIBC;
	}
	if (ret)
		ret[allocator] = MODULE_ALLOCATOR;
	return ret;
}

/* Of a node whose parent's stack is known. */
static uint8_t extend_owner(uint8_t outside, uint64_t frame, const uint8_t *kinds)
{
	uint32_t module = (uint32_t)(frame >> HW_FRAME_ADDRESS_BITS);
	uint8_t inside = outside & (STACK_OWN | STACK_INSIDE);
	if (!module && (frame == HW_MARK_CUT || frame == HW_MARK_NO_UNWIND_INFO ||
			       frame == HW_MARK_TABLE_FULL))
		return inside; /* the caller of the next frames is unknown */
	if (!module && frame < HW_MARK_FRAMES)
		return outside;
	switch (module < HW_MODULES_MAX ? kinds[module] : MODULE_OTHER) {
	case MODULE_ALLOCATOR:
		if (inside)
			return inside;
		return outside & (STACK_QUIET | STACK_LOADER) ? STACK_OWN : STACK_INSIDE;
	case MODULE_LOADER:
		return inside | (outside & STACK_QUIET) | STACK_LOADER;
	case MODULE_LIBC:
		return inside | (outside & STACK_QUIET);
	default:
		return inside;
	}
}

/* Indexed by nodes: parents come before their children. NULL: no memory. */
static uint8_t *know_stacks(const struct hw_shm *shm, const uint8_t *kinds, uint32_t *ret_count)
{
	const struct hw_node *nodes = (const struct hw_node *)((const char *)shm + HW_SHM_NODES);
	uint32_t count = __atomic_load_n(&shm->nodes, __ATOMIC_ACQUIRE);
	*ret_count = count < HW_NODES_MAX ? count : HW_NODES_MAX;
	uint8_t *ret = calloc(*ret_count + 1ul, 1);
	for (uint32_t i = 1; ret && i < *ret_count; i++) {
		uint32_t parent = __atomic_load_n(&nodes[i].parent, __ATOMIC_RELAXED);
		uint8_t outside = parent == 0 ? STACK_QUIET : parent < i ? ret[parent] : 0;
		ret[i] = extend_owner(outside, nodes[i].frame, kinds);
	}
	return ret;
}

/* What is being found: of each site what is known of its stack. */
struct own {
	const struct leak_target *place;
	uint32_t allocator; /* module */
	uint8_t *sites;
	uint32_t own_sites;
	struct leak_roots *roots;
};

static bool know_sites(struct own *o)
{
	const struct tally *tally = o->place->tally;
	uint32_t count;
	_cleanup_free_ uint8_t *kinds = kinds_of_modules(o->place->shm, o->allocator);
	_cleanup_free_ uint8_t *stacks = kinds ? know_stacks(o->place->shm, kinds, &count) : NULL;
	o->sites = calloc(tally->site_count + 1ul, 1);
	for (uint32_t i = 0; stacks && o->sites && i < tally->site_count; i++) {
		uint32_t stack = tally->sites[i].stack;
		o->sites[i] = stack < count ? stacks[stack] : 0;
		o->own_sites += (o->sites[i] & STACK_OWN) != 0;
	}
	return stacks && o->sites;
}

/* A word of the allocator's data, if it is one that holds a block of its own. */
static bool add_word(struct own *o, uint64_t at, uint64_t word)
{
	struct live_entry block;
	if (!word || !live_table_find(o->place->live, word, &block) ||
		block.site >= o->place->tally->site_count ||
		!(o->sites[block.site] & (STACK_OWN | STACK_INSIDE)))
		return true;
	struct searched_root root = {.place = HPW_LEAK_ROOT_DATA,
		.start = at,
		.end = at + sizeof(word),
		.module = o->allocator,
		.name = "",
		.value_count = 1,
		.values = {word}};
	return searched_root_vec_push(&o->roots->roots, root);
}

static bool add_words(struct own *o, const struct address_range *data)
{
	_cleanup_free_ uint64_t *words = malloc(PART_BYTES);
	bool ok = words;
	for (uint64_t at = data->start; ok && at < data->end; at += PART_BYTES) {
		uint64_t bytes = data->end - at < PART_BYTES ? data->end - at : PART_BYTES;
		if (process_memory_untouched(o->place->memory, at, bytes) >= bytes)
			continue;
		uint64_t n = process_memory_read(o->place->memory, at, words, bytes) / 8;
		for (uint64_t i = 0; ok && i < n; i++)
			ok = add_word(o, at + 8 * i, words[i]);
	}
	return ok;
}

/* What no word of its data holds, it holds elsewhere (its metadata is not searched): one root for
 * all of that. */
static bool add_others(struct own *o, uint64_t data)
{
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(o->place->live, &walk))
		return false;
	bool ok = true;
	for (size_t n; ok && (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++) {
			if (blocks[i].site < o->place->tally->site_count &&
				o->sites[blocks[i].site] & STACK_OWN)
				ok = kept_addresses_push(&o->roots->own, blocks[i].address);
		}
	}
	live_table_walk_end(&walk);
	struct searched_root root = {.place = HPW_LEAK_ROOT_DATA,
		.start = data,
		.end = data + 8,
		.module = o->allocator,
		.name = "",
		.many = &o->roots->own};
	return ok && (!o->roots->own.len || searched_root_vec_push(&o->roots->roots, root));
}

struct error *leak_own_find(const struct leak_target *place, const struct address_ranges *locals,
	struct leak_roots *ret)
{
	struct own o = {.place = place,
		.allocator = leak_module_of(place->shm, place->shm->allocator),
		.roots = ret};
	struct address_ranges data = {NULL, 0, 0};
	bool ok = leak_allocator_data(place, &data);
	if (ok && data.len && o.allocator) {
		ok = know_sites(&o);
		for (size_t i = 0; ok && i < data.len; i++)
			ok = add_words(&o, &data.data[i]);
		for (size_t i = 0; ok && i < locals->len; i++)
			ok = add_words(&o, &locals->data[i]);
		if (ok && o.own_sites)
			ok = add_others(&o, data.data[0].start);
	}
	free(o.sites);
	address_ranges_deinit(&data);
	return ok ? NULL : error_no_memory();
}
