/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets and reads the maps that the kernel's programs have: bpf(2), without libbpf. */
#include "capture/watch/kernel_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Entries that one system call reads. */
#define BATCH_SITES 256u
#define BATCH_BLOCKS 8192u

static const char *const map_names[WATCH_MAPS] = {"config", "table", "rows", "blocks", "sites",
	"threads", "blank", "countdown", "logs", "weights", "counts", "events", "last_break"};

const char *watch_map_name(enum watch_map map)
{
	return map_names[map];
}

/* An operation on one entry. `value` may also be where the next key goes. */
static int map_call(const struct watch_kernel *kernel, int command, enum watch_map map,
	const void *key, const void *value)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)kernel->maps[map];
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return bpf_call(command, &attr, sizeof(attr));
}

struct error *watch_map_set(
	const struct watch_kernel *kernel, enum watch_map map, const void *key, const void *value)
{
	if (map_call(kernel, BPF_MAP_UPDATE_ELEM, map, key, value))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't set the map '%s' in the kernel",
			map_names[map]);
	return NULL;
}

void watch_kernel_remove(const struct watch_kernel *kernel, enum watch_map map, const void *key)
{
	(void)map_call(kernel, BPF_MAP_DELETE_ELEM, map, key, NULL);
}

static struct error *map_unreadable(enum watch_map map)
{
	return error_errno(
		ERROR_ENVIRONMENT, errno, "can't read the map '%s' in the kernel", map_names[map]);
}

struct error *watch_kernel_find(const struct watch_kernel *kernel, enum watch_map map,
	const void *key, void *ret, bool *ret_found)
{
	*ret_found = map_call(kernel, BPF_MAP_LOOKUP_ELEM, map, key, ret) == 0;
	return *ret_found || errno == ENOENT ? NULL : map_unreadable(map);
}

struct error *watch_kernel_counts(const struct watch_kernel *kernel, uint64_t ret[WATCH_COUNTS])
{
	for (uint32_t i = 0; i < WATCH_COUNTS; i++) {
		if (map_call(kernel, BPF_MAP_LOOKUP_ELEM, WATCH_MAP_COUNTS, &i, &ret[i]))
			return error_errno(
				ERROR_ENVIRONMENT, errno, "can't read counters in the kernel");
	}
	return NULL;
}

struct error *watch_kernel_each(
	const struct watch_kernel *kernel, enum watch_map map, watch_entries *found, void *context)
{
	bool is_blocks = map == WATCH_MAP_BLOCKS;
	uint32_t room = is_blocks ? BATCH_BLOCKS : BATCH_SITES;
	size_t value_bytes = is_blocks ? sizeof(struct watch_block) : sizeof(struct watch_site);
	_cleanup_free_ uint64_t *keys = NULL;
	_cleanup_free_ char *values = NULL;
	uint64_t in_batch = 0, out_batch = 0;
	bool is_first = true;
	for (;;) {
		union bpf_attr attr;
		if (!keys)
			keys = calloc(room, sizeof(*keys));
		if (!values)
			values = calloc(room, value_bytes);
		if (!keys || !values)
			return error_no_memory();
		memset(&attr, 0, sizeof(attr));
		attr.batch.map_fd = (uint32_t)kernel->maps[map];
		attr.batch.in_batch = is_first ? 0 : (uintptr_t)&in_batch;
		attr.batch.out_batch = (uintptr_t)&out_batch;
		attr.batch.keys = (uintptr_t)keys;
		attr.batch.values = (uintptr_t)values;
		attr.batch.count = room;
		int result = bpf_call(BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr));
		bool is_last = result && errno == ENOENT;
		/* A bucket that has more entries than there is room for. */
		if (result && errno == ENOSPC) {
			room *= 2;
			free(steal_ptr(keys));
			free(steal_ptr(values));
			continue;
		}
		if (result && !is_last)
			return map_unreadable(map);
		if (!found(context, keys, values, attr.batch.count))
			return error_no_memory();
		if (is_last)
			return NULL;
		in_batch = out_batch;
		is_first = false;
	}
}

DEFINE_VEC(purge_keys, uint32_t)

struct error *watch_kernel_purge(const struct watch_kernel *kernel, enum watch_map map,
	bool (*is_gone)(void *context, uint32_t key), void *context)
{
	_cleanup_(purge_keys_deinit) struct purge_keys gone = {0};
	uint32_t key = 0, next = 0;
	bool is_first = true;
	for (;;) {
		if (map_call(kernel, BPF_MAP_GET_NEXT_KEY, map, is_first ? NULL : &key, &next))
			break;
		key = next;
		is_first = false;
		if (is_gone(context, key) && !purge_keys_push(&gone, key))
			return error_no_memory();
	}
	for (size_t i = 0; i < gone.len; i++)
		watch_kernel_remove(kernel, map, &gone.data[i]);
	return NULL;
}
