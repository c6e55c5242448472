/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leak_own.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LOADER "/ld-linux"
/* More than a library keeps. */
#define OWN_MAX 4096u

static const struct hw_node *node_of(const struct hw_shm *shm, uint32_t number)
{
	const struct hw_node *nodes = (const struct hw_node *)((const char *)shm + HW_SHM_NODES);
	return number && number < HW_NODES_MAX ? &nodes[number] : NULL;
}

static uint32_t module_of_node(const struct hw_node *node)
{
	return (uint32_t)(node->frame >> HW_FRAME_ADDRESS_BITS);
}

static bool is_loader(const struct hw_shm *shm, uint32_t module)
{
	const struct hw_module *m =
		(const struct hw_module *)((const char *)shm + HW_SHM_MODULES) + module;
	if (module >= HW_MODULES_MAX || m->path_offset >= HW_STRINGS_BYTES ||
		m->path_bytes > HW_STRINGS_BYTES - m->path_offset)
		return false;
	const char *path = (const char *)shm + HW_SHM_STRINGS + m->path_offset;
	return memmem(path, m->path_bytes, LOADER, strlen(LOADER));
}

/* A stack that the allocator's own calls end, which the loader has called. */
static bool is_own(const struct hw_shm *shm, uint32_t allocator, uint32_t stack)
{
	const struct hw_node *node = node_of(shm, stack);
	if (!node || module_of_node(node) != allocator)
		return false;
	while (node && module_of_node(node) == allocator)
		node = node_of(shm, node->parent);
	return node && is_loader(shm, module_of_node(node));
}

static bool add(struct leak_roots *ret, uint32_t allocator, uint64_t data, uint64_t block)
{
	struct leak_root root = {.place = HPW_LEAK_ROOT_DATA,
		.start = data,
		.end = data + sizeof(block),
		.module = allocator,
		.name = "",
		.value_count = 1,
		.values = {block}};
	return leak_root_vec_push(&ret->roots, root);
}

struct error *leak_own_find(
	const struct leak_place *place, uint32_t allocator, struct leak_roots *ret)
{
	const struct tally *tally = place->tally;
	_cleanup_free_ bool *own = calloc(tally->site_count + 1, sizeof(*own));
	_cleanup_free_ struct live_block *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	uint32_t sites = 0, found = 0;
	for (uint32_t i = 0; own && i < tally->site_count; i++)
		sites += own[i] = is_own(place->shm, allocator, tally->sites[i].stack);
	struct live_walk walk;
	if (!own || !blocks || (sites && !live_walk_begin(place->live, &walk)))
		return error_no_memory();
	bool ok = true;
	for (size_t n; ok && sites && (n = live_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; ok && i < n; i++) {
			if (blocks[i].site < tally->site_count && own[blocks[i].site] &&
				found++ < OWN_MAX)
				ok = add(ret, allocator, place->shm->allocator, blocks[i].address);
		}
	}
	if (sites)
		live_walk_end(&walk);
	return ok ? NULL : error_no_memory();
}
