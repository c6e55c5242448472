/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see objects.h. May touch: the same. */
#include "runtime/attach/objects.h"

static uint32_t count_of(const struct hw_attach_objects *objects)
{
	uint32_t count = __atomic_load_n(&objects->count, __ATOMIC_ACQUIRE);
	return count < HW_ATTACH_OBJECTS_MAX ? count : HW_ATTACH_OBJECTS_MAX;
}

static bool is_gone(const struct hw_attach_object *row)
{
	return __atomic_load_n(&row->gone, __ATOMIC_RELAXED);
}

/* From the latest one on: of two at the same place it is the one that is loaded. */
const struct hw_attach_object *at_objects_row(
	const struct hw_attach_objects *objects, uint64_t address)
{
	for (uint32_t i = count_of(objects); i-- > 0;) {
		const struct hw_attach_object *row = &objects->rows[i];
		if (address - row->start < row->end - row->start && !is_gone(row))
			return row;
	}
	return NULL;
}

static bool is_there(const struct hw_attach_object *row)
{
	uint64_t table = row->eh_frame_hdr;
	return sys_readable(row->start) &&
	       (!table || (sys_readable(table) && *(const uint64_t *)table == row->eh_frame_word));
}

bool at_objects_find(
	const struct hw_attach_objects *objects, uint64_t address, struct rt_found *ret)
{
	const struct hw_attach_object *row = at_objects_row(objects, address);
	if (!row || !is_there(row))
		return false;
	*ret = (struct rt_found){.start = row->start,
		.end = row->end,
		.bias = row->bias,
		.path = &objects->paths[row->path % HW_ATTACH_PATHS_MAX],
		.eh_frame_hdr = (const uint8_t *)row->eh_frame_hdr,
		.identity = (const void *)row->identity,
		.tables = row->tables};
	return true;
}

void at_objects_review(struct hw_attach_objects *objects)
{
	for (uint32_t i = 0; i < count_of(objects); i++) {
		struct hw_attach_object *row = &objects->rows[i];
		if (!is_gone(row) && !is_there(row))
			__atomic_store_n(&row->gone, 1, __ATOMIC_RELAXED);
	}
}
