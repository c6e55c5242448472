/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/memory_look.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void memory_look_init(struct memory_look *look)
{
	*look = (struct memory_look){.text = NULL};
	look_mapping_vec_init(&look->mappings);
	look_node_vec_init(&look->nodes);
	arena_init(&look->words);
}

void memory_look_deinit(struct memory_look *look)
{
	look_mapping_vec_deinit(&look->mappings);
	look_node_vec_deinit(&look->nodes);
	arena_deinit(&look->words);
	free(look->text);
	look->text = NULL;
}

const char *look_owner_name(enum look_owner owner)
{
	static const char *const names[LOOK_OWNERS] = {[LOOK_HEAP] = "heap",
		[LOOK_BLOCK] = "malloc block",
		[LOOK_THREAD_STACK] = "thread stack",
		[LOOK_STACK] = "stack",
		[LOOK_ANONYMOUS] = "anonymous",
		[LOOK_SHARED] = "shared",
		[LOOK_FILE] = "file",
		[LOOK_DEVICE] = "device",
		[LOOK_RESERVED] = "reserved",
		[LOOK_KERNEL] = "kernel"};
	return names[owner];
}

static bool name_begins(const char *name, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	}
	return false;
}

enum look_owner look_owner_of(const struct look_mapping *mapping)
{
	static const char *const shared[] = {
		"/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage", "[anon_shmem"};
	static const char *const kernel[] = {"[v", "[uprobes]"};
	const char *name = mapping->name;
	if (name_begins(name, kernel, ARRAY_SIZE(kernel)))
		return LOOK_KERNEL;
	if (!strncmp(mapping->flags, "---", 3))
		return LOOK_RESERVED;
	if (!strcmp(name, "[heap]"))
		return LOOK_HEAP;
	if (!strcmp(name, "[stack]"))
		return LOOK_STACK;
	if (!strncmp(name, "[stack:", 7))
		return LOOK_THREAD_STACK;
	if (name_begins(name, shared, ARRAY_SIZE(shared)))
		return LOOK_SHARED;
	if (!strncmp(name, "/dev/", 5) || !strncmp(name, "anon_inode:", 11))
		return LOOK_DEVICE;
	if (!*name || *name == '[')
		return mapping->flags[3] == 's' ? LOOK_SHARED : LOOK_ANONYMOUS;
	return LOOK_FILE;
}

struct look_mapping *memory_look_find(const struct memory_look *look, uint64_t address)
{
	size_t low = 0, high = look->mappings.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (look->mappings.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	struct look_mapping *found = look->mappings.data + low;
	return low < look->mappings.len && found->start <= address ? found : NULL;
}
